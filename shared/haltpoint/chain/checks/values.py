"""Where the values of a call come from: one exact comparison, at marked places (CONTRACT C6, C13).

A worker marks the places of a tool when it starts: its `targets` say to whom or where, and a value
at a place of `provenance` has one of the origins that its author names. Nothing is compared
elsewhere.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from haltpoint.chain.checks.answer import shown
from haltpoint.chain.checks.calls import GO, AskFirst, CheckedCall, Verdict, refuse
from haltpoint.chain.checks.knowledge import LONGEST_PLACE, Known, origins_in_words
from haltpoint.chain.model.canonical import form
from haltpoint.chain.model.references import (
    KEYS,
    Path,
    path_of,
    path_text,
    replaced_at,
    scalars_at,
)
from haltpoint.chain.model.schemas import defaults
from haltpoint.contracts import base
from haltpoint.contracts.reasons import Grant, Reach, Reason, ReasonKind, Source, SourceKind
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.thoughts import Violation

Sources = dict[str, Source]
"""By places in the arguments of a call."""

MOST_SHOWN: Final = 20
"""Values that a question names one by one."""
MOST_SOURCES: Final = 100
"""Sources that an order and its receipt keep."""
_LONGEST_VALUE: Final = 500
_WHY: Final = {
    SourceKind.TEXT: (
        "This value comes from a text that was read. It is neither in your words "
        "nor the value of a result."
    ),
    SourceKind.MODEL: "The model wrote this value. It is neither in your words nor in a result.",
    SourceKind.HOOK: "A hook of the worker wrote this value.",
}
"""The sources of a target about which a person is asked."""


@base.value
class Marked:
    """A value at a marked place, which may be one of a list there: `to` is the mark, `to[1]` its
    own place.
    """

    mark: str
    path: Path
    value: Any
    form: str
    """The value as it is compared."""

    @property
    def place(self) -> str:
        """Its own place, as sources and reasons have it."""
        return path_text(self.path)[:LONGEST_PLACE]


def marked_values(spec: ToolSpec, arguments: Any, *marks: str) -> Iterable[Marked]:
    """The values of a call at these marks, or at all its marked places, each once: one mark may be
    inside of another.
    """
    by_path: dict[Path, Marked] = {}
    for mark in marks or (*spec.targets, *spec.provenance):
        for path, scalar in scalars_at(arguments, path_of(mark)):
            by_path.setdefault(path, Marked(mark, path, scalar, form(scalar)))
    return by_path.values()


def _is_default(spec: ToolSpec, given: Marked) -> bool:
    """Whether a value is a default of its mark."""
    own = marked_values(spec, defaults(spec.parameters), given.mark)
    return given.form in [other.form for other in own]


# ---- origins
# ---------------------------------------------------------------------------------------


def origin(call: CheckedCall) -> Verdict:
    """Refuse a value that is at none of its origins."""
    spec = call.spec
    mark = made_up(call.known, spec, call.arguments)
    if mark is None:
        return GO
    known = origins_in_words(spec.provenance[mark])
    words = (
        f"The {mark} of {spec.name} must not be made up: it is taken from {known}. "
        "Call such a tool first, then this one with the value that its result holds."
    )
    return refuse(call, words, Violation.NO_PROVENANCE)


def made_up(known: Known, spec: ToolSpec, arguments: Any) -> str | None:
    """The first place with a value that is at none of its origins; null and a default need none."""
    for mark, origins in spec.provenance.items():
        for given in marked_values(spec, arguments, mark):
            if not (known.has_origin(given.value, origins) or _is_default(spec, given)):
                return mark
    return None


def respelled(known: Known, spec: ToolSpec, arguments: Any) -> Any:
    """Arguments, in which a value that is at none of its origins, and like exactly one of them but
    for its Unicode form, spaces, dashes or quotes, has the spelling of that origin (C9).
    """
    for mark, origins in spec.provenance.items():
        for given in marked_values(spec, arguments, mark):
            if KEYS in given.path or known.has_origin(given.value, origins):
                continue
            alike = known.like(given.value, origins)
            if len(alike) == 1:
                arguments = replaced_at(arguments, given.path, alike)
    return arguments


# ---- targets
# ---------------------------------------------------------------------------------------


def target(call: CheckedCall) -> Verdict:
    """Ask about the values that say to whom or where and are not known, unless a person has said
    yes to them at the card of a call before.
    """
    spec = call.spec
    run = call.work.run[call.index]
    if run.taken < run.listed:
        return GO
    values = marked_values(spec, call.arguments, *spec.targets)
    before = set(call.work.people.granted)
    unknown = list[Marked]()
    for given in [given for given in values if call.known.whole(given.value) is None]:
        is_granted = not before.isdisjoint(_grants(spec, given).values())
        if not (is_granted or _is_default(spec, given)):
            unknown.append(given)
    if not unknown:
        return GO
    first = unknown[:MOST_SHOWN]
    reasons = [about(spec.name, given, call.known.source(given.value)) for given in first]
    more = len(unknown) - MOST_SHOWN
    if more > 0:
        words = f"{more} more values of {spec.name} are neither in your words nor in a result."
        reasons.append(Reason(ReasonKind.TARGET, words))
    return AskFirst(tuple(reasons))


def about(tool: str, given: Marked, source: Source) -> Reason:
    """The reason to ask about one value, with what will happen."""
    kept = given.value
    if isinstance(kept, str):
        kept = kept[:_LONGEST_VALUE]
    words = (
        f"{tool} will run with {given.place} = {shown(given.place, kept)}. {_WHY[source.source]}"
    )
    return Reason(ReasonKind.TARGET, words, parameter=given.place, value=kept, source=source)


def is_about_targets(reasons: Iterable[Reason]) -> bool:
    """Whether a person is asked about targets, and about nothing else."""
    return {reason.kind for reason in reasons} == {ReasonKind.TARGET}


# ---- how far a yes goes
# ------------------------------------------------------------------------------


def granted(spec: ToolSpec, arguments: Any, reasons: Iterable[Reason], reach: Reach) -> list[Grant]:
    """The grants of a person's yes to these reasons, as far as it goes: to a value where the call
    still has it, as people had it run.
    """
    if spec.destructive or reach is Reach.CALL:
        return []
    if reach is Reach.TOOL:
        return [Grant(spec.name)]
    asked = {form(reason.value) for reason in reasons if reason.value is not None}
    marked = marked_values(spec, arguments)
    return [_grants(spec, given)[reach] for given in marked if given.form in asked]


def _grants(spec: ToolSpec, given: Marked) -> dict[Reach, Grant]:
    """The yeses that cover a value, at whichever place of its mark."""
    parameter = Grant(spec.name, parameter=given.mark)
    return {Reach.PARAMETER: parameter, Reach.VALUE: replace(parameter, value=given.form)}


# ---- sources
# ---------------------------------------------------------------------------------------


def sources(call: CheckedCall) -> Sources:
    """Where the values at the marked places of a call come from. Of a literal plan only rules of
    the policy ask.
    """
    if call.work.is_literal and not call.work.world.policy.sourced:
        return {}
    marked = islice(marked_values(call.spec, call.arguments), MOST_SOURCES)
    return {given.place: call.known.source(given.value) for given in marked}


def rewritten(spec: ToolSpec, found: Sources, before: Any, after: Any, by: SourceKind) -> Sources:
    """The sources of a call whose arguments were changed: what was nowhere in it before is from
    `by`.
    """
    own = {given.form: found.get(given.place) for given in marked_values(spec, before)}
    new = Source(by)
    changed = {given.place: own.get(given.form, new) for given in marked_values(spec, after)}
    return {place: source for place, source in changed.items() if source is not None}
