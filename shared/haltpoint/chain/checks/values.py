"""Where the values of a call come from: one exact comparison, at marked places (CONTRACT C6, C13).

A worker marks the places of a tool when it starts: its `targets` say to whom or where, and a value at
a place of `provenance` has one of the origins that its author names. Nothing is compared elsewhere.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
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
    SourceKind.TEXT: ("This value is in a text that was read: it is not in your words, and not known from a result."),
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

    @property
    def known(self) -> Known:
        """What its chain knows."""
        ...


@dataclass(frozen=True, slots=True)
class Marked:
    """A value at a marked place, which may be one of a list there: `to` is the mark, `to[1]` its own place."""

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
    for path, value in scalars_at(arguments, _path(mark)):
        yield Marked(mark, path, value)


def _path(mark: str) -> Path:
    return parse_path(mark) or (mark,)


# ---- origins ---------------------------------------------------------------------------------------


def origin(call: Call) -> Correction | None:
    """What is wrong with the first value that is at none of its origins."""
    spec = call.spec
    mark = made_up(call.known, spec, call.arguments)
    if mark is None:
        return None
    origins = spec.provenance[mark]
    places, tools = in_words(origins), tools_of(origins)
    text = f"The {mark} of {spec.name} must not be made up: it is taken from {places}."
    if tools:
        text += f" Call {tools[0]} first, then {spec.name} with the value that its result holds."
    return Correction(violation=Violation.NO_PROVENANCE, tool=spec.name, message=text)


def made_up(known: Known, spec: ToolSpec, arguments: Any) -> str | None:
    """The first place with a value that is at none of its origins; null and a default need none."""
    for mark, origins in spec.provenance.items():
        for value in values_at_mark(arguments, mark):
            has_origin = known.has_origin(value.value, origins)
            if not has_origin and not _is_default(spec, value):
                return mark
    return None


def respelled(work: Work, spec: ToolSpec, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, in which a value that differs from exactly one of its origins only in its Unicode
    form, spaces, dashes or quotes has the spelling of that origin (C9).
    """
    known = Known.of(work)
    for mark, origins in spec.provenance.items():
        for value in values_at_mark(arguments, mark):
            if KEYS in value.path or known.has_origin(value.value, origins):
                continue
            alike = _alike(known, value, origins)
            if len(alike) == 1:
                arguments = replaced_at(arguments, value.path, alike[0])
    return arguments


def _alike(known: Known, value: Marked, origins: tuple[str, ...]) -> list[str]:
    """The texts at its origins that a text is, but for its signs."""
    if not isinstance(value.value, str):
        return []
    wanted = bare(value.value)
    texts = [text for text in known.values_at(origins).values() if isinstance(text, str)]
    return [text for text in texts if bare(text) == wanted]


def _is_default(spec: ToolSpec, value: Marked) -> bool:
    defaults = dict(declared(spec.parameters, "default"))
    return any(default.form == value.form for default in values_at_mark(defaults, value.mark))


# ---- targets ---------------------------------------------------------------------------------------


def target(call: Call) -> tuple[Reason, ...]:
    """The reasons to ask about the values that say to whom or where and are not known: those of the
    call, and with them those of the other calls of its tool in the same proposal, so that a person is
    asked once.
    """
    unknown = _unknown_targets(call, call.arguments)
    if not unknown:
        return ()
    for arguments in _beside(call):
        unknown |= _unknown_targets(call, arguments)
    tool, known = call.spec.name, call.known
    shown = islice(unknown.values(), MOST_SHOWN)
    reasons = [about(tool, value, known.source(value.value)) for value in shown]
    if len(unknown) > MOST_SHOWN:
        more = f"{len(unknown) - MOST_SHOWN} more values of {tool}"
        words = f"{more} are not known to be in your words, nor whole in a result."
        reasons.append(Reason(kind=ReasonKind.TARGET, words=words))
    return tuple(reasons)


def _unknown_targets(call: Call, arguments: Any) -> dict[tuple[str, str], Marked]:
    """The unknown targets of a call, each once, by their places and forms."""
    unknown: dict[tuple[str, str], Marked] = {}
    for mark in call.spec.targets:
        for value in values_at_mark(arguments, mark):
            allowed = _is_default(call.spec, value) or _is_granted(call, value)
            if not allowed and call.known.whole(value.value) is None:
                unknown[value.place, value.form] = value
    return unknown


