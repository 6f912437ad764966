"""Several things of one chain under way (CONTRACT B3, C7, C8, C14): what may run side by side, and
what waits.
"""

from functools import partial

import msgspec
import pytest

from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.outputs import Report, StartChild
from haltpoint.chain.model.statuses import StepStatus
from haltpoint.contracts.events import TaskSubmitted
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.policy import Treatment
from haltpoint.contracts.results import (
    ErrorType,
    Outcome,
)
from haltpoint.contracts.work.plans import OnFailure, Plan, ProposedCall, Step
from haltpoint.contracts.work.tasks import Budget, Task
from haltpoint.contracts.work.thoughts import DOES_NOT_FIT, Usage
from tests.support.builders import (
    ALL_LISTS,
    COMPLETE,
    OK,
    SURE,
    asks,
    bounds,
    call,
    failed,
    open_task,
    owing,
    plan,
    spec,
    tool_step,
    writing,
)
from tests.unit.chain.story import Story, submitted, with_plan
from tests.unit.chain.test_children import below, tell_parent

READ = spec("read")
LOOK = spec("look")
ASK = spec("find", may_clarify=True)
SEND = writing("send", parameters={"type": "object", "properties": {"to": {"type": "string"}}})
TOOLS = (READ, LOOK, ASK, SEND)
CHOICE, CONFIRM = RequestKind.CLARIFICATION, RequestKind.CONFIRMATION


def literal(
    *steps: Step,
    parallel: int | None = 3,
    policy: Policy | None = None,
) -> Story:
    return submitted(
        Task(goal="x", plan=plan(*steps), parallel=parallel),
        *TOOLS,
        policy=policy,
    )


drafted = partial(with_plan, TOOLS, goal="read, look and send it to ann", parallel=3)


def open_ended(*, parallel: int = 3, policy: Policy | None = None) -> Story:
    task = open_task("read, look and send it", parallel=parallel, bounds=ALL_LISTS)
    return submitted(task, *TOOLS, policy=policy or Policy(unasked_effects=Treatment.ALLOW))


def over_beside_a_read() -> Story:
    """Step a is over, and a read of it is under way."""
    story = drafted(owing("a", "read"), Step(id="b", dependencies=("a",)))
    story.propose(call("read"), call("look"), thought=1)
    story.result(COMPLETE, of="c.a.1")
    return story


def names(story: Story) -> list[str]:
    return [dispatch.action.id for dispatch in story.dispatches]


def test_c8_steps_that_do_not_depend_on_each_other_run_side_by_side_up_to_the_cap() -> None:
    story = literal(*(tool_step(name, call("read")) for name in "abcd"))
    assert names(story) == ["c.a.1", "c.b.1", "c.c.1"]

    story.result(of="c.b.1")
    assert names(story)[3:] == ["c.d.1"]
    for name in ("c.d.1", "c.c.1", "c.a.1"):
        assert story.status == "executing"
        story.result(of=name)
    assert story.status == "completed"


def test_c8_one_at_a_time_is_the_default_and_a_step_waits_for_those_that_it_depends_on() -> None:
    assert names(
        literal(tool_step("a", call("read")), tool_step("b", call("read")), parallel=None)
    ) == ["c.a.1"]
    story = literal(
        tool_step("a", call("read")),
        tool_step("b", call("read"), after=("a",)),
        tool_step("c", call("look")),
    )
    assert names(story) == ["c.a.1", "c.c.1"]


def test_c8_the_answer_is_the_last_result_of_the_plan_in_whatever_order_they_come() -> None:
    story = literal(*(tool_step(name, call("read")) for name in "abc"))
    for name in "cab":
        story.returns(f'{{"from":"{name}"}}', f"c.{name}.1")
    assert story.final_answer == '{"from":"c"}'


