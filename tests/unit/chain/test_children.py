"""Skills with steps (CONTRACT A): a call that a chain of its own carries out, and what each says to
the other.
"""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from haltpoint.chain.checks.core_tools import (
    fill,
    skill_faults,
    template_faults,
    with_skills,
)
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.outputs import CancelChild, Decision, Report, StartChild
from haltpoint.chain.model.state import Chain
from haltpoint.contracts.base import action_of, child_id, levels_of, root_of
from haltpoint.contracts.events import ToolCompleted
from haltpoint.contracts.people.approvals import Approval
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.policy import Pattern, Treatment
from haltpoint.contracts.reasons import ReasonKind
from haltpoint.contracts.results import (
    ErrorInfo,
    ErrorType,
)
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.ledger import Became
from haltpoint.contracts.work.plans import Plan, ProposedCall, Step
from haltpoint.contracts.work.tasks import Budget, Mode, Task
from tests.support.builders import (
    COMPLETE,
    asks,
    call,
    confirms,
    failed,
    literal_task,
    open_task,
    owing,
    plan,
    spec,
    tool_step,
    worked,
    writing,
)
from tests.unit.chain.story import START, Story, submitted

PARAMETERS = {
    "type": "object",
    "properties": {"who": {"type": "string"}, "words": {"type": "string"}},
    "required": ["who"],
    "additionalProperties": False,
}
WHO = {"$from": "input.who"}
FIND = spec("find", may_clarify=True)
SEND = ToolSpec(name="send", provenance={"to": ("find.id",)})
TELL = plan(
    tool_step("find", call("find", query={"$from": "input.who"})),
    tool_step(
        "send",
        call(
            "send",
            to={"$from": "find.data.id"},
            content={"$from": "input.words"},
            tags=[{"$from": "input.words"}],
        ),
        after=("find",),
    ),
)


def skill(name: str = "tell", steps: Plan = TELL, **more: Any) -> ToolSpec:
    given: dict[str, Any] = {"parameters": PARAMETERS, "may_clarify": True} | more
    return ToolSpec(
        name=name, kind=ToolKind.SKILL, description="Tell somebody.", plan=steps, **given
    )


def tools(*specs: ToolSpec) -> tuple[ToolSpec, ...]:
    return tuple(with_skills({one.name: one for one in specs}).values())


TOOLS = tools(FIND, SEND, skill())


def started(story: Story) -> StartChild:
    (order,) = story.sends(StartChild)
    assert isinstance(order, StartChild)
    return order


def below(story: Story) -> Story:
    """The child that the last decision began, with its first message heard."""
    return below_of(story, story.last)


def below_of(story: Story, decision: Decision) -> Story:
    (order,) = [one for one in decision.outputs if isinstance(one, StartChild)]
    child = Story(order.task, *story.world.tools.values(), policy=story.world.policy)
    child.first = child.chain = Chain(
        order.action.child,
        order.task,
        created_at=story.now,
        updated_at=story.now,
        deadline=order.deadline,
    )
    child.submit()
    return child


def tell_parent(story: Story, child: Story) -> Decision:
    """What the child's end says, heard by its parent."""
    (said,) = child.sends(Report)
    return hear_of(story, said)


def hear_of(story: Story, said: Report) -> Decision:
    data = ToolCompleted.Data(action_id=said.action_id, outcome=said.outcome, known=said.known)
    return story.hear(
        ToolCompleted(id=f"{said.action_id}/child/done", source="t", subject="c", data=data),
        said.data,
    )


def calling() -> Story:
    return submitted(literal_task(1, "tell", who="John", words="late"), *TOOLS)


# ---- ids
# --------------------------------------------------------------------------------------------------


@given(
    st.from_regex(r"[0-9a-f]{32}", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True),
    st.data(),
)
def test_a_childs_id_names_its_parents_action_and_lies_in_its_partition(
    root: str, step: str, data: Any
) -> None:
    number = data.draw(st.integers(1, 999))
    action = f"{root}.{step}.{number}"
    child = child_id(action)
    assert action_of(child) == action
    assert root_of(child) == root
    grandchild = child_id(f"{child}.{step}.{number}")
    assert action_of(grandchild) == f"{child}.{step}.{number}"
    assert (levels_of(root), levels_of(child), levels_of(grandchild)) == (0, 1, 2)
    assert action_of(root) is None