def _beside(call: Call) -> Iterator[dict[str, Any]]:
    """The arguments of the calls of its tool in the proposal that have not run, and are not refused."""
    work, index = call.work, call.index
    proposal = work.proposals.get(index)
    if proposal is None or call.spec.destructive:
        return
    refused = work.verdicts.get(index, {})
    for place, other in enumerate(proposal.calls):
        waits = place >= work.run[index].taken and place not in refused
        if waits and other.tool == call.spec.name:
            yield other.arguments


def about(tool: str, value: Marked, source: Source) -> Reason:
    """The reason to ask about one value, with what will happen."""
    is_text = isinstance(value.value, str)
    kept = value.value[:_LONGEST_VALUE] if is_text else value.value
    shown = write_text(kept)
    if len(shown) > _WIDTH:
        shown = f"{shown[: _WIDTH - 1]}…"
    place, why = value.place, _WHY[source.source]
    words = f"{tool} will run with {place} = {shown}. {why}"
    kind = ReasonKind.TARGET
    return Reason(kind=kind, words=words, parameter=place, value=kept, source=source)


# ---- how far a yes goes ------------------------------------------------------------------------------


def granted(work: Work, action: Action, reasons: Iterable[Reason], reach: Reach) -> tuple[Grant, ...]:
    """The chain's grants with those of a person's yes to these reasons, as far as it goes."""
    spec = work.world.tools.get(action.tool)
    is_literal = work.origin is PlanOrigin.LITERAL
    if spec is None or spec.destructive or is_literal or reach is Reach.CALL:
        return work.granted
    if reach is Reach.TOOL:
        return _with(work.granted, Grant(tool=spec.name))
    grants = work.granted
    for reason in reasons:
        mark = _mark_of(spec, reason)
        value = form(reason.value) if reach is Reach.VALUE else None
        if mark is not None:
            grants = _with(grants, Grant(tool=spec.name, parameter=mark, value=value))
    return grants


def _with(grants: tuple[Grant, ...], grant: Grant) -> tuple[Grant, ...]:
    return grants if grant in grants else (*grants, grant)


def still_in(spec: ToolSpec, edited: Any, reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """The reasons about values that are still in a call after a person has edited it."""
    forms = {value.form for value in marked_values(spec, edited)}
    return tuple(reason for reason in reasons if form(reason.value) in forms)


def _mark_of(spec: ToolSpec, reason: Reason) -> str | None:
    """The marked place that a reason is about."""
    path = parse_path(reason.parameter or "")
    if path is None:
        return None
    return next((mark for mark in spec.targets if covers(_path(mark), path)), None)


def _is_granted(call: Call, value: Marked) -> bool:
    for grant in call.work.granted:
        is_here = grant.tool == call.spec.name and grant.parameter in (None, value.mark)
        if is_here and grant.value in (None, value.form):
            return True
    return False


# ---- sources ---------------------------------------------------------------------------------------


def sources(call: Call) -> dict[str, Source]:
    """Where the values at the marked places of a call come from. Of a literal plan only rules of the
    policy ask.
    """
    work, known = call.work, call.known
    if work.origin is PlanOrigin.LITERAL and not work.world.policy.sourced:
        return {}
    written = _written_by_submitter(call)
    found: dict[str, Source] = {}
    for value in islice(marked_values(call.spec, call.arguments), MOST_SOURCES):
        is_plans = value.form in written
        found[value.place] = _PLAN if is_plans else known.source(value.value)
    return found


def _written_by_submitter(call: Call) -> set[str]:
    """The values that the submitter of a literal plan has written into a step; a skill's plan has none."""
    work = call.work
    written: set[str] = set()
    if work.origin is PlanOrigin.LITERAL and action_of(work.id) is None:
        for action in work.steps[call.index].actions:
            written.update(form(value) for _, value in scalars_at(action.arguments))
    return written


def rewritten(spec: ToolSpec, found: dict[str, Source], before: Any, after: Any, by: SourceKind) -> dict[str, Source]:
    """The sources of a call whose arguments were changed: what was nowhere in it before is from `by`."""
    own = {value.form: found.get(value.place) for value in marked_values(spec, before)}
    changed: dict[str, Source] = {}
    for value in marked_values(spec, after):
        source = own.get(value.form, Source(source=by))
        if source is not None:
            changed[value.place] = source
    return changed