def test_c8_calls_of_a_literal_step_run_side_by_side_and_the_plans_last_is_its_result() -> None:
    story = literal(tool_step("a", call("read"), call("look"), call("read", n=2), call("send")))
    assert names(story) == [
        "c.a.1",
        "c.a.2",
        "c.a.3",
    ]  # a call with effects never runs beside another call of its step
    for number in (3, 1, 2):
        story.returns(f'{{"n":{number}}}', f"c.a.{number}")
    assert names(story)[3:] == ["c.a.4"]
    assert story.chain.runs[0].last_ok == 3
    story.returns('{"n":4}')
    assert story.final_answer == '{"n":4}'


def test_c8_a_literal_step_may_say_more_than_its_task_and_a_drafted_one_only_less() -> None:
    assert (
        len(names(literal(tool_step("a", call("read"), call("look"), parallel=2), parallel=None)))
        == 2
    )
    steps = [
        Step(id=name, allowed_tools=("read",), parallel=most)
        for name, most in (("a", 16), ("b", 1), ("c", 16))
    ]
    story = drafted(*steps, parallel=2)
    assert [think.step_id for think in story.thoughts[1:]] == ["a", "b"]
    story.propose(call("read"), call("read", n=2), thought=2)
    assert names(story) == ["c.b.1"]


@pytest.mark.parametrize("first", ["find", "send"])
def test_c8_nothing_runs_beside_a_call_that_may_ask_or_has_effects(first: str) -> None:
    story = open_ended()
    story.propose(call(first), call("read"))
    assert story.tools_called == [first]


def test_c8_an_error_beside_other_reads_ends_the_turn_when_they_have_ended() -> None:
    story = open_ended()
    story.propose(call("read"), call("look"), call("send"))
    story.fails(of="c.react.1")
    assert len(story.thoughts) == 1
    story.result(of="c.react.2")
    assert story.never_executed == [("send", "the call before it failed")]
    assert story.thought.receipts == ("c.react.1", "c.react.2")


def test_c8_what_cannot_be_judged_before_the_receipts_are_here_waits_and_is_no_strike() -> None:
    give = spec(
        "give",
        provenance={"id": ("read.id",)},
        parameters={"type": "object", "properties": {"id": {}}},
    )
    task = open_task("read it", parallel=3, bounds=ALL_LISTS)
    story = submitted(task, READ, give, policy=Policy(actions_per_turn=2))
    story.propose(call("read"), call("give", id="u1"))
    assert story.tools_called == ["read"]
    story.returns('{"id":"u1"}')
    assert story.tools_called == ["read", "give"]
    assert not story.told("contract.violated")


def test_c3_a_step_may_end_while_a_read_beside_it_is_under_way_and_its_receipt_is_kept() -> None:
    story = over_beside_a_read()
    assert story.status_of("a") == "completed"
    assert story.thought.receipts[-1] == "c.a.1"
    story.asks("c.a.2")  # a question of a step that is over is not asked
    assert not story.questions
    story.writes("done")
    assert story.thought.receipts == ("c.a.1", "c.a.2")


def test_b3_while_a_question_is_open_what_runs_ends_and_nothing_is_sent() -> None:
    story = literal(
        tool_step("a", call("find")),
        tool_step("b", call("read"), call("send")),
        tool_step("c", call("look")),
    )
    story.asks("c.a.1")
    assert story.status == "awaiting_clarification"
    story.result(of="c.b.1")
    story.result(of="c.c.1")
    assert (names(story), story.status_of("c")) == (
        ["c.a.1", "c.b.1", "c.c.1"],
        StepStatus.COMPLETED,
    )

    story.pick("x")
    assert names(story)[3:] == ["c.b.2"]
    assert story.each("chain.resumed", "request_id") == ["c.r1"]


