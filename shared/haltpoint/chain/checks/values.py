"""Where the values of a call come from: one exact comparison, at the places that are declared (CONTRACT C6, C13).

A worker marks the places of a tool when it starts: its `targets` say to whom or where, and a value at a place of
`provenance` has one of the origins that its author names. Nothing is compared anywhere else.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final, Protocol

from haltpoint.chain.checks.knowledge import LONGEST_PLACE, Known, in_words, tools_of
from haltpoint.chain.model.canonical import bare, form
from haltpoint.chain.model.references import (
    KEYS,
    Path,
    covers,
    parse_path,
    path_text,
    replaced_at,
    scalars_at,
    write_text,
)
from haltpoint.chain.model.schemas import declared
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import action_of
from haltpoint.contracts.reasons import Grant, Reach, Reason, ReasonKind, Source, SourceKind
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.thoughts import Correction, Violation

MOST_SHOWN: Final = 20
"""Values that a question names one by one."""
MOST_SOURCES: Final = 100
"""Sources that an order and its receipt keep."""
_LONGEST_VALUE: Final = 500
_WIDTH: Final = 80
_WHY: Final = {
    SourceKind.TEXT: "This value is in a text that was read: it is not in your words, and not known from a result.",
    SourceKind.MODEL: "The model wrote this value: it is not in your words and in no result.",
    SourceKind.HOOK: "A hook of the worker wrote this value.",
}
"""The sources of a target about which a person is asked."""
_PLAN: Final = Source(source=SourceKind.GOAL, where="plan")
"""The source of what the submitter of a literal plan has written into it."""


class Call(Protocol):
    """A call, as far as its values are looked at."""

    work: Work
    index: int
    spec: ToolSpec
    arguments: dict[str, Any]


def origin(call: Call) -> Correction | None:
    """What is wrong with the first value that is at none of its origins."""
    spec = call.spec
    place = made_up(Known.of(call.work), spec, call.arguments)
    if place is None:
        return None
    origins = spec.provenance[place]
    text = f"The {place} of {spec.name} must not be made up: it is taken from {in_words(origins)}."
    if tools := tools_of(origins):
        text += f" Call {tools[0]} first, then {spec.name} with the value that its result holds."
    return Correction(violation=Violation.NO_PROVENANCE, tool=spec.name, message=text)


def target(call: Call) -> tuple[Reason, ...]:
    """The reasons to ask about the values that say to whom or where and are not known: those of the call, and with them
    those of the other calls of its tool in the same proposal, so that a person is asked once.
    """
    spec, known = call.spec, Known.of(call.work)
    unknown = _unknown_targets(call, known, call.arguments)
    if not unknown:
        return ()
    for arguments in _beside(call):
        more = _unknown_targets(call, known, arguments)
        unknown += [one for one in more if one not in unknown]
    shown = unknown[:MOST_SHOWN]
    reasons = [about_target(spec.name, path_text(at), value, known.source(value)) for at, value in shown]
    if len(unknown) > MOST_SHOWN:
        more_values = f"{len(unknown) - MOST_SHOWN} more values of {spec.name}"
        words = f"{more_values} are not known to be in your words, nor whole in a result."
        reasons.append(Reason(kind=ReasonKind.TARGET, words=words))
    return tuple(reasons)


def _unknown_targets(call: Call, known: Known, arguments: Any) -> list[tuple[Path, Any]]:
    unknown: list[tuple[Path, Any]] = []
    for place in call.spec.targets:
        for at, value in scalars_at(arguments, _path(place)):
            covered = _is_default(call.spec, place, value) or _is_granted(call, place, value)
            if not covered and known.whole(value) is None:
                unknown.append((at, value))
    return unknown


def _beside(call: Call) -> Iterator[dict[str, Any]]:
    """The arguments of the calls of one tool in the proposal that have not run, and are not refused."""
    work, index = call.work, call.index
    proposal = work.proposals.get(index)
    if proposal is None or call.spec.destructive:
        return
    refused = work.verdicts.get(index, {})
    for place, proposed in enumerate(proposal.calls):
        waits = place >= work.run[index].taken and place not in refused
        if waits and proposed.tool == call.spec.name:
            yield proposed.arguments


def about_target(tool: str, place: str, value: Any, source: Source) -> Reason:
    """The reason to ask about one value, with what will happen."""
    place = place[:LONGEST_PLACE]
    value = value[:_LONGEST_VALUE] if isinstance(value, str) else value
    shown = write_text(value)
    shown = shown if len(shown) <= _WIDTH else f"{shown[: _WIDTH - 1]}…"
    words = f"{tool} will run with {place} = {shown}. {_WHY[source.source]}"
    return Reason(kind=ReasonKind.TARGET, words=words, parameter=place, value=value, source=source)


def granted(work: Work, action: Action, reasons: Iterable[Reason], reach: Reach) -> tuple[Grant, ...]:
    """The chain's grants with those of a person's yes to these reasons, as far as it goes."""
    spec = work.world.tools.get(action.tool)
    if spec is None or spec.destructive or reach is Reach.CALL or work.origin is PlanOrigin.LITERAL:
        return work.granted
    new = [Grant(tool=spec.name)] if reach is Reach.TOOL else []
    for reason in reasons if reach is not Reach.TOOL else ():
        if (place := _mark_of(spec, reason)) is not None:
            value = form(reason.value) if reach is Reach.VALUE else None
            new.append(Grant(tool=spec.name, parameter=place, value=value))
    return tuple(dict.fromkeys((*work.granted, *new)))


def still_in(spec: ToolSpec, edited: Any, reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """The reasons about values that are still in a call after a person has edited it."""
    values = {form(value) for _, value in marked_values(spec, edited)}
    return tuple(reason for reason in reasons if form(reason.value) in values)


def _mark_of(spec: ToolSpec, reason: Reason) -> str | None:
    """The marked place that a reason is about."""
    at = parse_path(reason.parameter or "") or ()
    return next((place for place in spec.targets if at and covers(_path(place), at)), None)


def _is_granted(call: Call, place: str, value: Any) -> bool:
    own = [grant for grant in call.work.granted if grant.tool == call.spec.name]
    return any(grant.parameter in (None, place) and grant.value in (None, form(value)) for grant in own)


def sources(call: Call) -> dict[str, Source]:
    """Where the values at the marked places of a call come from. Of a literal plan only rules of the policy ask."""
    work = call.work
    if work.origin is PlanOrigin.LITERAL and not work.world.policy.sourced:
        return {}
    written, known = _written_by_submitter(call), Known.of(work)
    marked = islice(marked_values(call.spec, call.arguments), MOST_SOURCES)
    return {place_text(at): _PLAN if form(value) in written else known.source(value) for at, value in marked}


def _written_by_submitter(call: Call) -> set[str]:
    """The values that the submitter of a literal plan has written into a step; a skill's plan has no submitter."""
    work = call.work
    if work.origin is not PlanOrigin.LITERAL or action_of(work.id) is not None:
        return set()
    values = (scalars_at(action.arguments) for action in work.steps[call.index].actions)
    return {form(value) for _, value in chain.from_iterable(values)}


