"""Patterns of the policy file, searched in a goal as it is (CONTRACT C2): no grammar, no clauses, no negation."""

from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Final

from haltpoint.contracts.policy import Does, Pattern
from haltpoint.contracts.work.bounds import EVERY, Bound, SaidBy
from haltpoint.contracts.written import fits

_LONGEST: Final = 200  # characters of the words that a bound quotes


def found_in(text: str, expression: str) -> str | None:
    """The first words that an expression finds in a text on one line, cut; None: it finds nothing."""
    found = (str(fit[0])[:_LONGEST] for fit in fits(expression, " ".join(text.split())))
    return next(found, None)


def fitting(globs: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    """The names that fit one of the globs, whatever their case, sorted."""
    wanted = [glob.casefold() for glob in globs]
    return tuple(sorted(name for name in names if any(fnmatchcase(name.casefold(), glob) for glob in wanted)))


def bounds_of(
    patterns: Iterable[Pattern], goal: str, session: str, served: Collection[str], off: Collection[str]
) -> Iterator[tuple[Does, Bound]]:
    """What the patterns that are on find. One whose tools nobody serves says nothing."""
    for pattern in patterns:
        is_on = pattern.on and EVERY not in off and pattern.id not in off
        words = _words(pattern, goal, session) if is_on else None
        tools = fitting(pattern.tools, served) if pattern.tools else (EVERY,)
        if words is not None and tools:
            yield pattern.does, Bound(by=SaidBy.PATTERN, tools=tools, words=words, pattern=pattern.id)


def _words(pattern: Pattern, goal: str, session: str) -> str | None:
    """What a pattern finds, quoted, with its reason; where it looks at the session, too, both are found."""
    in_session = found_in(session, pattern.session) if pattern.session else ""
    in_goal = found_in(goal, pattern.pattern) if pattern.pattern else in_session
    if in_session is None or in_goal is None:
        return None
    return f'"{in_goal}"{f": {pattern.reason}" if pattern.reason else ""}'
