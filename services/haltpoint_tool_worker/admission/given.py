"""Where values come from that only a worker can tell (C6, C13): what the caller of a nested call was given keeps its
source, what the caller's own code wrote is the author's, what hooks wrote is theirs. A nested call asks no person,
so a model's own target is refused.
"""

from typing import Any

from pydantic_core import from_json

from haltpoint.chain.checks.places import Leaf, is_at, is_target, leaves
from haltpoint.chain.checks.sources import MODEL
from haltpoint.chain.model.canonical import form_of
from haltpoint.contracts.reasons import Source, SourceKind
from haltpoint.contracts.tools import ToolSpec
from haltpoint_tool_worker.running.job import Job

Given = dict[str, tuple[Source, Leaf]]
"""Values by their place in a nested call: the source, and the value of the caller that it is."""


def beyond(caller: ToolSpec, called: ToolSpec) -> str | None:
    """Why this tool may not call that one, in words; None when it may."""
    if called.plan is not None:
        return f"{called.name} is a skill with steps, which runs in a chain of its own: a tool cannot call it"
    if caller.read_only and not called.read_only:
        return f"{caller.name} is declared read-only, and {called.name} is not"
    if caller.read_only and called.outward and not caller.outward:
        return f"{called.name} is declared outward, and {caller.name} is not"
    if caller.idempotent and not called.repeatable:
        return f"{caller.name} is declared idempotent, and {called.name} is neither that nor read-only"
    return None


def handed_on(job: Job, caller: ToolSpec, arguments: dict[str, Any], called: ToolSpec) -> Given:
    """The values of a nested call that its caller was given. What the caller's code makes of a text, or cuts out of it,
    is its author's.
    """
    sources = job.request.sources or {}
    known: dict[str, tuple[Source, Leaf]] = {}
    for leaf in leaves(from_json(job.arguments or "{}"), caller):
        source = sources.get(leaf.place, None if job.nested else MODEL)
        if source is not None:
            known.setdefault(form_of(leaf.value, resolved=False).text, (source, leaf))
    made = ((leaf.place, form_of(leaf.value, resolved=False).text) for leaf in leaves(arguments, called))
    return {place: known[text] for place, text in made if text in known}


def target_fault(job: Job, caller: ToolSpec, arguments: dict[str, Any], called: ToolSpec, given: Given) -> str | None:
    """Why a nested call is refused for a target with no safe source; one of the caller was looked at there."""
    if (called.read_only and not called.outward) or beyond(caller, called):
        return None
    unsure = (SourceKind.MODEL,) if called.read_only else (SourceKind.MODEL, SourceKind.TEXT)
    for leaf in leaves(arguments, called):
        source, own = given.get(leaf.place, (None, None))
        if source is None or own is None or source.source not in unsure or is_at(leaf.path, called.provenance):
            continue  # that a value has the origin which its tool declares, is asked elsewhere
        if is_target(leaf, called) and not is_target(own, caller):
            why = "comes from a text" if source.source is SourceKind.TEXT else "only the model named"
            fix = f"Declare {own.place} of {caller.name} as Annotated[str, Target], so that a person is asked before"
            fix = f"Give {called.name} a step of its own, so that a person can be asked" if job.nested else fix
            return f"its {leaf.place} is a value that {caller.name} was given as {own.place} and that {why}. {fix}"
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
