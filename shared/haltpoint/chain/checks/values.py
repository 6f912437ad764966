"""Where the values of a call come from: one exact comparison, at marked places (CONTRACT C6, C13).

A worker marks the places of a tool when it starts: its `targets` say to whom or where, and a value
at a place of `provenance` has one of the origins that its author names. Nothing is compared
elsewhere.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Final

from haltpoint.chain.checks.calls import GO, AskFirst, CheckedCall, Verdict, refuse
from haltpoint.chain.checks.knowledge import LONGEST_PLACE, Known, origin_tools, origins_in_words
from haltpoint.chain.model.canonical import form
from haltpoint.chain.model.references import (
    KEYS,
    Path,
    path_of,
    path_text,
    replaced_at,
    scalars_at,
    write_text,
)
from haltpoint.chain.model.schemas import defaults
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.contracts.reasons import Grant, Reach, Reason, ReasonKind, Source, SourceKind
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.thoughts import Violation

MOST_SHOWN: Final = 20
"""Values that a question names one by one."""
MOST_SOURCES: Final = 100
"""Sources that an order and its receipt keep."""
_LONGEST_VALUE: Final = 500
_WIDTH: Final = 80
_NUMBER: Final = re.compile(r"\[\d+\]")
_WHY: Final = {
    SourceKind.TEXT: (
        "This value is in a text that was read: it is not in your words, "
        "and not known from a result."
    ),
    SourceKind.MODEL: "The model wrote this value: it is not in your words and in no result.",
    SourceKind.HOOK: "A hook of the worker wrote this value.",
}
"""The sources of a target about which a person is asked."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A value at a marked place, which may be one of a list there: `to` is the mark, `to[1]` its
    own place.
    """

    mark: str
    path: Path
    value: Any

    @property
    def place(self) -> str:
        """Its own place, as sources and reasons have it."""
        return path_text(self.path)[:LONGEST_PLACE]

    @property
    def form(self) -> str:
        """The value as it is compared."""
        return form(self.value)


def marked_values(spec: ToolSpec, arguments: Any) -> Iterator[Marked]:
    """The values of a call at its marked places."""
    for mark in dict.fromkeys((*spec.targets, *spec.provenance)):
        yield from values_at_mark(arguments, mark)


def values_at_mark(arguments: Any, mark: str) -> Iterator[Marked]:
    """The values at one marked place."""
    return (Marked(mark, path, value) for path, value in scalars_at(arguments, path_of(mark)))


def _is_default(spec: ToolSpec, value: Marked) -> bool:
    given = values_at_mark(defaults(spec.parameters), value.mark)
    return value.form in [default.form for default in given]


# ---- origins
# ---------------------------------------------------------------------------------------


def origin(call: CheckedCall) -> Verdict:
    """Refuse a value that is at none of its origins."""
    spec = call.spec
    mark = made_up(call.known, spec, call.arguments)
    if mark is None:
        return GO
    origins = spec.provenance[mark]
    known = origins_in_words(origins)
    words = f"The {mark} of {spec.name} must not be made up: it is taken from {known}."
    for tool in origin_tools(origins)[:1]:
        words += f" Call {tool} first, then {spec.name} with the value that its result holds."
    return refuse(call, words, Violation.NO_PROVENANCE)


def made_up(known: Known, spec: ToolSpec, arguments: Any) -> str | None:
    """The first place with a value that is at none of its origins; null and a default need none."""
    for mark, origins in spec.provenance.items():
        for value in values_at_mark(arguments, mark):
            if not known.has_origin(value.value, origins) and not _is_default(spec, value):
                return mark
    return None


def respelled(known: Known, spec: ToolSpec, arguments: Any) -> Any:
    """Arguments, in which a value that is at none of its origins, and like exactly one of them but
    for its Unicode form, spaces, dashes or quotes, has the spelling of that origin (C9).
    """
    for mark, origins in spec.provenance.items():
        for value in values_at_mark(arguments, mark):
            if known.has_origin(value.value, origins) or KEYS in value.path:
                continue
            alike = known.spellings(value.value, origins)
            if len(alike) == 1:
                arguments = replaced_at(arguments, value.path, list(alike))
    return arguments


# ---- targets
# ---------------------------------------------------------------------------------------


def target(call: CheckedCall) -> Verdict:
    """Ask about the values that say to whom or where and are not known."""
    marked = chain.from_iterable(values_at_mark(call.arguments, mark) for mark in call.spec.targets)
    unknown = {value.path: value for value in marked if _is_unknown(call, value)}
    if not unknown:
        return GO
    tool, known = call.spec.name, call.known
    shown = islice(unknown.values(), MOST_SHOWN)
    reasons = [about(tool, value, known.source(value.value)) for value in shown]
    more = len(unknown) - MOST_SHOWN
    if more > 0:
        words = f"{more} more values of {tool} are not known to be in your words, nor in a result."
        reasons.append(Reason(kind=ReasonKind.TARGET, words=words))
    return AskFirst(tuple(reasons))


def _is_unknown(call: CheckedCall, value: Marked) -> bool:
    if call.known.whole(value.value) is not None or _is_default(call.spec, value):
        return False
    grants = _grants(call.spec.name, value).values()
    return set(call.work.people.granted).isdisjoint(grants)


def about(tool: str, value: Marked, source: Source) -> Reason:
    """The reason to ask about one value, with what will happen."""
    kept = value.value[:_LONGEST_VALUE] if isinstance(value.value, str) else value.value
    shown = write_text(kept)
    if len(shown) > _WIDTH:
        shown = f"{shown[: _WIDTH - 1]}…"
    words = f"{tool} will run with {value.place} = {shown}. {_WHY[source.source]}"
    return Reason(
        kind=ReasonKind.TARGET, words=words, parameter=value.place, value=kept, source=source
    )


# ---- how far a yes goes
# ------------------------------------------------------------------------------


def granted(
    work: Work, spec: ToolSpec, arguments: Any, reasons: Iterable[Reason], reach: Reach
) -> tuple[Grant, ...]:
    """The chain's grants with those of a person's yes to these reasons, as far as it goes: to a
    value where the call still has it, as people had it run.
    """
    before = work.people.granted
    if spec.destructive or reach is Reach.CALL:
        return before
    if reach is Reach.TOOL:
        return tuple(dict.fromkeys((*before, Grant(tool=spec.name))))
    asked = {(_parameter(str(reason.parameter)), form(reason.value)) for reason in reasons}
    marked = marked_values(spec, arguments)
    kept = [value for value in marked if (_parameter(value.place), value.form) in asked]
    new = [_grants(spec.name, value)[reach] for value in kept]
    return tuple(dict.fromkeys((*before, *new)))


def _parameter(place: str) -> str:
    """A place, whichever element of its lists it is in: `letters[].to`."""
    return _NUMBER.sub("[]", place)


def _grants(tool: str, value: Marked) -> dict[Reach, Grant]:
    """The yeses that cover a value."""
    parameter = _parameter(value.place)
    return {
        Reach.TOOL: Grant(tool=tool),
        Reach.PARAMETER: Grant(tool=tool, parameter=parameter),
        Reach.VALUE: Grant(tool=tool, parameter=parameter, value=value.form),
    }


# ---- sources
# ---------------------------------------------------------------------------------------


def sources(call: CheckedCall) -> dict[str, Source]:
    """Where the values at the marked places of a call come from. Of a literal plan only rules of
    the policy ask.
    """
    if call.work.origin is PlanOrigin.LITERAL and not call.work.world.policy.sourced:
        return {}
    marked = islice(marked_values(call.spec, call.arguments), MOST_SOURCES)
    return {value.place: call.known.source(value.value) for value in marked}


def rewritten(
    spec: ToolSpec, found: dict[str, Source], before: Any, after: Any, by: SourceKind
) -> dict[str, Source]:
    """The sources of a call whose arguments were changed: what was nowhere in it before is from
    `by`.
    """
    own = {value.form: found.get(value.place) for value in marked_values(spec, before)}
    new = Source(source=by)
    changed = {value.place: own.get(value.form, new) for value in marked_values(spec, after)}
    return {place: source for place, source in changed.items() if source is not None}
