"""Targets: values that say to whom or where. A person decides about one that is only in a text, or nowhere (C13)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from posixpath import isabs, join, normpath
from typing import Any, Final

from haltpoint.chain import policy
from haltpoint.chain.canonical import canonical, form_of
from haltpoint.chain.documents import SHORT
from haltpoint.chain.places import Leaf, is_target, leaves
from haltpoint.chain.references import read_json, write_text
from haltpoint.chain.sources import MODEL, Known, folders_of, sources_for
from haltpoint.chain.state import Action, PlanOrigin
from haltpoint.chain.work import Work
from haltpoint.contracts.reasons import Grant, Reach, Reason, ReasonKind, Source, SourceKind
from haltpoint.contracts.tasks import Mode
from haltpoint.contracts.tools import ToolSpec

SHOWN: Final = 20
"""Values of one call that a question names one by one."""
_WIDTH: Final = 80
_UNSURE: Final = (SourceKind.TEXT, SourceKind.MODEL)
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^\s\"'<>]+", re.IGNORECASE)
_HOST: Final = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?((?:[\w-]+\.)+[a-z]{2,})(?:[/:?#]\S*)?", re.IGNORECASE)

Sources = Mapping[str, Source]


def target_reasons(
    work: Work, index: int, arguments: dict[str, Any], spec: ToolSpec, sources: Sources
) -> tuple[Reason, ...]:
    """The reasons to ask about the targets of a call, one for each value, and one for those that are too many."""
    if policy.mode(work.chain.task, work.steps[index]) is not Mode.STRICT:
        return ()
    found = list(_unnamed(work, arguments, spec, sources))
    told = [_reason(spec, leaf, source) for leaf, source in found[:SHOWN]]
    if len(found) > SHOWN:
        words = f"{len(found) - SHOWN} more values of {spec.name} are not in your words, nor whole in a result."
        told.append(Reason(kind=ReasonKind.TARGET, words=words))
    return tuple(told)


def granted(work: Work, action: Action, arguments: str, reach: Reach) -> tuple[Grant, ...]:
    """The chain's grants with those of a person's yes to this call, as far as it goes; `arguments` is JSON text.

    A yes for a path covers its folder. Of a destructive tool a yes never covers more than the call.
    """
    spec = work.world.tools.get(action.tool)
    if spec is None or spec.destructive or reach is Reach.CALL or work.origin is PlanOrigin.LITERAL:
        return work.granted
    if reach is Reach.TOOL:
        new = [Grant(tool=action.tool)]
    else:
        given = read_json(arguments)
        asked = _unnamed(work, given, spec, sources_for(work, action.step, given, spec))
        value = reach is Reach.VALUE
        new = [
            Grant(tool=action.tool, parameter=leaf.parameter, value=_covering(leaf, spec) if value else None)
            for leaf, _ in asked
        ]
    return tuple(dict.fromkeys((*work.granted, *new)))


def _unnamed(work: Work, arguments: Any, spec: ToolSpec, sources: Sources) -> Iterator[tuple[Leaf, Source]]:
    """The targets that come out of a text or from nowhere, and that neither the tool nor an earlier yes covers.

    A value that has the origin which its tool declares is checked before, and needs no more (C6).
    """
    for leaf in leaves(arguments, spec, work.world.policy.targets):
        source = _unsure(work, leaf, spec, sources.get(leaf.place, MODEL))
        if source is not None and not leaf.default and not _is_covered(work, leaf, spec):
            yield leaf, source


def _unsure(work: Work, leaf: Leaf, spec: ToolSpec, source: Source) -> Source | None:
    """The source of a target that only a text or the model names."""
    if spec.read_only:
        return _carried_out(work, leaf, spec, source) if spec.outward else None
    if source.source not in _UNSURE or leaf.is_at(spec.provenance):
        return None
    return source if is_target(leaf, spec) else None


def _carried_out(work: Work, leaf: Leaf, spec: ToolSpec, source: Source) -> Source | None:
    """The source of a value by which data could leave the system: a URL or host that the model put together.

    One whose host the user, a person or the context names carries data nowhere else.
    """
    text = str(leaf.value)
    host = _HOST.fullmatch(text)
    if host is not None or is_target(leaf, spec):
        if source.source is not SourceKind.MODEL or (host and Known(work).named(form_of(host[1])) is not None):
            return None
        return source
    known = Known(work)
    parts = (part.rstrip(".,;:!?)") for part in _URL.findall(text))
    alone = (known.source(replace(leaf, value=part)) for part in parts)
    return next((one for one in alone if one.source is SourceKind.MODEL), None)


def _is_covered(work: Work, leaf: Leaf, spec: ToolSpec) -> bool:
    within = next((spec.targets[at] for at in (leaf.parameter, leaf.place) if spec.targets.get(at)), None)
    if within and _is_inside(join(within, str(leaf.value)) if isabs(within) else str(leaf.value), within):
        return True
    return any(
        grant.tool == spec.name
        and grant.parameter in (None, leaf.parameter)
        and (
            grant.value in (None, canonical(leaf.value))
            or (grant.value.endswith("/") and _is_inside(str(leaf.value), grant.value))
        )
        for grant in work.granted
    )


def _covering(leaf: Leaf, spec: ToolSpec) -> str:
    """What a yes for a value covers: the value, or the folder of a path, written with a slash at its end."""
    if leaf.is_path or spec.targets.get(leaf.parameter):
        folder = next(folders_of(str(leaf.value)), None)
        return canonical(leaf.value) if folder is None else f"{folder.rstrip('/')}/"
    return canonical(leaf.value)


def _is_inside(path: str, folder: str) -> bool:
    """Whether a path is inside of a folder, by their words alone."""
    return normpath(folder) in folders_of(path)


def _reason(spec: ToolSpec, leaf: Leaf, source: Source) -> Reason:
    value = leaf.value[:500] if isinstance(leaf.value, str) else leaf.value
    shown = write_text(value)
    shown = shown if len(shown) <= _WIDTH else f"{shown[: _WIDTH - 1]}…"
    why = "The model wrote this value: it is not in your words and in no result."
    if source.source is SourceKind.TEXT:
        why = "This value is in a text that the model has read, not in your words."
    words = f"{spec.name} will run with {leaf.place[:SHORT]} = {shown}. {why}"
    return Reason(kind=ReasonKind.TARGET, words=words, parameter=leaf.place[:SHORT], value=value, source=source)
