"""What a user gets at the end (CONTRACT F1): the words, and what was done and what was not, read off the receipts.

Pure, like `chain_view`, of which this is a part. A deed is a receipt in which its worker, or a person's answer, has
written down what the call did: only a success with an effect has that. A skill's own receipt has none; the calls in the
chain that carried it out have, and so have the calls that a tool made of others.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import msgspec

from haltpoint.chain.checks.contract import NOT_CONFIRMED
from haltpoint.chain.checks.deeds import deed_line
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.answers import Deed, FinalAnswer, NotDone, WhyNot
from haltpoint.contracts.people.humans import Choice
from haltpoint.contracts.people.phrases import Phrases, why_dropped
from haltpoint.contracts.results import DeedWords, ErrorType
from haltpoint.contracts.tools import BUILT_IN, END_STEP, ToolSpec
from haltpoint.contracts.views.chains import ChainView, DroppedCall
from haltpoint.contracts.views.steps import ActionView
from haltpoint.runtime.views.log_view import moment

_WHY: Final = {ErrorType.IN_DOUBT: WhyNot.IN_DOUBT, ErrorType.DENIED: WhyNot.DENIED}


@dataclass(frozen=True, slots=True)
class Told:
    """One action with all that was recorded of it. `below` is the chain that carried it out, when that is no worker."""

    action: ActionView
    below: "Tree | None" = None


@dataclass(frozen=True, slots=True)
class Tree:
    """A chain with its actions in the order of its plan, and the chains below it; `dropped` are the calls that never
    ran and that count as not done, `specs` the tools of calls that did not succeed, as far as they are known.
    """

    chain: ChainView
    actions: tuple[Told, ...]
    dropped: tuple[DroppedCall, ...] = ()
    specs: Mapping[str, ToolSpec] = field(default_factory=dict)

    def spec(self, tool: str) -> ToolSpec:
        """The tool of this name; all that is known of one that no worker declares is its name."""
        return self.specs.get(tool) or ToolSpec(name=tool)


def final_answer(tree: Tree, end: Mapping[str, Any], phrases: Phrases) -> FinalAnswer:
    """The answer of a chain that is over. `end` is what is stored about its end."""
    deeds, text = tuple(_deeds(tree)), end.get("answer")
    not_done = (*_without_repeats(tree, phrases), *_due(end.get("not_done", ()), tree.dropped, phrases))
    if not text and tree.chain.error is not None:
        text = tree.chain.error.message
    elif not text and tree.chain.status == ChainStatus.CANCELLED.value:
        text = phrases.stopped
    return FinalAnswer(text=text or "", deeds=deeds, not_done=not_done)


# ---- what was done ---------------------------------------------------------------------------------------------------


def _deeds(tree: Tree, allowed_by: str | None = None) -> Iterator[Deed]:
    """Every effect once, in the order of the plan. `allowed_by` is the person who approved the skill that the chain
    carries out, if one did.
    """
    approved = {
        request.action_id: request.answer.by
        for request in tree.chain.requests
        if request.answer is not None and request.answer.answer.decision is Choice.APPROVE
    }
    for told in tree.actions:
        action, receipt = told.action, told.action.receipt
        if receipt is not None and receipt.metadata.repeats:
            continue  # an earlier call's receipt: its deed is listed there (C14)
        by = (receipt is not None and receipt.metadata.by) or approved.get(action.id) or allowed_by
        at = _ended(tree.chain, action)
        if told.below is not None:
            agent = told.below.chain.agent
            yield from (
                deed if agent is None or deed.agent else msgspec.structs.replace(deed, agent=agent)
                for deed in _deeds(told.below, by)
            )
        if receipt is not None and receipt.satisfies and receipt.metadata.deed is not None:
            warnings = tuple(one for one in receipt.warnings if one != NOT_CONFIRMED)  # that is for the model
            yield _deed(action.id, action.tool, receipt.metadata.deed, at, by, warnings)


def _deed(name: str, tool: str, words: DeedWords, at: datetime, by: str | None, warnings: tuple[str, ...] = ()) -> Deed:
    return Deed(action_id=name, tool=tool, says=words.says, target=words.target, at=at, by=by, warnings=warnings)


def _ended(chain: ChainView, action: ActionView) -> datetime:
    """By the log; of a receipt that came when the chain was over already, by its worker."""
    if action.ended_at is not None or action.receipt is None or not action.receipt.metadata.started_at:
        return action.ended_at or chain.updated_at
    return moment(action.receipt.metadata.started_at + action.receipt.metadata.duration_ms)


# ---- what was not ----------------------------------------------------------------------------------------------------

_Call = tuple[str, str]
"""A tool and its arguments as canonical JSON."""


def _without_repeats(tree: Tree, phrases: Phrases) -> tuple[NotDone, ...]:
    """What was not done. A call that failed, or never ran, and succeeded later is done, and so is a task that one agent
    did not do and another one did; a tool that only reads and brought something is no loss. What a person denied and
    what is in doubt always counts.
    """
    places: dict[str, int] = {}
    succeeded: dict[_Call, int] = {}
    tasks: dict[str, _Call] = {}
    readers: set[str] = set()
    for place, told in enumerate(_all(tree)):
        action = told.action
        places[action.id] = place
        if (receipt := action.receipt) is None:
            continue
        if receipt.satisfies:
            succeeded[_call(action.tool, action.arguments)] = place
            if receipt.metadata.spent is not None:
                succeeded[_call("", action.arguments)] = place
            if receipt.metadata.deed is None and told.below is None:
                readers.add(action.tool)
        elif receipt.metadata.spent is not None:
            tasks[action.id] = _call("", action.arguments)

    def counts(call: _Call, one: NotDone) -> bool:
        if one.why in (WhyNot.DENIED, WhyNot.IN_DOUBT):
            return True
        at = places.get(one.action_id or "", 0)
        done_later = max(succeeded.get(same, -1) for same in (call, tasks.get(one.action_id or "", call))) >= at
        return not done_later and call[0] not in readers

    return tuple(dict.fromkeys(one for call, one in _not_done(tree, phrases) if counts(call, one)))


def _due(stored: Iterable[Any], dropped: Iterable[DroppedCall], phrases: Phrases) -> Iterator[NotDone]:
    """What was due and has no receipt: left out, not called, not reached. But for that of which a dropped call of the
    same step tells, or of any.
    """
    told = {(at, one.get("tool")) for one in dropped for at in ("", one.get("step_id"), _owner(one))}
    for one in msgspec.convert(stored, tuple[NotDone, ...]):
        step = (one.action_id or "").rpartition(".")[0].rpartition(".")[2]
        if told.isdisjoint((step, tool) for tool in one.tools):
            why = phrases.not_called if one.why is WhyNot.NOT_CALLED else phrases.not_reached
            yield msgspec.structs.replace(one, action_id=None, message=one.message or why)


def _owner(dropped: DroppedCall) -> str:
    """The later step to which a dropped call belonged."""
    return str(dropped.get("reason", "")).removeprefix("belongs to ")


def _all(tree: Tree) -> Iterator[Told]:
    for told in tree.actions:
        yield told
        if told.below is not None:
            yield from _all(told.below)


def _call(tool: str, arguments: object) -> _Call:
    return tool, json.dumps(arguments, sort_keys=True)


def _not_done(tree: Tree, phrases: Phrases) -> Iterator[tuple[_Call, NotDone]]:
    for told in tree.actions:
        action, spec = told.action, tree.spec(told.action.tool)
        below = [] if told.below is None else list(_not_done(told.below, phrases))
        yield from below
        reason = None if below or action.tool in BUILT_IN else _reason(told, phrases, reads=spec.read_only)
        if reason is not None:
            why, message = reason
            one = NotDone(action_id=action.id, tool=action.tool, says=ran_line(action, spec), why=why, message=message)
            yield _call(action.tool, action.arguments), one
    for dropped in tree.dropped:
        tool, wished = str(dropped.get("tool", "")), dropped.get("arguments")
        if tool == END_STEP:
            continue
        said = _line(tree.spec(tool), wished if isinstance(wished, dict) else {})
        message = why_dropped(dropped.get("reason", ""))
        yield _call(tool, wished), NotDone(tool=tool, says=said, why=WhyNot.NEVER_EXECUTED, message=message)


def _reason(told: Told, phrases: Phrases, *, reads: bool) -> tuple[WhyNot, str] | None:
    """Why the action of a chain that is over did nothing; None when it did."""
    receipt = told.action.receipt
    if receipt is None:
        harmless = reads or told.below is not None
        return (WhyNot.FAILED, phrases.stopped) if harmless else (WhyNot.IN_DOUBT, phrases.may_have_happened)
    if receipt.error is not None:
        return _WHY.get(receipt.error.error_type, WhyNot.FAILED), receipt.error.message
    return None if receipt.satisfies else (WhyNot.NEVER_EXECUTED, phrases.not_approved)


def ran_line(action: ActionView, spec: ToolSpec) -> str:
    """An action's call as it ran, in words."""
    return _line(spec, action.arguments if action.ran is None else action.ran)


def _line(spec: ToolSpec, arguments: dict[str, Any]) -> str:
    return deed_line(spec, json.dumps(arguments), "{}")