# ---- templates
# --------------------------------------------------------------------------------------------------


def test_arguments_are_put_into_the_steps_and_those_left_out_are_left_out() -> None:
    filled = fill(TELL, {"who": "John", "words": "late"})
    assert filled.steps[0].actions[0].arguments == {"query": "John"}
    assert filled.steps[1].actions[0].arguments == {
        "to": {"$from": "find.data.id"},
        "content": "late",
        "tags": ["late"],
    }
    assert fill(TELL, {"who": "John"}).steps[1].actions[0].arguments == {
        "to": {"$from": "find.data.id"},
        "tags": [],
    }


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (Plan(steps=()), "has 0 steps"),
        (plan(tool_step("a", call("find", q={"$from": "input.whom"}))), "no parameter 'whom'"),
        (plan(tool_step("a", call("find", q={"$from": "other.data.id"}))), "does not wait for"),
        (plan(tool_step("a", call("find", q={"$from": "input"}))), "a reference is"),
        (plan(owing("a", "find")), "must list its calls"),
        (plan(tool_step("a", after=("b",)), tool_step("b", after=("a",))), "cycle"),
        (plan(tool_step("a"), tool_step("a")), "the same id"),
    ],
)
def test_c1_steps_are_checked_when_they_are_loaded(steps: Plan, words: str) -> None:
    assert words in "; ".join(template_faults(steps, PARAMETERS))


def declared(steps: Plan, *specs: ToolSpec, **more: Any) -> str:
    """What is wrong with the declaration of a skill, among these tools."""
    found = skill("does", steps, **more)
    return "; ".join(skill_faults(found, {one.name: one for one in (FIND, SEND, found, *specs)}))


@pytest.mark.parametrize(
    ("flag", "fault"),
    [
        ({"read_only": True}, "read_only: wipe does not declare it, so the skill cannot"),
        ({"repeats": True}, "repeats: wipe does not declare it, so the skill cannot"),
        ({"destructive": False}, "destructive: wipe declares it, so the skill must declare it too"),
        ({"internal": False}, "internal: wipe declares it, so the skill must declare it too"),
        ({"may_clarify": False}, "may_clarify: wipe declares it, so the skill must declare it too"),
    ],
)
def test_a_skill_declares_what_its_tools_do(flag: dict[str, bool], fault: str) -> None:
    wipe = ToolSpec(name="wipe", destructive=True, internal=True, may_clarify=True)
    steps = plan(tool_step("a", call("wipe"), call("nobody")))
    right = {"destructive": True, "internal": True, "may_clarify": True}
    assert declared(steps, wipe, **right) == ""
    assert declared(steps, wipe, **(right | flag)) == fault


def test_a_skill_of_tools_that_read_or_repeat_may_say_so() -> None:
    poll = spec("poll", repeats=True)
    beep = writing("beep", repeats=True)
    assert declared(plan(tool_step("a", call("poll"))), poll, read_only=True) == ""
    assert (
        declared(plan(tool_step("a", call("poll"), call("beep"))), poll, beep, repeats=True) == ""
    )


LETTER = ToolSpec(
    name="post",
    provenance={
        "letter.to": ("find.id",),
        "copies[].to": ("find.all[].id", "goal"),
        "tags": ("find.tags[]",),
    },
    targets=("whom", "letters[].at"),
)


@pytest.mark.parametrize(
    ("arguments", "marks"),
    [
        ({"letter": {"to": {"$from": "input.who"}}}, {"provenance": {"who": ("find.id",)}}),
        ({"letter": {"$from": "input.letter"}}, {"provenance": {"letter.to": ("find.id",)}}),
        ({"copies": [{"to": {"$from": "input.who"}}]}, {"provenance": {"who": ("find.all[].id",)}}),
        ({"copies": {"$from": "input.copies"}}, {"provenance": {"copies[].to": ("goal",)}}),
        ({"tags": [{"$from": "input.tag"}, "mine"]}, {"provenance": {"tag": ("find.tags[]",)}}),
        ({"whom": {"$from": "input.who"}}, {"targets": ("who",)}),
        ({"whom": [{"$from": "input.who"}]}, {"provenance": {"who": ("goal",)}}),
        ({"letters": {"$from": "input.letters"}}, {"targets": ("letters[].at",)}),
        ({"letters": [{"at": {"$from": "input.who"}}]}, {"targets": ("who",)}),
    ],
)
def test_c13_an_argument_of_a_skill_is_marked_as_what_it_becomes(
    arguments: dict[str, Any], marks: dict[str, Any]
) -> None:
    assert declared(posting(arguments), LETTER, **marks) == ""
    assert "becomes" in declared(posting(arguments), LETTER)
    closed = {one.name: one for one in tools(FIND, LETTER, skill("posts", posting(arguments)))}
    assert closed["posts"].internal


