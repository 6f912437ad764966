"""A literal plan runs without a model: C1, C3, C11."""

import json

import msgspec
import pytest

from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.references import write_json
from haltpoint.chain.model.state import ChainError
from haltpoint.contracts.advice import BY_TYPE
from haltpoint.contracts.base import MAX_DEPTH
from haltpoint.contracts.doors import door
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.secrets import without_secrets
from haltpoint.contracts.work.plans import OnFailure, Plan, Step
from haltpoint.contracts.work.tasks import Budget, Task
from tests.support.builders import (
    COMPLETE,
    call,
    confirms,
    failed,
    line_plan,
    owing,
    plan,
    spec,
    tool_step,
    writing,
)
from tests.unit.chain.story import Story, submitted

CONTACT = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "text": {"type": "string"}},
    "required": ["to"],
    "additionalProperties": False,
}
TYPED = {
    "type": "object",
    "properties": {"pin": {"type": "string"}, "key": {"type": "string", "writeOnly": True}},
}
FIND = spec("find")
SEND = writing("send", parameters=CONTACT)


def story(plan: Plan, **task: object) -> Story:
    return submitted(
        door(Task).validate_python({"plan": plan, **task}), FIND, SEND, spec("note"), spec("other")
    )


def find_and_send(reference: str = "find.data.contact_id", **more: object) -> Plan:
    send = call("send", to={"$from": reference}, text="I'm late")
    return plan(
        tool_step("find", call("find", query="John")),
        tool_step("send", send, after=("find",), **more),
    )


def test_the_steps_run_in_order_and_the_last_result_is_the_answer() -> None:
    told = story(find_and_send())
    assert told.action.id == "c.find.1"

    told.returns('{"contact_id": "user_abc123"}')
    assert told.action.id == "c.send.1"
    assert json.loads(told.action.arguments) == {"to": "user_abc123", "text": "I'm late"}
    told.returns('{ "sent" : "ä" }')

    assert told.status == "completed"
    assert told.final_answer == '{"sent":"ä"}'
    assert told.final_facts == ["chain.completed"]
    assert told.thoughts == []
    assert [dispatch.position for dispatch in told.dispatches] == [1, 2]


def test_the_facts_tell_the_whole_story() -> None:
    told = story(plan(tool_step("s1")))
    told.result()

    assert [fact.type.value for decision in told.decisions for fact in decision.facts] == [
        "chain.started",
        "step.started",
        "action.dispatched",
        "action.completed",
        "step.completed",
        "chain.completed",
    ]
    assert told.told("action.completed") == [
        {"step_id": "s1", "action_id": "c.s1.1", "tool": "note", "next_action": "continue"}
    ]


def test_c3_complete_ends_the_step_and_what_is_left_is_never_executed() -> None:
    told = story(plan(owing("s1", "note", actions=(call("note"), call("other")))))

    told.result(COMPLETE)

    assert told.status == "completed"
    assert told.never_executed == [("other", "its step had ended")]
    assert told.chain.end.unfinished


def test_c3_complete_counts_as_continue_while_a_required_tool_is_missing() -> None:
    told = story(plan(tool_step("s1", call("note"), call("other"))))

    told.result(COMPLETE)
    assert told.tools_called == ["note", "other"]
    told.result()

    assert told.status == "completed"


def test_the_lowest_step_that_is_ready_runs_first() -> None:
    told = story(
        plan(
            tool_step("a", after=("c",)),
            tool_step("b"),
            tool_step("c"),
            tool_step("d", after=("a", "b")),
        )
    )
    order = []
    while not told.chain.status.final:
        order.append(told.action.id)
        told.result()

    assert order == ["c.b.1", "c.c.1", "c.a.1", "c.d.1"]


def test_c11_an_error_fails_the_step_and_the_chain_with_the_tools_own_words() -> None:
    told = story(find_and_send())
    words = "no contact matches 'Zorg'"
    told.result(failed(ErrorType.NOT_FOUND, words, suggestion="Check the spelling."))

    assert told.status == "failed"
    message = "find (NOT_FOUND): no contact matches 'Zorg'. Check the spelling."
    assert (told.error, told.final_answer) == (ChainError("HP-204", message, "find"), None)
    assert told.statuses == {"find": "failed", "send": "pending"}
    assert told.final_facts == ["chain.failed"]
    assert told.tools_called == ["find"]


@pytest.mark.parametrize("kind", [one for one in ErrorType if one is not ErrorType.IN_DOUBT])
def test_c11_what_the_runtime_suggests_to_a_model_is_not_in_the_users_answer(
    kind: ErrorType,
) -> None:
    told = story(find_and_send())
    told.result(failed(kind, "it failed", suggestion=BY_TYPE[kind], recoverable=False))
    assert told.reason == "it failed"