def test_b3_several_questions_are_answered_in_any_order_and_an_answer_frees_its_own_step() -> None:
    both = (call("find"), call("read"))
    story = literal(
        tool_step("a", *both), tool_step("b", *both), tool_step("c", call("look"), call("send"))
    )
    story.asks("c.b.1")
    story.result(OK, of="c.c.1")
    story.asks("c.a.1")
    assert [one.request_id for one in story.chain.requests] == ["c.r1", "c.r2"]

    story.pick("x", "c.r2")
    assert (names(story)[3:], story.status) == (["c.a.2"], "awaiting_clarification")
    story.result(of="c.a.2")
    assert story.status_of("a") == "completed"
    assert names(story)[4:] == []  # step c asked nothing: it waits until no question is open
    story.pick("x", "c.r1")
    assert names(story)[4:] == ["c.b.2", "c.c.2"]


def test_b3_a_new_question_stops_the_step_that_was_freed() -> None:
    story = literal(
        tool_step("a", call("find"), call("find", n=2)),
        tool_step("b", call("find")),
        tool_step("c", call("find")),
    )
    story.asks("c.a.1")
    story.asks("c.b.1")
    story.pick("x", "c.r1")
    assert names(story)[3:] == ["c.a.2"]
    story.asks("c.c.1")
    story.result(of="c.a.2")
    assert [run.freed for run in story.chain.runs] == [False, False, False]


def test_b3_a_thought_that_arrives_while_a_question_is_open_is_kept_and_its_calls_wait() -> None:
    story = drafted(owing("a", "find"), owing("b", "read"))
    story.propose(call("find"), thought=1)
    story.asks("c.a.1")
    story.propose(call("read"), thought=2)
    assert story.tools_called == ["find"]
    before = story.chain
    story.propose(call("read"), thought=2)
    assert story.chain is before
    story.pick("x")
    assert story.tools_called == ["find", "read"]


def test_b3_a_question_that_expires_touches_its_own_step() -> None:
    steps = [tool_step(name, call("find"), on_failure=OnFailure.CONTINUE) for name in "ab"]
    story = literal(*steps)
    story.asks("c.a.1")
    story.asks("c.b.1")
    story.due("c.r1")
    assert story.statuses == {"a": "failed", "b": "waiting"}
    assert [one.request_id for one in story.chain.requests] == ["c.r2"]
    story.pick("x", "c.r2")
    assert story.status == "completed"


def test_c8_a_failure_waits_for_the_calls_beside_it() -> None:
    story = literal(tool_step("a", call("read")), tool_step("b", call("send"), call("read")))
    story.fails(message="no file", of="c.a.1")
    assert story.status == "executing"
    assert story.status_of("a") == "failed"
    story.asks("c.b.1")
    assert names(story) == ["c.a.1", "c.b.1"]
    assert (story.status, story.reason) == ("failed", "no file")
    assert (story.error.step_id, story.questions) == ("a", [])


def test_c3_a_step_whose_last_call_succeeds_while_the_chain_fails_is_complete() -> None:
    """Its deed is listed; one that still has a call to make, or whose call reads beside it, is
    cancelled.
    """
    story = literal(
        *(tool_step("a", call("read")), tool_step("b", call("send"))),
        *(
            tool_step("c", call("send", n=2), call("read")),
            tool_step("d", call("look"), after=("b",)),
        ),
    )
    story.fails(message="no file", of="c.a.1")
    story.result(of="c.b.1")
    assert story.status == "executing"
    story.result(of="c.c.1")
    assert (story.status, story.reason) == ("failed", "no file")
    assert story.statuses == {"a": "failed", "b": "completed", "c": "cancelled", "d": "ready"}
    assert names(story) == ["c.a.1", "c.b.1", "c.c.1"]


@pytest.mark.parametrize("code", ["HP-301", DOES_NOT_FIT])
def test_c8_a_second_failure_beside_the_first_one_changes_nothing(code: str) -> None:
    story = drafted(*(owing(name, "send") for name in "abc"))
    first, second = story.thoughts[1], story.thoughts[2]
    story.propose(call("send", n=3), thought=3)
    story.no_thought(first.thought_id)
    failing = story.chain.failing
    assert failing is not None
    story.no_thought(second.thought_id, code=code)
    assert story.chain.failing == failing
    assert story.chain.requests == ()