@pytest.mark.parametrize(
    ("arguments", "marks", "words"),
    [
        (
            {"copies": [{"to": {"$from": "input.who"}}]},
            {"provenance": {"who": ("find.all[].id", "find.name")}},
            "becomes copies[].to of post: give 'who' the same mark",
        ),
        (
            {"letter": {"to": {"$from": "input.who"}}},
            {"targets": ("who",)},
            "give 'who' the same mark",
        ),
        (
            {"whom": {"$from": "input.who"}},
            {"targets": ("words",)},
            "input.who becomes whom of post: give 'who' the same mark",
        ),
    ],
)
def test_c13_another_mark_is_not_enough(
    arguments: dict[str, Any], marks: dict[str, Any], words: str
) -> None:
    assert words in declared(posting(arguments), LETTER, **marks)


def test_c6_an_argument_that_becomes_two_things_needs_an_origin_that_both_take() -> None:
    """What was found as a person is not proved to be a page: held to the first origin only, it
    would pass as one.
    """
    publish = ToolSpec(name="publish", provenance={"page": ("pages.id",)})
    who = {"$from": "input.who"}
    both = plan(tool_step("a", call("send", to=who)), tool_step("b", call("publish", page=who)))
    assert "becomes page of publish" in declared(both, publish, provenance={"who": ("find.id",)})
    assert "becomes to of send" in declared(both, publish, provenance={"who": ("pages.id",)})


@pytest.mark.parametrize(
    "arguments",
    [
        {"letter": {"content": {"$from": "input.words"}}},
        {"letter": {"to": "u1"}, "whom": "ann@x.org"},
        {"letter": {"to": {"$from": "find.data.id"}}},
        {"letter": {"to": {"$from": "person.data.said"}}},
        {"tags": [{"$from": "find.data.tags[0]"}]},
        {"whom": {"$from": "find.data.mail"}},
    ],
)
def test_c6_what_the_author_wrote_and_what_an_origin_gives_needs_no_mark(
    arguments: dict[str, Any],
) -> None:
    assert declared(posting(arguments), LETTER) == ""


MAIL = spec("mail", foreign=("mails[].sender",))
READS = tool_step("a", call("mail"))


@pytest.mark.parametrize("foreign", [("mails[].sender",), ("",)])
def test_c13_a_skill_says_that_strangers_write_what_its_tools_say_they_write(
    foreign: tuple[str, ...],
) -> None:
    assert declared(plan(READS), MAIL, foreign=foreign) == ""
    assert (
        declared(plan(READS), MAIL) == "foreign: mail declares it, so the skill must declare it too"
    )


def test_c13_what_strangers_write_feeds_no_marked_place() -> None:
    post = ToolSpec(name="post", targets=("to",), provenance={"id": ("mail.mails[].sender",)})
    sender = {"$from": "a.data.mails[0].sender"}
    to = plan(READS, tool_step("b", call("post", to=sender)))
    assert "becomes to of post, which strangers write" in declared(to, MAIL, post, foreign=("",))
    own = plan(READS, tool_step("b", call("post", id=sender)))
    assert "becomes id of post, which strangers write" in declared(own, MAIL, post, foreign=("",))


def posting(arguments: dict[str, Any]) -> Plan:
    return plan(
        tool_step("find", call("find", query={"$from": "input.who"})),
        tool_step("mixed", call("find", query="a"), call("echo", words={"$from": "input.who"})),
        tool_step("echo", call("echo", words={"$from": "input.who"})),
        tool_step("person", call("askHuman", question="Who?")),
        tool_step(
            "post",
            ProposedCall(tool="post", arguments=arguments),
            after=("find", "mixed", "echo", "person"),
        ),
    )