def test_in_the_error_of_a_chain_stars_take_the_place_of_what_is_secret_in_the_call() -> None:
    login = spec("reset_password", parameters=TYPED)
    task = plan(tool_step("s", call("reset_password", pin="one two", key="three.4")))
    told = submitted(Task(plan=task), login)
    told.result(failed(ErrorType.SERVER, "neither one two nor three.4"))
    error = told.error
    assert error is not None
    assert error.message == "reset_password (SERVER): neither *** nor ***"
    assert without_secrets(error.message) == error.message


def test_b2_calls_behind_an_error_are_never_executed() -> None:
    told = story(plan(tool_step("s1", call("note"), call("other"), on_failure=OnFailure.CONTINUE)))

    told.fails()

    assert told.never_executed == [("other", "the call before it failed")]
    assert told.status == "completed"
    assert told.final_answer is None


def test_c11_on_failure_continue_skips_who_refers_to_the_missing_result_and_so_on() -> None:
    told = story(
        plan(
            tool_step("find", call("find"), on_failure=OnFailure.CONTINUE),
            tool_step("send", call("send", to={"$from": "find.data.id"}), after=("find",)),
            tool_step("log", call("note", of={"$from": "send.data.id"}), after=("send",)),
            tool_step("note", after=("find", "log")),
        )
    )

    told.fails()
    assert told.action.id == "c.note.1"
    told.returns('{"n": 4}')

    assert told.statuses == {
        "find": "failed",
        "send": "skipped",
        "log": "skipped",
        "note": "completed",
    }
    assert told.told("step.skipped") == [
        {"step_id": "send", "reason": "the result of step 'find' is missing"},
        {"step_id": "log", "reason": "the result of step 'send' is missing"},
    ]
    assert told.final_answer == '{"n":4}'


def test_only_results_that_somebody_may_still_look_at_are_kept() -> None:
    last = call("note", a={"$from": "s1.data.id"}, b={"$from": "s4.success"})
    told = story(
        plan(
            *line_plan(4).steps,
            tool_step("s5", last, after=("s4",)),
            tool_step("s6", after=("s5",)),
        )
    )
    kept = []
    while not told.chain.status.final:
        kept.append(sorted(told.chain.actions))
        told.returns('{"id": 7}')

    assert kept == [
        ["c.s1.1"],
        ["c.s1.1", "c.s2.1"],
        ["c.s1.1", "c.s2.1", "c.s3.1"],
        ["c.s1.1", "c.s3.1", "c.s4.1"],
        ["c.s1.1", "c.s4.1", "c.s5.1"],
        ["c.s5.1", "c.s6.1"],
    ]
    assert json.loads(told.dispatches[4].action.arguments) == {"a": 7, "b": True}


def test_a_reference_that_points_at_nothing_fails_the_step() -> None:
    told = story(find_and_send("find.data.contacts[0].id", on_failure=OnFailure.CONTINUE))

    told.returns('{"contacts": []}')

    assert told.status == "completed"
    assert told.statuses == {"find": "completed", "send": "failed"}
    assert told.told("step.failed") == [
        {
            "step_id": "send",
            "code": "HP-206",
            "reason": (
                "send: 'find.data.contacts[0].id' points at nothing in a result of step 'find'"
            ),
        }
    ]


def test_resolved_arguments_have_a_limit() -> None:
    told = story(find_and_send())

    told.returns(write_json({"contact_id": "x" * 70_000}))

    assert told.error == ChainError(
        "HP-206", "The arguments of send are wrong: they have more than 65536 bytes.", "send"
    )


def test_half_of_a_character_is_sent_as_it_is_written_in_json() -> None:
    told = story(plan(tool_step("a", call("note", text="\ud83d"))))

    assert told.action.arguments == '{"text":"\\ud83d"}'


def test_resolved_arguments_are_not_nested_deeper_than_a_worker_reads() -> None:
    deep: dict[str, object] = {}
    for _ in range(MAX_DEPTH - 2):
        deep = {"a": deep}
    first = door(Step).validate_python({"id": "find", "actions": [call("find")]})
    for levels, error in (
        (1, None),
        (2, f"find: its arguments are nested deeper than {MAX_DEPTH}"),
    ):
        value: dict[str, object] = {"$from": "find.data"}
        for _ in range(levels - 1):
            value = {"b": value}
        second = door(Step).validate_python(
            {"id": "again", "dependencies": ["find"], "actions": [call("find", q=value)]}
        )
        told = submitted(Task(plan=plan(first, second)), spec("find"))
        told.returns(write_json(deep))

        assert (told.chain.end.error and told.error.message) == error


