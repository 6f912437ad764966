"""Three proposals in all (D2, D3): however good and bad ones follow each other, a person is asked at the limit."""

from hypothesis import given, settings
from hypothesis import strategies as st

from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.statuses import ChainStatus, StepStatus
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.work.plans import Step
from haltpoint.contracts.work.tasks import Mode, Task
from tests.support.builders import call, failed, plan, spec
from tests.unit.chain.story import Story

TO = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
TOOLS = (spec("look"), spec("first"), spec("second"), spec("send", read_only=False, parameters=TO))
BAD = {
    "words": ((), "It is done."),
    "unknown": ((call("nope"),), ""),
    "arguments": ((call("send"),), ""),
    "not allowed": ((call("send", to="x"),), ""),
    "many": ((call("nope"), call("send"), call("neither")), "I've sent the message."),
}
MOVES = st.lists(st.sampled_from([*BAD, "look", "first", "second", "look in vain"]), max_size=40)


@settings(max_examples=150, deadline=None)
@given(moves=MOVES, limit=st.integers(1, 4))
def test_d2_d3_an_escalation_comes_exactly_at_the_limit(moves: list[str], limit: int) -> None:
    """The machine counts as a child would: a row for the chain, a row for the step, and what ends each."""
    policy = Policy(strikes=limit, max_turns=99, max_chain_turns=999)
    told = Story(Task(goal="go"), *TOOLS, policy=policy)
    told.submit()
    told.draft(plan(Step(id="both", required_tools=("first", "second"))))
    of_chain = of_step = 0
    got: set[str] = set()
    for number, move in enumerate(moves):
        due = False
        if move in BAD:
            calls, words = BAD[move]
            told.propose(*calls, content=words)
            of_chain, of_step, due = of_chain + 1, of_step + 1, True
        elif move == "look in vain":
            told.propose(call("look", number=number))
            told.result(failed(ErrorType.NOT_FOUND))
        else:
            told.propose(call(move, number=number))
            told.result()
            got |= {move} & {"first", "second"}
            of_chain, of_step = 0, 0 if move != "look" else of_step
        if got == {"first", "second"}:
            assert told.status_of("both") is StepStatus.COMPLETED
            return
        assert (told.chain.row.count, told.chain.runs[0].strikes) == (of_chain, of_step)
        over = due and max(of_chain, of_step) >= limit
        assert (told.chain.status is ChainStatus.ESCALATED) == over
        if over:
            assert told.told("chain.escalated")[-1]["strikes"] == of_chain
            told.answer(RequestKind.ESCALATION, Choice.RETRY)
            of_chain = of_step = 0
    assert told.status_of("both") is StepStatus.IN_PROGRESS
    assert told.told("action.never_executed") == []


@settings(max_examples=50, deadline=None)
@given(answers=st.lists(st.booleans(), max_size=8), mode=st.sampled_from(Mode))
def test_d2_an_answer_that_calls_is_not_asked_for_without_end_and_never_empty(answers: list[bool], mode: Mode) -> None:
    """`answers`: whether each one calls a tool instead of answering."""
    told = Story(Task(goal="go", mode=mode), *TOOLS)
    told.submit()
    told.draft(plan(Step(id="think")))
    told.propose(content="fine")
    row = 0
    for calls in [*answers, False]:
        if told.chain.status is not ChainStatus.EXECUTING:
            break
        told.say("", "send") if calls else told.say("All is well.")
        row += calls
        assert told.chain.status.final == (not calls or row >= 3 or mode is not Mode.STRICT)
    assert told.chain.end.answer