# ---- a call and its chain
# -------------------------------------------------------------------------------------------


def test_a_call_of_a_skill_begins_a_chain_and_its_end_is_the_receipt() -> None:
    task = msgspec.structs.replace(
        literal_task(1, "tell", who="John", words="late"),
        tenant="t",
        user="u",
        context={"a": 1},
        conversation_id="k",
    )
    story = submitted(task, *TOOLS)
    order = started(story)
    assert (order.action.child, order.deadline) == ("c~s1-1", story.chain.deadline)
    assert (order.task.tenant, order.task.user, order.task.context) == ("t", "u", {"a": 1})
    assert order.task.conversation_id == "k"
    assert story.dispatches == []
    assert story.told("action.dispatched") == [
        {"step_id": "s1", "action_id": "c.s1.1", "tool": "tell", "child": "c~s1-1"}
    ]
    child = below(story)
    assert child.action.id == "c~s1-1.find.1"
    child.result(asks("john"))
    child.pick("john")
    assert child.action.arguments == '{"to":"john","content":"late","tags":["late"]}'
    child.returns('{"message_id":"m1"}')
    assert child.final_facts == ["chain.completed"]
    tell_parent(story, child)
    assert story.final_facts == ["chain.completed"]
    assert story.final_answer == '{"message_id":"m1"}'


@pytest.mark.parametrize("kind", [ErrorType.NOT_FOUND, ErrorType.PERMISSION])
def test_a_childs_fault_is_its_tools_fault(kind: ErrorType) -> None:
    story = calling()
    child = below(story)
    fault = ErrorInfo(kind, "nobody", no_effect=True)
    child.result(msgspec.structs.replace(failed(), error=fault))
    (said,) = child.sends(Report)
    error = said.outcome.error
    assert (error.error_type, error.message, error.recoverable) == (
        kind,
        "nobody",
        kind is ErrorType.NOT_FOUND,
    )
    assert error.no_effect is None, "the call before it may have had one"
    assert said.outcome.metadata.action_id == "c.s1.1", "nobody typed it (C6)"
    tell_parent(story, child)
    assert story.final_facts == ["chain.failed"]


def test_a_child_that_fails_of_itself_is_a_fault_that_cannot_be_recovered_from() -> None:
    story = calling()
    child = below(story)
    child.due(at=story.chain.deadline)
    (said,) = child.sends(Report)
    assert (said.outcome.error.error_type, said.outcome.error.recoverable) == (
        ErrorType.SERVER,
        False,
    )


def test_a_skill_whose_tools_are_not_there_fails_with_all_faults() -> None:
    story = submitted(literal_task(1, "tell", who="John"), *tools(FIND, skill()))
    child = below(story)
    (said,) = child.sends(Report)
    assert "no tool is called 'send'" in said.outcome.error.message


def test_c1_an_optional_call_of_a_skill_may_fail_as_one_of_a_plan_may() -> None:
    some = ProposedCall(tool="find", arguments={"query": WHO}, optional=True, expected="an id")
    steps = plan(Step(id="a", actions=(some, call("send", to=WHO))))
    [filled, _] = fill(steps, {"who": "John"}).steps[0].actions
    assert filled == msgspec.structs.replace(some, arguments={"query": "John"})


def test_a_person_who_stops_the_child_denies_the_call() -> None:
    story = calling()
    child = below(story)
    child.result(asks("john"))
    child.answer(RequestKind.CLARIFICATION, Choice.ABORT)
    (said,) = child.sends(Report)
    assert said.outcome.error.error_type is ErrorType.DENIED
    assert (said.outcome.error.suggestion, said.outcome.instruction_for_ai) == (
        None,
        "Do not retry this call.",
    )
    tell_parent(story, child)
    assert story.final_facts == ["chain.failed"]


def test_c6_the_end_of_a_skill_is_no_answer_of_a_person() -> None:
    look = skill("look", plan(tool_step("find", call("find", query=WHO))), read_only=True)
    story = submitted(open_task("tell John"), *tools(FIND, SEND, look))
    story.calls("nonsense")
    story.calls("look", who="John")
    child = below(story)
    child.returns("{}")
    tell_parent(story, child)
    assert story.chain.people.corrected


