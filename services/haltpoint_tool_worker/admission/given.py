"""Where values come from that only a worker can tell (C6, C13): what the caller of a nested call was given keeps its
source, what the caller's own code wrote is the author's, what hooks wrote is theirs. A nested call asks no person,
so a model's own target is refused.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from pydantic_core import from_json

from haltpoint.chain.checks.places import Leaf, is_at, is_target, leaves
from haltpoint.chain.checks.sources import MODEL
from haltpoint.chain.model.canonical import as_path, form_of
from haltpoint.contracts.reasons import Source, SourceKind
from haltpoint.contracts.tools import ToolSpec
from haltpoint_tool_worker.running.job import Job

Given = dict[str, tuple[Source, Leaf]]
"""Values by their place in a nested call: the source, and the value of the caller that it is."""

_CHANCE: Final = 5
"""Characters of a value that a text may hold by chance inside of another word."""


def handed_on(job: Job, caller: ToolSpec, arguments: dict[str, Any], called: ToolSpec) -> Given:
    """The values of a nested call that its caller was given, and its targets that are a piece of such a text."""
    sources = job.request.sources or {}
    known: dict[str, tuple[Source, Leaf]] = {}
    for leaf in leaves(from_json(job.arguments or "{}"), caller):
        source = sources.get(leaf.place, None if job.nested else MODEL)
        if source is not None:
            known.setdefault(form_of(leaf.value, resolved=False).text, (source, leaf))
    found: Given = {}
    paths = cache(_paths)
    for leaf in leaves(arguments, called):
        own = known.get(form_of(leaf.value, resolved=False).text)
        if own is None and is_target(leaf, called):
            own = next((one for one in known.values() if _is_piece(leaf, one[1], paths)), None)
        if own is not None:
            found[leaf.place] = own
    return found


def _is_piece(leaf: Leaf, given: Leaf, paths: Callable[[str], frozenset[str]]) -> bool:
    """Whether a value is a part of a text: a word, too long to be there by chance, or a path with `..` resolved."""
    form, text = form_of(leaf.value), str(given.value)
    is_long_part = len(form.text) > _CHANCE and form.text.lower() in text.lower()
    return form.found_in(text) is not None or is_long_part or as_path(str(leaf.value).strip()) in paths(text)


def _paths(text: str) -> frozenset[str]:
    """A text and the words of it as paths, `..` resolved."""
    return frozenset(map(as_path, filter(None, (text.strip(), *text.split()))))


def target_fault(caller: ToolSpec, arguments: dict[str, Any], called: ToolSpec, given: Given) -> str | None:
    """Why a nested call is refused for a model's own target; a target of the caller was looked at there."""
    if called.read_only and not called.outward:
        return None
    unsure = (SourceKind.MODEL,) if called.read_only else (SourceKind.MODEL, SourceKind.TEXT)
    for leaf in leaves(arguments, called):
        source, own = given.get(leaf.place, (None, None))
        if source is None or own is None or source.source not in unsure or is_at(leaf.path, called.provenance):
            continue  # that a value has the origin which its tool declares, is asked elsewhere
        looked_at = is_target(own, caller) and (caller.outward or not caller.read_only)
        if is_target(leaf, called) and not looked_at:
            return (
                f"its {leaf.place} is a value that {caller.name} was given as {own.place} and that only a model named. "
                f"Declare {own.place} of {caller.name} as Annotated[str, Target], so that a person is asked before"
            )
    return None


def own_values(job: Job) -> list[Any]:
    """The values that need no origin: of a nested call those that the caller's code wrote, of any other a person's."""
    sources, plain = job.request.sources or {}, leaves(from_json(job.arguments or "{}"))
    if job.nested:
        return [leaf.value for leaf in plain if leaf.place not in sources]
    return [leaf.value for leaf in plain if sources.get(leaf.place, MODEL).source is SourceKind.PERSON]


def words_of_the_goal(job: Job) -> list[str]:
    """The values of the order that are in the user's words."""
    sources = job.request.sources or {}
    plain = leaves(from_json(job.arguments or "{}")) if sources else ()
    return [str(one.value) for one in plain if sources.get(one.place, MODEL).source is SourceKind.GOAL]
