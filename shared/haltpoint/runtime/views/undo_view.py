"""What a person's undo of a chain does: a record in, lists and a literal task out (CONTRACT E7).
Pure.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from operator import attrgetter
from typing import Final

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.answers import Deed, FinalAnswer, NotDone, WhyNot
from haltpoint.contracts.base import MAX_STEPS, undo_id, value
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import UNDO
from haltpoint.contracts.views.chains import ChainView
from haltpoint.contracts.views.steps import ActionView
from haltpoint.contracts.views.undoing import LeftView, UndoView, WhyLeft
from haltpoint.contracts.work.plans import OnFailure, Plan, ProposedCall, Step
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.views.chain_view import view_of
from haltpoint.runtime.views.record import ChainRecord

_PASSED_ON: Final = ("context", "private", "tenant", "user")


class _Fate(StrEnum):
    """What undos have made of a deed: nothing that counts, they have undone it, or it is unknown
    whether they have.
    """

    OPEN = "open"
    UNDONE = "undone"
    IN_DOUBT = "in_doubt"
    STAYS = "stays"
    """Its tool declares no undo."""


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
    before = [view_of(undo) for undo in earlier]
    view = _lists(view_of(record), _fates(before), tools)
    if before and not ChainStatus(before[-1].status).final:
        return Undoing(view.model_copy(update={"chain_id": before[-1].id}))
    if not view.undoes:
        return Undoing(view)
    number = len(before) + 1
    view = view.model_copy(update={"chain_id": undo_id(record.id, number)})
    return Undoing(view, _task(record, view.undoes))


def _lists(chain: ChainView, fates: Mapping[str, _Fate], tools: Collection[str]) -> UndoView:
    """What is open, what is undone and what stays of a chain, the last deed first."""
    answer = chain.answer or FinalAnswer()
    deeds: defaultdict[_Fate, list[Deed]] = defaultdict(list)
    for deed in sorted(answer.deeds, key=attrgetter("at"))[::-1]:
        fate = fates.get(deed.action_id, _Fate.OPEN)
        if fate is _Fate.OPEN and f"{deed.tool}{UNDO}" not in tools:
            fate = _Fate.STAYS
        deeds[fate].append(deed)
    doubtful = [call for call in answer.not_done if call.why is WhyNot.IN_DOUBT]
    return UndoView(
        chain_id=None,
        undoes=tuple(deeds[_Fate.OPEN][:MAX_STEPS]),
        undone=tuple(deeds[_Fate.UNDONE]),
        left=(
            *_left(deeds[_Fate.STAYS], WhyLeft.NO_UNDO),
            *_left(deeds[_Fate.IN_DOUBT], WhyLeft.IN_DOUBT),
            *_left(doubtful, WhyLeft.IN_DOUBT),
        ),
    )


def _left(calls: Sequence[Deed | NotDone], why: WhyLeft) -> list[LeftView]:
    return [
        LeftView(action_id=call.action_id, tool=call.tool, says=call.says, why=why)
        for call in calls
    ]


def _fates(before: Sequence[ChainView]) -> dict[str, _Fate]:
    """What the last undo of each deed has made of it, by the deed's id."""
    fates: dict[str, _Fate] = {}
    for undo in before:
        for step in undo.steps:
            for action in step.actions:
                deed = str(action.arguments["action_id"])
                fates[deed] = _fate(action, undo)
    return fates


def _fate(action: ActionView, undo: ChainView) -> _Fate:
    """What this action of an undo has made of its deed. One that failed may be tried again. One
    without a receipt runs, or is in doubt when its chain is over.
    """
    receipt = action.receipt
    if receipt is None:
        return _Fate.IN_DOUBT if ChainStatus(undo.status).final else _Fate.OPEN
    if receipt.satisfies:
        return _Fate.UNDONE
    if receipt.error is not None and receipt.error.error_type is ErrorType.IN_DOUBT:
        return _Fate.IN_DOUBT
    return _Fate.OPEN


def _task(record: ChainRecord, deeds: Sequence[Deed]) -> Task:
    """The literal task that undoes these deeds in their order, for the same tenant and user."""
    steps = [_step(number, deed) for number, deed in enumerate(deeds, start=1)]
    passed_on = {name: getattr(record.task, name) for name in _PASSED_ON}
    return Task(goal=f"Undo {record.id}", plan=Plan(steps=tuple(steps)), **passed_on)


def _step(number: int, deed: Deed) -> Step:
    """The step that undoes a deed. One that fails stops no other."""
    tool = f"{deed.tool}{UNDO}"
    call = ProposedCall(tool=tool, arguments={"action_id": deed.action_id})
    return Step(
        id=f"u{number}", required_tools=(tool,), actions=(call,), on_failure=OnFailure.CONTINUE
    )