@pytest.mark.parametrize("end", ["cancel", "deadline", "lost"])
def test_r1_whatever_ends_the_parent_cancels_the_child_once(end: str) -> None:
    story = calling()
    child = below(story)
    if end == "cancel":
        story.cancel("never mind")
    elif end == "deadline":
        story.due(at=story.chain.deadline)
    else:
        story.lose("c.s1.1/child/done")
    (order,) = story.sends(CancelChild)
    assert order.chain_id == "c~s1-1"
    assert len(story.final_facts) == int(end != "cancel"), (
        "one that is cancelled waits for the child"
    )
    child.cancel(order.reason)
    assert child.final_facts == ["chain.cancelled"]
    tell_parent(story, child)
    assert story.final_facts == ["chain.cancelled" if end == "cancel" else "chain.failed"]
    assert story.sends(CancelChild) == []


def test_skills_that_call_themselves_end_three_levels_down() -> None:
    again = skill("again", plan(tool_step("a", call("again", who={"$from": "input.who"}))))
    story = submitted(literal_task(1, "again", who="x"), *tools(again))
    stories = [story]
    while stories[-1].sends(StartChild):
        stories.append(below(stories[-1]))
    assert levels_of(stories[-1].chain.id) == 3
    for parent, child in zip(reversed(stories[:-1]), reversed(stories), strict=False):
        tell_parent(parent, child)
    assert "more than 3 deep" in story.error.message


def test_i1_the_actions_of_a_skill_count_against_the_parents_budget_when_it_has_ended() -> None:
    task = msgspec.structs.replace(literal_task(2, "tell", who="John"), budget=Budget(actions=3))
    story = submitted(task, *TOOLS)
    child = below(story)
    child.returns('{"id": "u1"}')
    child.result()
    tell_parent(story, child)
    assert story.error.code == "HP-208"


LOOSE = skill(
    "loose",
    plan(tool_step("a", call("find", query={"$from": "input.x"}))),
    parameters={"properties": {"x": {}}},
)


def test_arguments_from_results_cannot_become_references() -> None:
    steps = plan(
        tool_step("a", call("find")),
        tool_step("b", call("loose", x={"$from": "a.data.x"}), after=("a",)),
    )
    story = submitted(Task(plan=steps), *tools(FIND, LOOSE))
    story.returns(json.dumps({"x": {"$from": "find.data.secret"}}))
    assert story.error.code == "HP-206"
    assert story.sends(StartChild) == []


# ---- hooks
# --------------------------------------------------------------------------------------------------


def hooked() -> Story:
    return submitted(
        literal_task(1, "tell", who="John", words="late"),
        *tools(FIND, SEND, skill(hooks=("rules:quiet",))),
    )


def test_h1_a_skill_with_hooks_goes_to_a_worker_first_and_begins_with_what_they_left() -> None:
    story = hooked()
    assert story.sends(StartChild) == []
    assert (story.action.tool, story.action.child, story.order.spec.repeatable) == (
        "tell",
        "",
        True,
    )
    passed = story.returns('{"arguments":{"who":"John","words":"later"}}')
    order = started(story)
    assert (order.again, order.action.child) == (True, "c~s1-1")
    assert order.task.plan is not None
    assert order.task.plan.steps[1].actions[0].arguments["content"] == "later"
    assert story.told("action.completed") == [], "nothing has come of it yet"
    assert story.returns('{"arguments":{"who":"John"}}') == Decision(story.chain), (
        "the worker said so before"
    )
    child = below_of(story, passed)
    child.returns('{"id":"john"}')
    child.result()
    tell_parent(story, child)
    assert story.final_facts == ["chain.completed"]