def test_c8_the_first_failure_is_told_and_a_cancelled_chain_has_none() -> None:
    steps = [tool_step(name, call("read")) for name in "abc"]
    story = literal(*steps)
    story.fails(message="first", of="c.b.1")
    story.fails(message="second", of="c.a.1")
    story.result(of="c.c.1")
    assert story.reason == "first"
    other = literal(*steps)
    other.fails(message="first", of="c.b.1")
    other.cancel()
    assert (other.status, other.chain.end.error) == ("cancelled", None)


# ---- what must not happen between things that are under way
# ----------------------------------------------------------

DOUBT = failed(ErrorType.IN_DOUBT)


def from_result(name: str, tool: str, source: str) -> Step:
    arguments = {"to": {"$from": source}}
    step = source.partition(".")[0]
    return Step(
        id=name,
        required_tools=(tool,),
        dependencies=(step,),
        actions=(ProposedCall(tool=tool, arguments=arguments),),
    )


def test_b3_a_step_that_ends_takes_its_questions_back() -> None:
    first = tool_step("a", call("read"), call("look"), on_failure=OnFailure.CONTINUE)
    story = literal(
        first, from_result("b", "send", "a.data.x"), tool_step("c", call("look"), after=("b",))
    )
    story.asks("c.a.1")
    story.fails(of="c.a.2")
    assert story.statuses == {"a": "failed", "b": "skipped", "c": "in_progress"}
    assert story.each("request.withdrawn", "request_id") == ["c.r1"]
    before = story.chain
    story.pick("x", "c.r1")
    assert story.chain is before


def test_b3_a_completed_step_is_not_asked_about_any_more() -> None:
    story = drafted(owing("a", "look"), owing("b", "read"))
    story.propose(call("read"), call("look"), thought=1)
    story.result(SURE, of="c.a.1")
    story.result(COMPLETE, of="c.a.2")
    assert (story.status_of("a"), story.chain.requests) == (StepStatus.COMPLETED, ())


def test_b3_a_step_with_two_questions_is_freed_by_the_last_answer() -> None:
    story = literal(tool_step("a", call("read"), call("look"), call("read", n=2)), parallel=2)
    story.asks("c.a.1")
    story.asks("c.a.2")
    story.pick("x", "c.r1")
    assert (names(story), story.status_of("a")) == (["c.a.1", "c.a.2"], StepStatus.WAITING)
    story.pick("x", "c.r2")
    assert names(story)[2:] == ["c.a.3"]


def test_b3_a_freed_step_is_bound_by_its_own_cap_and_not_by_what_others_ask() -> None:
    steps = [
        tool_step("z", call("find", n=2)),
        tool_step("a", call("find"), call("look"), parallel=2),
        tool_step("b", call("find", n=1)),
    ]
    story = literal(*steps)
    for name in ("c.z.1", "c.a.1", "c.b.1"):
        story.asks(name)
    story.pick("x", "c.r2")
    assert names(story)[3:] == ["c.a.2"]


@pytest.mark.parametrize("question", [SURE, DOUBT, asks("x", "y")])
def test_c8_a_chain_that_fails_takes_its_questions_back_and_sends_nothing(
    question: Outcome,
) -> None:
    story = literal(
        tool_step("a", call("send")), tool_step("b", call("read")), tool_step("c", call("look"))
    )
    story.result(question, of="c.a.1")
    story.fails(message="no file", of="c.b.1")
    assert (story.status, story.chain.requests) == ("executing", ())
    story.result(of="c.c.1")
    assert (story.status, story.reason, names(story)[3:]) == (
        "failed",
        "no file",
        [],
    )


def test_c8_a_chain_that_fails_takes_its_cases_back() -> None:
    story = drafted(
        *(owing(name, tool) for name, tool in (("a", "read"), ("b", "send"), ("c", "look")))
    )
    failing = story.thoughts[2].thought_id
    story.propose(call("look"), thought=3)
    for _ in range(3):
        story.propose(
            content="no",
            thought=next(one for one in reversed(story.thoughts) if one.step_id == "a"),
        )
    assert story.status == "escalated"
    story.no_thought(failing)
    assert (story.chain.requests, story.chain.failing is not None) == ((), True)


