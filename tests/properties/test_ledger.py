"""Whatever a model proposes, in any order and spelling: an effect is had once, and again only by a
yes (C14, E4).
"""

from collections import Counter

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.results import (
    ErrorType,
    Metadata,
)
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import ProposedCall
from tests.support.builders import OK, open_task, spec
from tests.unit.chain.story import submitted
from tests.unit.chain.test_ledger import AMOUNT, PAY, SURE

PUT = ToolSpec(name="put", parameters=AMOUNT, idempotent=True)
LOOK = spec("look", parameters=AMOUNT)
SPELLINGS = ({"to": "ann"}, {"eur": 5, "to": "ann"}, {"to": "ann", "eur": 5.0})
OTHER = ({"to": "bob"}, {"to": "ann", "eur": 6})
proposals = st.tuples(
    st.sampled_from(("pay", "put", "look")), st.sampled_from((*SPELLINGS, *OTHER))
)
answers = st.sampled_from(("ok", "ok", "fails", "asks"))


def meant(call: tuple[str, dict[str, object]]) -> tuple[str, str]:
    tool, arguments = call
    return tool, f"{str(arguments['to']).strip()} {float(str(arguments.get('eur', 5)))}"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(proposals, answers, st.booleans()), max_size=25), st.integers(1, 20_000))
def test_c14_nothing_is_done_twice_without_a_yes_and_nothing_that_was_denied_at_all(
    moves: list[tuple[tuple[str, dict[str, object]], str, bool]], pause: int
) -> None:
    task = open_task("pay ann or bob")
    story = submitted(task, PAY, PUT, LOOK, policy=Policy(max_turns=99, strikes=99))
    failures = Counter[tuple[str, str]]()
    corrected = False  # since a person last answered
    done, allowed, denied = (
        Counter[tuple[str, str]](),
        Counter[tuple[str, str]](),
        set[tuple[str, str]](),
    )
    for (tool, arguments), answer, yes in moves:
        story.now += pause
        sent = len(story.dispatches)
        story.propose(ProposedCall(tool=tool, arguments=dict(arguments)))
        what = meant((tool, arguments))
        if len(story.dispatches) == sent:
            refusals = sum(name == tool for name, _ in denied)
            stuck = failures[what] > 1
            assert what in denied or refusals > 1 or stuck or tool == "look"
            corrected = corrected or bool(story.thought.corrections)
            continue
        assert what not in denied
        asked = story.reasons
        said_no = any(name == tool for name, _ in denied)
        pressed = bool(denied) and corrected
        assert bool(asked) == (tool != "look" and (done[what] > 0 or said_no or pressed))
        if asked or answer == "asks":
            story.result(SURE)
            story.answer(RequestKind.CONFIRMATION, Choice.APPROVE if yes else Choice.REJECT)
            corrected = False
            if not yes:
                denied.add(what)
                continue
            allowed[what] += 1
        if answer == "fails":
            story.fails(ErrorType.NOT_FOUND, f"not found {len(story.dispatches)}")
            failures[what] += 1
        else:
            metadata = Metadata(action_id=story.action.id, started_at=story.now)
            receipt = f'{{"number": {len(story.dispatches)}}}'
            story.result(msgspec.structs.replace(OK, metadata=metadata), receipt)
            done[what] += tool != "look"
    assert all(times <= 1 + allowed[what] for what, times in done.items())
    assert story.chain.status in (ChainStatus.EXECUTING, ChainStatus.ESCALATED)
