"""Whatever a model proposes, in any order and spelling: an effect is had once, and again only by a yes (C14, E4)."""

from collections import Counter

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.results import Confirmation, ErrorType, Metadata, NextAction, Outcome, Target
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.tasks import Style, Task
from tests.support.builders import OK, failed, spec
from tests.unit.chain.story import Story

AMOUNT = {"type": "object", "properties": {"to": {"type": "string"}, "eur": {"type": "number", "default": 5}}}
PAY = ToolSpec(name="pay", parameters=AMOUNT)
PUT = ToolSpec(name="put", parameters=AMOUNT, idempotent=True)
LOOK = spec("look", parameters=AMOUNT)
SPELLINGS = ({"to": "ann"}, {"to": " ann"}, {"eur": 5, "to": "ann"}, {"to": "ann\n", "eur": 5.0})
OTHER = ({"to": "bob"}, {"to": "ann", "eur": 6})
proposals = st.tuples(st.sampled_from(("pay", "put", "look")), st.sampled_from((*SPELLINGS, *OTHER)))
answers = st.sampled_from(("ok", "ok", "fails", "asks"))


def meant(call: tuple[str, dict[str, object]]) -> tuple[str, str]:
    tool, arguments = call
    return tool, f"{str(arguments['to']).strip()} {float(str(arguments.get('eur', 5)))}"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(proposals, answers, st.booleans()), max_size=25), st.integers(1, 20_000))
def test_c14_nothing_is_had_twice_without_a_yes_and_nothing_denied_is_had_at_all(
    moves: list[tuple[tuple[str, dict[str, object]], str, bool]], pause: int
) -> None:
    task = Task(goal="pay ann or bob", style=Style.REACT)
    told = Story(task, PAY, PUT, LOOK, policy=Policy(max_turns=99, strikes=99))
    told.submit()
    had, allowed, denied = Counter[tuple[str, str]](), Counter[tuple[str, str]](), set[tuple[str, str]]()
    latest: tuple[str, str] | None = None  # the last effect that was sent
    for made, answer, yes in moves:
        told.now += pause
        before, known = len(told.dispatches), set(told.chain.actions)
        told.propose(ProposedCall(tool=made[0], arguments=dict(made[1])))
        what = meant(made)
        if len(told.dispatches) == before:  # refused, or answered by an earlier receipt that is still true
            given_back = told.chain.actions.keys() - known
            assert not given_back or what[0] == "look" or latest == what
            continue
        assert what not in denied
        reasons = told.dispatches[-1].reasons
        assert bool(reasons) == (made[0] != "look" and had[what] > 0)
        latest = latest if made[0] == "look" else what
        if reasons or answer == "asks":
            sure = Confirmation(action=made[0], target=Target(id="x"), message="?", digest="d", reasons=reasons)
            told.result(Outcome(success=True, next_action=NextAction.CONFIRMATION_NEEDED, confirmation=sure))
            told.answer(RequestKind.CONFIRMATION, Choice.APPROVE if yes else Choice.REJECT)
            if not yes:
                denied.add(what)
                continue
            allowed[what] += 1
        if answer == "fails":
            told.result(failed(ErrorType.NOT_FOUND))
        else:
            told.result(msgspec.structs.replace(OK, metadata=Metadata(action_id=told.action.id, started_at=told.now)))
            had[what] += made[0] != "look"
    assert all(times <= 1 + allowed[what] for what, times in had.items())
    assert told.chain.status in (ChainStatus.EXECUTING, ChainStatus.ESCALATED)