def test_c14_a_skill_counts_as_it_was_proposed_and_as_its_hooks_let_it_run() -> None:
    plain = skill(hooks=("rules:quiet",))
    story = Story(open_task("tell John"), *tools(FIND, SEND, plain))
    story.submit()
    story.propose(call("tell", who="John", words="late"))
    story.result(data='{"arguments":{"who":"John","words":"later"}}')
    assert [entry.became for entry in story.chain.ledger.values()] == [Became.IN_DOUBT] * 2
    child = below_of(story, story.last)
    child.result(data='{"id":"john"}')
    child.result()
    tell_parent(story, child)
    told = [entry.became for entry in story.chain.ledger.values() if entry.tool == "tell"]
    assert sorted(told) == [Became.DONE, Became.DONE]


def test_h2_a_hook_that_asks_is_asked_again_with_the_approval() -> None:
    story = hooked()
    story.result(confirms("tell", digest="d"))
    story.approve()
    assert (story.order.approval, story.action.attempt) == (
        Approval(digest="d", by="ann"),
        2,
    )
    passed = story.returns('{"arguments":{"who":"John"}}')
    child = below_of(story, passed)
    child.cancel()
    tell_parent(story, child)
    assert story.final_facts == ["chain.failed"]


def test_what_hooks_leave_cannot_become_references() -> None:
    loose = replace(LOOSE, hooks=("rules:quiet",))
    story = submitted(literal_task(1, "loose", x="John"), *tools(FIND, loose))
    story.returns(json.dumps({"arguments": {"x": {"$from": "a.data.secret"}}}))

    assert story.error.code == "HP-204"
    assert story.sends(StartChild) == []


def test_c6_a_call_of_a_skill_whose_steps_are_too_large_is_refused() -> None:
    note = spec("note")
    large = skill(steps=plan(tool_step("a", *[call("note", to=WHO)] * 10)), read_only=True)
    story = asked("tell", note, large)
    story.calls("tell", who="x" * 60_000)
    assert "its steps with these arguments have more than" in story.correction


# ---- a model that calls skills
# --------------------------------------------------------------------------------------


def asked(skill: str, *specs: ToolSpec) -> Story:
    """A step that owes a call of this skill."""
    story = submitted(Task(goal="tell John"), *tools(*specs))
    story.plans(Step(id="do", required_tools=(skill,)))
    return story


def test_c6_a_model_cannot_hand_a_made_up_id_to_a_tool_by_way_of_a_skill() -> None:
    steps = plan(tool_step("a", call("send", to=WHO)))
    passes = skill("passes", steps, provenance={"who": ("find.id",)})
    story = asked("passes", FIND, SEND, passes)
    story.calls("passes", who="john")
    assert story.sends(StartChild) == []
    assert story.violations[-1] == "no_provenance"
    story.calls("find", query="John")
    story.returns('{"id":"john"}')
    story.calls("passes", who="john")
    assert started(story).task.plan is not None


def test_c6_a_model_cannot_write_references_into_a_skill() -> None:
    story = asked("loose", FIND, LOOSE)
    story.calls("loose", x={"$from": "a.data.secret"})
    assert story.sends(StartChild) == []
    assert story.violations[-1] == "bad_arguments"


# ---- what a skill has receipts of (F1)
# ------------------------------------------------------------------------------


def test_c3_a_call_of_a_skill_that_never_ran_keeps_no_promise() -> None:
    """It has one step, of which no tool is required: it ends when a tool says `complete`."""
    steps = plan(Step(id="do", actions=(call("find", query=WHO), call("send", to=WHO))))
    handle = skill("handle", steps, provenance={"who": ("find.id",)})
    asks_to_send = Policy(patterns=(Pattern(id="send", pattern="send", tools=("send",)),))
    task = open_task("send it to john", context={"who": "john"})
    story = submitted(task, *tools(FIND, SEND, handle), policy=asks_to_send)
    story.calls("handle", who="john")
    child = below(story)
    child.result(COMPLETE)
    tell_parent(story, child)
    story.writes("Done.")

    assert story.violations == ["no_call"]


# ---- any order
# --------------------------------------------------------------------------------------------------

_EVENTS = st.sampled_from(
    [
        "child ok",
        "child fails",
        "child asks",
        "answer",
        "cancel parent",
        "cancel child",
        "due",
        "again",
    ]
)


