"""Which rule of the policy file counts for a call (CONTRACT G4): values in, a rule out.

A value that cannot be compared, a text with a number for one, never lets a call through: the condition holds for a rule
that asks or refuses, and does not for one that passes.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from haltpoint.chain.model.canonical import form
from haltpoint.chain.model.references import ANY, KEYS, Part, Place, parse_path, path_text, values_at
from haltpoint.chain.model.schemas import declared
from haltpoint.contracts.people.approval_rules import ApprovalRule, Condition, Verdict
from haltpoint.contracts.reasons import Source, SourceKind
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.written import fits

_NOTHING: Final = object()
_DECLARED: Final = Source(source=SourceKind.CONTEXT)
"""Of a declared default."""


def rule_for(
    rules: Sequence[ApprovalRule],
    spec: ToolSpec,
    tenant: str | None,
    arguments: dict[str, Any],
    sources: dict[str, Source],
) -> tuple[ApprovalRule | None, str]:
    """The first of a tool's rules that counts for the call; and the id of the first before it that only reports."""
    filled, reported = {**dict(declared(spec.parameters, "default")), **arguments}, ""

    def source_of(place: Place) -> Source | None:
        return sources.get(path_text(place), None if values_at(arguments, place) else _DECLARED)

    for rule in (one for one in rules if one.tenant in (None, tenant)):
        values = ((condition, _values(filled, parse_path(name) or ())) for name, condition in rule.when.items())
        if all(_fits(one, [(value, source_of(at)) for at, value in found], rule.does) for one, found in values):
            if not rule.report_only:
                return rule, reported
            reported = reported or rule.id
    return None, reported


def _fits(condition: Condition, values: list[tuple[Any, Source | None]], does: Verdict) -> bool:
    """Whether a condition holds of some value at its place; for a rule that passes, of all of them."""
    passes = does is Verdict.PASS
    held = [_holds(condition, value, source, not passes) for value, source in values]
    return bool(held) and all(held) if passes else any(held)


def _holds(condition: Condition, value: Any, source: Source | None, unsure: bool) -> bool:
    return all(unsure if one is None else one for one in _answers(condition, value, source, unsure))


def _answers(condition: Condition, value: Any, source: Source | None, spelled: bool) -> Iterator[bool | None]:
    """Whether each part of a condition holds of a value; None where the two cannot be compared."""
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    equal = () if condition.equals is None else (condition.equals,)
    for wanted in filter(None, (equal, condition.in_)):
        yield None if value is _NOTHING else any(_same(value, one, spelled=spelled) for one in wanted)
    if condition.at_least is not None:
        yield None if number is None else number >= condition.at_least
    if condition.at_most is not None:
        yield None if number is None else number <= condition.at_most
    if condition.regex is not None:
        yield any(True for _ in fits(condition.regex, value)) if isinstance(value, str) else None
    if condition.source is not None:
        yield None if source is None or value is _NOTHING else source.source in condition.source


def _same(value: Any, wanted: Any, *, spelled: bool) -> bool:
    """Whether two values are equal, or (`spelled`) two spellings of one, an IBAN with blanks for one."""
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    return value == wanted or (spelled and isinstance(value, str | int | float) and form(value) == form(wanted))


def _values(arguments: Any, path: Sequence[Part]) -> list[tuple[Place, Any]]:
    """The values at a place with their own places; `_NOTHING` where the place leads nowhere. An empty list has none."""
    found: list[tuple[Place, Any]] = [((), arguments)]
    for part in path:
        found = [((*place, *at), inner) for place, one in found for at, inner in _inside(one, part)]
    return found


def _inside(value: Any, part: Part) -> list[tuple[Place, Any]]:
    if isinstance(value, dict) and (part is KEYS or part in value):
        return [((name,), one) for name, one in value.items() if part in (KEYS, name)]
    if isinstance(value, list) and (part is ANY or (isinstance(part, int) and part < len(value))):
        return [((number,), one) for number, one in enumerate(value) if part in (ANY, number)]
    return [((), _NOTHING)]
