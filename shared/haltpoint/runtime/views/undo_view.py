"""What a person's undo of a chain does: a record in, lists and a literal task out (CONTRACT E7).
Pure.
"""

from collections.abc import Collection, Sequence
from operator import attrgetter
from textwrap import shorten
from typing import Final

from msgspec import json

from haltpoint.contracts.answers import Deed, NotDone, WhyNot
from haltpoint.contracts.base import MAX_STEPS, undo_id, value
from haltpoint.contracts.results import ErrorType, Outcome
from haltpoint.contracts.tools import UNDO
from haltpoint.contracts.views.undoing import LeftView, UndoView, WhyLeft
from haltpoint.contracts.work.plans import OnFailure, Plan, ProposedCall, Step
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.views.chain_view import answer_of
from haltpoint.runtime.views.record import ChainRecord

_LONGEST: Final = 200
"""Characters of its goal."""
_PASSED_ON: Final = ("context", "private", "tenant", "user")


@value
class Undoing:
    """`task` undoes, as the chain `view.chain_id`. None: such a chain runs already, or there is
    nothing to undo.
    """

    view: UndoView
    task: Task | None = None


def undoing(record: ChainRecord, earlier: Sequence[ChainRecord], tools: Collection[str]) -> Undoing:
    """What undoing a chain does, after the chains that have undone it before. `tools` are those
    that are served.
    """
    ended = [undo for undo in earlier if undo.status.final]
    chain_id = undo_id(record.id, len(ended) + 1)
    view = _lists(record, ended, tools, chain_id)
    if view.chain_id is None or len(ended) < len(earlier):
        return Undoing(view)
    return Undoing(view, _task(record, view.undoes))


def _lists(
    record: ChainRecord, earlier: Sequence[ChainRecord], tools: Collection[str], chain_id: str
) -> UndoView:
    """What is open, what is undone and what stays of a chain, the last deed first."""
    answer = answer_of(record)
    tried: dict[str, ErrorType | None] = {}
    for undo in earlier:
        tried |= _tried(undo)
    undoes: list[Deed] = []
    undone: list[Deed] = []
    left: list[LeftView] = []
    for deed in sorted(answer.deeds, key=attrgetter("at"))[::-1]:
        error = tried.get(deed.action_id, ErrorType.NOT_FOUND)
        if error is None:
            undone.append(deed)
        elif error is ErrorType.IN_DOUBT:
            left.append(_left(deed, WhyLeft.IN_DOUBT))
        elif f"{deed.tool}{UNDO}" in tools:
            undoes.append(deed)
        else:
            left.append(_left(deed, WhyLeft.NO_UNDO))
    left += [
        _left(call, WhyLeft.IN_DOUBT) for call in answer.not_done if call.why is WhyNot.IN_DOUBT
    ]
    return UndoView(
        chain_id=chain_id if undoes else None,
        undoes=tuple(undoes[:MAX_STEPS]),
        undone=tuple(undone),
        left=tuple(left),
    )


def _tried(undo: ChainRecord) -> dict[str, ErrorType | None]:
    """How the calls of an undo that is over have failed, by the deed's id; None: they have not. One
    without a receipt is in doubt.
    """
    errors: dict[str, ErrorType | None] = {}
    for call in undo.actions.values():
        error: ErrorType | None = ErrorType.IN_DOUBT
        if call.counts is not None:
            fault = json.decode(call.counts.outcome, type=Outcome).error
            error = fault.error_type if fault else None
        arguments = json.decode(call.arguments)
        errors[arguments["action_id"]] = error
    return errors


def _left(call: Deed | NotDone, why: WhyLeft) -> LeftView:
    return LeftView(action_id=call.action_id, tool=call.tool, says=call.says, why=why)


def _task(record: ChainRecord, deeds: Sequence[Deed]) -> Task:
    """The literal task that undoes these deeds in their order, for the same tenant and user."""
    steps = [_step(number, deed) for number, deed in enumerate(deeds, start=1)]
    passed_on = {name: getattr(record.task, name) for name in _PASSED_ON}
    words = "; ".join(deed.says for deed in deeds)
    goal = shorten(f"Undo: {words}", _LONGEST, placeholder=" …")
    return Task(goal=goal, plan=Plan(steps=tuple(steps)), **passed_on)


def _step(number: int, deed: Deed) -> Step:
    """The step that undoes a deed. One that fails stops no other."""
    tool = f"{deed.tool}{UNDO}"
    call = ProposedCall(tool=tool, arguments={"action_id": deed.action_id, "says": deed.says})
    return Step(
        id=f"undo-{number}",
        description=f"Undo: {deed.says}",
        required_tools=(tool,),
        actions=(call,),
        on_failure=OnFailure.CONTINUE,
    )
