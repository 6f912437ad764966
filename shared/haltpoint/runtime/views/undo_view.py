"""What a person's undo of a chain does: a record in, lists and a literal task out (CONTRACT E7). Pure."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import Final

from msgspec.structs import replace

from haltpoint.contracts.answers import Deed, FinalAnswer, NotDone, WhyNot
from haltpoint.contracts.base import MAX_STEPS, undo_id
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import UNDO
from haltpoint.contracts.views.chains import ChainView
from haltpoint.contracts.views.steps import ActionView
from haltpoint.contracts.views.undoing import LeftView, UndoView, WhyLeft
from haltpoint.contracts.work.plans import OnFailure, Plan, ProposedCall, Step
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.views.chain_view import view_of
from haltpoint.runtime.views.record import ChainRecord

_FINAL: Final = ("completed", "failed", "cancelled")
_PASSED_ON: Final = ("context", "private", "tenant", "user")


class _Fate(StrEnum):
    """What has become of a deed: it can be undone, it was, it is unknown whether it was, or it cannot be."""

    OPEN = "open"
    UNDONE = "undone"
    IN_DOUBT = "in_doubt"
    NO_UNDO = "no_undo"


@dataclass(frozen=True, slots=True)
class Undoing:
    """`task` undoes, as the chain `view.chain_id`. None: such a chain runs already, or there is nothing to undo."""

    view: UndoView
    task: Task | None


def undoing(record: ChainRecord, earlier: Sequence[ChainRecord], tools: Collection[str]) -> Undoing:
    """What undoing a chain does, after the chains that have undone it before. `tools` are those that are served."""
    before = [view_of(one) for one in earlier]
    answer = view_of(record).answer or FinalAnswer()
    deeds = _sorted(answer.deeds, before, tools)
    in_doubt = [call for call in answer.not_done if call.why is WhyNot.IN_DOUBT]
    undoes = tuple(deeds[_Fate.OPEN][:MAX_STEPS])
    runs = bool(before) and before[-1].status not in _FINAL
    chain_id = undo_id(record.id, len(before) + (not runs))
    view = UndoView(
        chain_id=chain_id if runs or undoes else None,
        undoes=undoes,
        undone=tuple(deeds[_Fate.UNDONE]),
        left=(
            *_left(deeds[_Fate.NO_UNDO], WhyLeft.NO_UNDO),
            *_left(deeds[_Fate.IN_DOUBT], WhyLeft.IN_DOUBT),
            *_left(in_doubt, WhyLeft.IN_DOUBT),
        ),
    )
    return Undoing(view, None if runs or not undoes else _task(record, undoes))


def _sorted(deeds: Sequence[Deed], before: Sequence[ChainView], tools: Collection[str]) -> dict[_Fate, list[Deed]]:
    """The deeds by their fate, the last one first."""
    fates = {action_id: fate for view in before for action_id, fate in _fates(view)}
    by_fate = {fate: list[Deed]() for fate in _Fate}
    in_time = sorted(deeds, key=attrgetter("at"))
    for deed in in_time[::-1]:
        fate = fates.get(deed.action_id, _Fate.OPEN)
        if fate is _Fate.OPEN and f"{deed.tool}{UNDO}" not in tools:
            fate = _Fate.NO_UNDO
        by_fate[fate].append(deed)
    return by_fate


def _fates(view: ChainView) -> Iterator[tuple[str, _Fate]]:
    """What a chain that undoes has made of each deed that it has begun to undo."""
    over = view.status in _FINAL
    for step in view.steps:
        for action in step.actions:
            yield str(action.arguments["action_id"]), _fate(action, over=over)


def _fate(action: ActionView, *, over: bool) -> _Fate:
    """What an undo has made of its deed. One that failed may be tried again; one without a receipt runs, or is in doubt
    when its chain is `over`.
    """
    receipt = action.receipt
    if receipt is None:
        return _Fate.IN_DOUBT if over else _Fate.OPEN
    if receipt.satisfies:
        return _Fate.UNDONE
    in_doubt = receipt.error is not None and receipt.error.error_type is ErrorType.IN_DOUBT
    return _Fate.IN_DOUBT if in_doubt else _Fate.OPEN


def _left(calls: Sequence[Deed | NotDone], why: WhyLeft) -> Iterator[LeftView]:
    return (LeftView(action_id=call.action_id, tool=call.tool, says=call.says, why=why) for call in calls)


def _task(record: ChainRecord, deeds: Sequence[Deed]) -> Task:
    """The literal task that undoes these deeds in their order, for the same tenant and user."""
    steps = tuple(_step(number, deed) for number, deed in enumerate(deeds, start=1))
    passed_on = {name: getattr(record.task, name) for name in _PASSED_ON}
    return replace(Task(goal=f"Undo {record.id}", plan=Plan(steps=steps)), **passed_on)


def _step(number: int, deed: Deed) -> Step:
    """The step that undoes a deed. One that fails stops no other."""
    tool = f"{deed.tool}{UNDO}"
    call = ProposedCall(tool=tool, arguments={"action_id": deed.action_id})
    return Step(id=f"u{number}", required_tools=(tool,), actions=(call,), on_failure=OnFailure.CONTINUE)