def test_c8_a_deadline_or_a_lost_message_does_not_hide_the_first_failure() -> None:
    for late in (True, False):
        story = literal(tool_step("a", call("read")), tool_step("b", call("send")))
        story.fails(message="first", of="c.a.1")
        assert story.chain.end.error is None
        if late:
            story.due(at=story.chain.deadline + 1)
        else:
            story.lose("c.b.1/1")
        assert (story.status, story.reason) == ("failed", "first")


def test_c8_a_used_up_budget_waits_for_the_calls_beside() -> None:
    steps = (tool_step("a", call("send")), tool_step("b", call("read")))
    story = submitted(
        Task(goal="x", plan=plan(*steps), parallel=3, budget=Budget(actions=1)), *TOOLS
    )
    assert (names(story), story.status) == (["c.a.1"], "executing")
    story.result()
    assert (story.status, story.error.code) == ("failed", "HP-208")


def test_r9_a_lost_read_of_a_step_that_is_over_ends_nothing() -> None:
    story = over_beside_a_read()
    story.lose("c.a.2/1")
    assert story.status == "executing"
    assert story.chain.actions["c.a.2"].outcome is not None
    assert story.chain.runs[0].pending == ()


def test_c8_a_chain_is_cancelled_while_a_read_of_a_step_that_is_over_runs() -> None:
    story = over_beside_a_read()
    story.cancel()
    assert (story.status, story.status_of("a")) == (
        "cancelled",
        StepStatus.COMPLETED,
    )


def test_c14_an_equal_effect_of_a_skill_waits_too() -> None:
    steps = plan(tool_step("x", call("send", to="ann")))
    mailer = writing("mailer", plan=steps)
    said = bounds(optional_tools=("send", "mailer"))
    for first, second in (("send", "mailer"), ("mailer", "send")):
        story = submitted(Task(goal="send to ann", parallel=3, bounds=said), *TOOLS, mailer)
        story.plans(owing("a", first), owing("b", second))
        given = {"send": call("send", to="ann"), "mailer": call("mailer")}
        story.propose(given[first], thought=1)
        story.propose(given[second], thought=2)
        assert list(story.chain.actions) == ["c.a.1"]


def test_b3_the_chain_of_a_skill_begins_when_no_question_is_open_with_its_hooks_asked_again() -> (
    None
):
    skill = writing("skill", hooks=("pre",), plan=plan(tool_step("x", call("send"))))
    steps = plan(tool_step("a", call("skill")), tool_step("b", call("find")))
    story = submitted(Task(goal="x", plan=steps, parallel=3), *TOOLS, skill)
    story.result(SURE, of="c.b.1")
    story.returns('{"arguments":{}}', "c.a.1")
    assert story.last.outputs == (), "a question is open"
    story.approve()
    assert names(story) == ["c.a.1", "c.b.1", "c.b.1", "c.a.1"]
    story.returns('{"arguments":{}}')
    assert [type(output) for output in story.decisions[-1].outputs] == [StartChild]


def test_c11_a_step_is_skipped_once() -> None:
    story = literal(
        tool_step("z", call("find")),
        tool_step("a", call("read"), on_failure=OnFailure.CONTINUE),
        from_result("b", "send", "a.data.x"),
        tool_step("c", call("look"), after=("a", "b")),
        parallel=2,
    )
    story.asks("c.z.1")
    story.fails(of="c.a.1")
    assert story.status_of("c") == "pending"
    story.pick("x")
    assert (story.status_of("b"), story.status_of("c")) == ("skipped", "in_progress")


def test_c8_a_question_of_an_optional_call_may_expire() -> None:
    some = ProposedCall(tool="find", optional=True)
    expired = literal(owing("a", "read", actions=(some, call("read"))), parallel=None)
    expired.result(asks("x", "y"))
    expired.due("c.r1")
    assert names(expired) == ["c.a.1", "c.a.2"]