def rewritten(spec: ToolSpec, found: dict[str, Source], before: Any, after: Any, by: SourceKind) -> dict[str, Source]:
    """The sources of a call whose arguments were changed: what was nowhere in it before is from `by`."""
    own = {form(value): found.get(place_text(at)) for at, value in marked_values(spec, before)}
    changed: dict[str, Source] = {}
    for at, value in marked_values(spec, after):
        source = own.get(form(value), Source(source=by))
        if source is not None:
            changed[place_text(at)] = source
    return changed


def marked_values(spec: ToolSpec, arguments: Any) -> Iterator[tuple[Path, Any]]:
    """The values of a call at its marked places, each with its own place."""
    for place in dict.fromkeys((*spec.targets, *spec.provenance)):
        yield from scalars_at(arguments, _path(place))


def made_up(known: Known, spec: ToolSpec, arguments: Any) -> str | None:
    """The first place with a value that is at none of its origins; null and a declared default need none."""
    for place, origins in spec.provenance.items():
        for _, value in scalars_at(arguments, _path(place)):
            if not (_is_default(spec, place, value) or known.has_origin(value, origins)):
                return place
    return None


def respelled(work: Work, spec: ToolSpec, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, in which a value that differs from exactly one of its origins only in its Unicode form, spaces,
    dashes or quotes has the spelling of that origin (C9).
    """
    known = Known.of(work)
    for place, origins in spec.provenance.items():
        texts = ((at, value) for at, value in scalars_at(arguments, _path(place)) if isinstance(value, str))
        for at, value in texts:
            if KEYS not in at and not known.has_origin(value, origins):
                like = [one for one in known.values_at(origins).values() if bare(form(one)) == bare(value)]
                arguments = replaced_at(arguments, at, like[0]) if len(like) == 1 else arguments
    return arguments


def _is_default(spec: ToolSpec, place: str, value: Any) -> bool:
    defaults = scalars_at(dict(declared(spec.parameters, "default")), _path(place))
    return form(value) in {form(default) for _, default in defaults}


def _path(place: str) -> Path:
    return parse_path(place) or (place,)


def place_text(at: Path) -> str:
    """A place as sources and reasons have it."""
    return path_text(at)[:LONGEST_PLACE]