def test_a_result_that_was_lost_is_not_guessed() -> None:
    told = story(plan(tool_step("find", call("find")), tool_step("a"), *find_and_send().steps[1:]))
    told.returns('{"contact_id": "u1"}')
    told.chain = msgspec.structs.replace(told.chain, actions={"c.a.1": told.chain.actions["c.a.1"]})

    told.result()

    text = "send: 'find.data.contact_id' points at nothing in a result of step 'find'"
    assert told.error == ChainError("HP-206", text, "send")


def test_a_tool_that_is_gone_fails_its_step() -> None:
    told = story(line_plan(2))
    told.without("note")

    told.result()

    assert told.error == ChainError("HP-207", "no worker serves note any more", "s2")


def test_c1_a_literal_plan_with_faults_fails_with_all_of_them() -> None:
    told = story(plan(tool_step("a", call("nope")), tool_step("a", call("send"), after=("z",))))

    assert told.status == "failed"
    assert told.error == ChainError(
        "HP-201",
        "step 'a': no tool is called 'nope'; there are: find, note, other, send; "
        "step 'a': actions[0] send: arguments: 'to' is missing; "
        "step 'a': another step has the same id; "
        "step 'a': depends on 'z', which is not a step of the plan",
    )
    assert told.final_facts == ["chain.failed"]
    assert told.dispatches == []


def test_a_budget_of_actions_is_never_overshot() -> None:
    told = story(line_plan(3), budget=Budget(actions=2))

    told.result()
    told.result()

    assert told.error == ChainError("HP-208", "the chain has used up its budget of actions", "s3")
    assert len(told.dispatches) == 2
    assert told.statuses == {"s1": "completed", "s2": "completed", "s3": "cancelled"}


def test_the_policys_actions_do_not_bind_a_literal_plan_which_brings_its_own_number() -> None:
    told = submitted(Task(plan=line_plan(3)), spec("note"), policy=Policy(max_actions=1))
    told.result()
    told.result()
    told.result()

    assert told.status == "completed"


def test_nothing_goes_out_after_the_seconds_of_the_budget() -> None:
    told = story(line_plan(2), budget=Budget(seconds=5))
    assert told.dispatches[0].deadline == told.chain.deadline == 1_005_000
    told.now = 1_005_000

    told.result()

    assert told.error == ChainError("HP-209", "the chain's deadline has passed")
    assert len(told.dispatches) == 1


def test_a_timer_before_the_deadline_changes_nothing_and_at_the_deadline_ends_the_chain() -> None:
    told = story(line_plan(2), budget=Budget(seconds=5))

    assert told.due(at=1_004_999).chain is told.decisions[0].chain
    told.due(at=1_005_000)

    assert told.status == "failed"
    assert told.statuses == {"s1": "cancelled", "s2": "pending"}


def test_a_long_plan_in_which_every_step_fails_at_once_does_not_exhaust_the_stack() -> None:
    missing = call("note", of={"$from": "s0.data.id"})
    steps = (
        tool_step(f"s{n}", missing, after=("s0",), on_failure=OnFailure.CONTINUE)
        for n in range(1, 500)
    )
    told = story(plan(tool_step("s0"), *steps))

    told.result()

    assert told.status == "completed"
    assert len(told.told("step.failed")) == 499


@pytest.mark.parametrize("data", ["", "{", "[" * 100_000, '{"a": "\\ud800"}'])
def test_data_that_cannot_be_read_is_no_reason_to_stumble(data: str) -> None:
    told = story(line_plan(1))

    told.returns(data)

    assert told.status == "completed"
    assert told.final_answer in ("{}", '{"a":"?"}')


def test_f1_a_call_of_a_skipped_step_says_why_and_nothing_that_only_runtimes_read() -> None:
    steps = [
        tool_step("find", call("find"), on_failure=OnFailure.CONTINUE),
        tool_step("send", call("send", to={"$from": "find.data.id"}, text="x"), after=("find",)),
    ]
    told = story(plan(*steps))
    told.fails(ErrorType.NOT_FOUND)
    (line,) = [line for line in told.chain.end.not_done if line.tool == "send"]
    assert line.message == "the result of step 'find' is missing"
    assert line.says == 'Send: text "x"'


def test_e4_a_call_that_a_person_has_denied_above_is_denied_inside_of_a_skill_too() -> None:
    told = story(
        plan(
            tool_step("one", call("send", to="x"), on_failure=OnFailure.CONTINUE),
            tool_step("two", call("send", to="x"), after=("one",)),
        )
    )
    told.result(confirms())
    told.reject("no")
    assert told.status == "failed"
    assert told.chain.end.error is not None
    assert told.chain.end.error.message == "A person denied exactly this call of send."