@given(st.lists(_EVENTS, max_size=14))
def test_r1_parent_and_child_each_end_once_whatever_happens_in_between(
    happenings: list[str],
) -> None:
    """Both in one partition, messages in any order and twice: nothing is left waiting for an end
    that has been.
    """
    story = calling()
    child = below(story)
    mail: list[tuple[Story, Any]] = []

    def post(decision: Decision) -> None:
        for one in decision.outputs:
            if isinstance(one, Report) and not story.chain.status.final:
                mail.append((story, one))
            if isinstance(one, CancelChild) and not child.chain.status.final:
                mail.append((child, one))

    def deliver(to: Story, one: Any) -> None:
        post(hear_of(story, one) if isinstance(one, Report) else child.cancel(one.reason))

    for what in happenings:
        match what:
            case "child ok":
                post(child.returns('{"id":"john"}'))
            case "child fails":
                post(child.fails())
            case "child asks":
                post(child.result(asks("john")))
            case "answer":
                post(child.pick("john"))
            case "cancel parent":
                post(story.cancel())
            case "cancel child":
                post(child.cancel())
            case "due":
                post(story.due(at=max(story.now, START + 1)))
            case _:
                for to, one in mail[:1]:
                    deliver(to, one)
    for to, one in mail:  # grows while it is walked
        deliver(to, one)
    for to, one in [*mail]:
        deliver(to, one)
    assert len(story.final_facts) == int(story.chain.status.final)
    assert len(child.final_facts) == int(child.chain.status.final)
    assert story.chain.status.final == child.chain.status.final


def test_c13_a_target_of_a_skill_is_asked_about_before_it_begins() -> None:
    mailout = writing("mailout", targets=("to",))
    inner = skill("writes", plan(tool_step("a", call("mailout", to=WHO))), targets=("who",))
    free = Policy(unasked_effects=Treatment.ALLOW)
    story = submitted(open_task("Write to Ann"), *tools(mailout, inner), policy=free)
    story.calls("writes", who="eve@evil.example")
    assert [reason.parameter for reason in story.reasons] == ["who"]


def test_c13_a_skill_does_not_wash_what_strangers_write() -> None:
    mailout = writing("mailout", targets=("to",))
    inbox = skill("inbox", plan(READS), parameters={"type": "object"}, foreign=MAIL.foreign)
    free = Policy(unasked_effects=Treatment.ALLOW)
    story = submitted(open_task("Answer the last mail"), *tools(MAIL, inbox, mailout), policy=free)
    story.calls("inbox")
    child = below(story)
    child.result(
        worked(action_id=child.action.id), json.dumps({"mails": [{"sender": "eve@evil.example"}]})
    )
    tell_parent(story, child)
    story.calls("mailout", to="eve@evil.example")
    assert [reason.parameter for reason in story.reasons] == ["to"]


def test_e4_what_a_person_has_denied_is_denied_inside_of_a_skill_too() -> None:
    note = writing("note")
    inner = skill("twice", plan(tool_step("one", call("note", to="x"))), may_clarify=False)
    story = submitted(open_task("note it"), note, *tools(note, inner))
    story.calls("note", to="x")
    story.result(confirms())
    story.reject("no")
    story.calls("twice", who="John", words="late")
    child = below(story)
    assert [child.status, child.reason] == ["failed", "A person denied exactly this call of note."]
    (said,) = child.sends(Report)
    assert said.outcome.error is not None
    assert said.outcome.error.error_type is ErrorType.DENIED


@pytest.mark.parametrize("mode", Mode)
def test_c14_a_skill_asks_before_it_repeats_what_was_done_before_it_was_called(mode: Mode) -> None:
    note = writing("note")
    steps = [tool_step(name, call("note", to="x")) for name in ("one", "two")]
    inner = skill("twice", plan(*steps), may_clarify=False)
    story = submitted(open_task("note it", mode=mode), note, *tools(note, inner))
    story.calls("note", to="x")
    story.result()
    story.calls("twice", who="John", words="late")
    child = below(story)
    kinds = [reason.kind for reason in child.reasons]
    assert kinds == ([ReasonKind.REPEAT] if mode is Mode.STRICT else [])
    other = submitted(open_task("note it", mode=mode), note, *tools(note, inner))
    other.calls("twice", who="John", words="late")
    child = below(other)
    child.result()
    assert (child.action.number, child.action.step, child.reasons) == (1, 1, ()), (
        "its author says so"
    )