def test_d1_a_thought_is_one_strike_of_the_chain_also_when_another_one_came_between() -> None:
    said = bounds(required_tools=("send",))
    story = submitted(Task(goal="read, look and send it to ann", parallel=3, bounds=said), *TOOLS)
    story.draft(Plan(steps=tuple(owing(name, "send") for name in "abc")))
    story.propose(call("send", to="ann"), thought=1)
    story.propose(call("nonsense"), call("send", to="ann"), thought=2)
    story.propose(thought=3, content="no")
    story.fails(ErrorType.DENIED, of="c.a.1")
    assert story.strikes == 2


def test_f1_a_skill_tells_only_of_the_calls_that_succeeded() -> None:
    steps = plan(
        owing("x", "read", actions=(ProposedCall(tool="send", optional=True), call("read")))
    )
    story = Story(Task(goal="x", plan=steps), *TOOLS)
    story.chain = msgspec.structs.replace(story.chain, id="p~a-1")
    story.hear(TaskSubmitted(id="p~a-1", source="test", subject="p~a-1", data=story.chain.task))
    story.fails()
    story.result()
    [report] = story.sends(Report)
    assert report.outcome.metadata.below.nested_successes == ("read",)


def test_c8_a_literal_chain_that_fails_later_keeps_no_result() -> None:
    steps = (
        tool_step("a", call("read")),
        tool_step("b", call("find")),
        tool_step("c", call("look")),
    )
    story = literal(*steps, parallel=3)
    story.result(of="c.a.1")
    story.fails(of="c.b.1")
    assert (story.chain.failing is not None, list(story.chain.actions)) == (True, ["c.c.1"])


def test_c8_a_step_without_turns_left_waits_with_its_chain_for_the_calls_beside() -> None:
    task = Task(goal="read it, look", parallel=2, budget=Budget(turns=2))
    story = submitted(task, READ, writing("look"))
    steps = (owing("a", "read"), owing("b", "read"))
    story.plans(*steps, owing("c", "look", dependencies=("b",)))
    a, b = story.thoughts[-2:]
    story.propose(call("read"), thought=a)
    story.propose(call("look"), call("nonsense"), thought=b, usage=Usage(input_tokens=10))
    assert story.chain.failing is not None
    story.propose(call("look"), call("nonsense"), thought=b, usage=Usage(input_tokens=10))
    assert story.chain.spent.tokens == 10
    story.result(of="c.a.1")
    assert story.status == "failed"


@pytest.mark.parametrize("chosen", [Choice.NOT_HAPPENED, Choice.APPROVE])
def test_e5_an_answer_about_a_call_whose_tool_is_gone_leaves_nothing_waiting(
    chosen: Choice,
) -> None:
    story = literal(tool_step("a", call("send"), on_failure=OnFailure.CONTINUE))
    story.result(failed(ErrorType.IN_DOUBT) if chosen is Choice.NOT_HAPPENED else SURE)
    story.without("send")
    story.answer(RequestKind.IN_DOUBT if chosen is Choice.NOT_HAPPENED else CONFIRM, chosen)
    assert (story.status, story.status_of("a")) == ("completed", StepStatus.FAILED)


def test_c14_a_chain_that_waits_for_its_child_fails_by_what_failed_first() -> None:
    mailer = writing("mailer", plan=plan(tool_step("x", call("send", to="ann"))))
    steps = plan(
        tool_step("a", call("mailer")), tool_step("b", call("read")), tool_step("c", call("look"))
    )
    story = submitted(Task(goal="x", plan=steps, parallel=3), *TOOLS, mailer)
    child = below(story)
    story.lose("c.b.1/1/done")
    story.lose("c.c.1/1/done")
    assert story.status == "executing"
    child.cancel()
    tell_parent(story, child)
    assert "c.b.1/1/done" in story.error.message
