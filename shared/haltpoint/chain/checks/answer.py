"""The answer of a chain (CONTRACT F1): the model's words, and beside them what was done and what was not.

One function, which the core calls when a chain ends, and views while it runs. A deed is one successful receipt with an
effect; of a skill or an agent, the deeds of the chain that carried it out, as its report brings them. Words say nothing
here: no line without such a receipt, and no such receipt without a line.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.contract import NOT_CONFIRMED, with_effects
from haltpoint.chain.checks.deeds import deed_line, target_in
from haltpoint.chain.checks.ledger import MAY_HAVE_ACTED
from haltpoint.chain.model.references import read_json
from haltpoint.chain.model.state import Action, Dropped
from haltpoint.contracts.answers import Deed, FinalAnswer, NotDone, WhyNot
from haltpoint.contracts.base import value
from haltpoint.contracts.people.phrases import Phrases, why_dropped
from haltpoint.contracts.results import ErrorInfo, ErrorType
from haltpoint.contracts.tools import ToolSpec

_WHY: Final = {ErrorType.IN_DOUBT: WhyNot.IN_DOUBT, ErrorType.DENIED: WhyNot.DENIED}
_ALWAYS_TOLD: Final = (WhyNot.DENIED, WhyNot.IN_DOUBT)

SpecOf = Callable[[str], ToolSpec]
"""What is declared of a tool, by its name."""


@value
class Missed:
    """What was not done: its line, when that was clear (ms), and the arguments of the call (JSON text; "": unknown)."""

    line: NotDone
    at: int
    arguments: str = ""


def answer(
    text: str,
    actions: Sequence[Action],
    dropped: Iterable[Dropped],
    due: tuple[NotDone, ...],
    spec_of: SpecOf,
    phrases: Phrases,
) -> FinalAnswer:
    """The answer of a chain with these actions. `due` is what it promised and never called, or left out."""
    deeds = [deed for action in actions for deed in _deeds(action)]
    below = [Missed(line, ended_at(action)) for action in actions for line in action.told.below.not_done]
    never_ran = [_never_ran(call, spec_of) for call in dropped]
    missed = [*below, *_failed(actions, spec_of, phrases), *never_ran]
    lost = [entry.line for entry in missed if not _was_done_later(entry, actions, deeds)]
    not_done = tuple(dict.fromkeys((*lost, *due)))
    return FinalAnswer(text=text, deeds=tuple(deeds), not_done=not_done)


def for_above(not_done: Iterable[NotDone], spec_of: SpecOf) -> tuple[NotDone, ...]:
    """What the chain of a skill or an agent tells its caller: the effects that were not done."""
    return tuple(line for line in not_done if any(with_effects(spec_of(name)) for name in line.tools))


def ended_at(action: Action) -> int:
    """When an action ended (ms)."""
    return action.told.started_at + action.told.duration_ms


def _deeds(action: Action) -> Iterator[Deed]:
    """What a call did. One that has the receipt of an earlier call did nothing."""
    told = action.told
    if told.repeats:
        return
    approved_by = told.approval.by if told.approval is not None else None
    by = told.by or approved_by
    for deed in told.below.deeds:
        yield replace(deed, by=deed.by or by)
    if action.satisfies and told.deed is not None:
        yield Deed(
            action_id=action.id,
            tool=action.tool,
            says=told.deed.says,
            target=told.deed.target,
            at=datetime.fromtimestamp(ended_at(action) / 1000, UTC),
            by=by,
            warnings=_for_people(action),
        )


def _for_people(action: Action) -> tuple[str, ...]:
    warnings = () if action.outcome is None else action.outcome.warnings
    return tuple(warning for warning in warnings if warning != NOT_CONFIRMED)


def _failed(actions: Iterable[Action], spec_of: SpecOf, phrases: Phrases) -> Iterator[Missed]:
    """The calls that have no success, but for those whose chain lists the calls inside."""
    for action in actions:
        if action.satisfies or action.tool == human_tool.NAME or action.told.below.not_done:
            continue
        spec = spec_of(action.tool)
        why, message = _reason(action, spec, phrases)
        line = NotDone(
            action_id=action.id,
            tool=action.tool,
            says=deed_line(spec, action.ran, "{}"),
            target=target_in(spec, action.ran),
            why=why,
            message=message,
        )
        yield Missed(line, ended_at(action), action.ran)


def _reason(action: Action, spec: ToolSpec, phrases: Phrases) -> tuple[WhyNot, str]:
    """Why an action of a chain that is over has done nothing."""
    if action.outcome is None:
        harmless = spec.read_only or bool(action.child)
        return (WhyNot.FAILED, phrases.stopped) if harmless else (WhyNot.IN_DOUBT, phrases.may_have_happened)
    fault = action.error
    if fault is None:
        return WhyNot.NEVER_EXECUTED, phrases.not_approved
    if with_effects(spec) and not action.child and _may_have_acted(action, fault):
        return WhyNot.IN_DOUBT, fault.message
    return _WHY.get(fault.error_type, WhyNot.FAILED), fault.message


def _may_have_acted(action: Action, fault: ErrorInfo) -> bool:
    """Whether a call that failed may have taken effect all the same. With a deed it has: a hook kept its result."""
    unknown = fault.error_type in MAY_HAVE_ACTED and not fault.no_effect
    return unknown or action.told.deed is not None


def _never_ran(call: Dropped, spec_of: SpecOf) -> Missed:
    spec = spec_of(call.tool)
    line = NotDone(
        tool=call.tool,
        says=deed_line(spec, call.arguments, "{}"),
        target=target_in(spec, call.arguments),
        why=WhyNot.NEVER_EXECUTED,
        message=why_dropped(call.reason),
    )
    return Missed(line, call.at, call.arguments)


def _was_done_later(missed: Missed, actions: Iterable[Action], deeds: Iterable[Deed]) -> bool:
    """Whether a later call of the tool made it good: with the same target, or where it has none, the same arguments,
    as far as these are known. A tool that only reads has brought something by any later success.
    """
    line = missed.line
    if line.why in _ALWAYS_TOLD:
        return False
    later = [deed for deed in deeds if deed.tool in line.tools and _moment(deed) >= missed.at]
    if line.target is not None:
        return any(deed.target == line.target for deed in later) or _read_later(missed, actions)
    if not missed.arguments:
        return bool(later)
    same = {action.id for action in actions if read_json(action.ran) == read_json(missed.arguments)}
    return any(deed.action_id in same for deed in later) or _read_later(missed, actions)


def _read_later(missed: Missed, actions: Iterable[Action]) -> bool:
    own = (action for action in actions if action.tool == missed.line.tool and action.satisfies)
    return any(action.told.deed is None and ended_at(action) >= missed.at for action in own)


def _moment(deed: Deed) -> int:
    return round(deed.at.timestamp() * 1000)
