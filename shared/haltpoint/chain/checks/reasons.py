"""Why a person decides before a call of a model runs, all reasons in one list (CONTRACT G5), and how far a yes goes.

Targets are values that say to whom or where: a person decides about one that is only in a text, or nowhere (C13).
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from posixpath import isabs, join, normpath
from typing import Any, Final

from haltpoint.chain.checks.checked import CheckedCall
from haltpoint.chain.checks.intent import reasons_by_intent
from haltpoint.chain.checks.places import Leaf, is_default, is_target
from haltpoint.chain.checks.repeats import effect_before
from haltpoint.chain.checks.sources import MODEL, SHORT, folders_of
from haltpoint.chain.model.canonical import canonical, form_of
from haltpoint.chain.model.references import read_json, write_text
from haltpoint.chain.model.state import Action, PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.contracts.reasons import Grant, Reach, Reason, ReasonKind, Source, SourceKind
from haltpoint.contracts.work.tasks import Mode

SHOWN: Final = 20
"""Values of one call that a question names one by one."""
_WIDTH: Final = 80
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^\s\"'<>]+", re.IGNORECASE)
_HOST: Final = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://)?((?:[\w-]+\.)+[a-z]{2,})(?::\d{1,5})?(?:[/?#][^\s\\]*)?", re.IGNORECASE
)
"""A URL or host whose host every client reads alike: without a user's name (`@`) before it, and without a backslash."""
_WHY: Final = {
    SourceKind.TEXT: "This value comes from a text that the model read, not from your words.",
    SourceKind.MODEL: "The model wrote this value: it is not in your words and in no result.",
    SourceKind.HOOK: "A hook of the worker wrote this value.",
}
_UNSEEN: Final = "It was not compared with your words and the results."


def reasons_for(checked: CheckedCall, *, repaired: bool) -> tuple[Reason, ...]:
    """The reasons to ask about a checked call; none: it may run. `repaired`: its JSON was broken (C9)."""
    tool, found = checked.spec.name, list[Reason]()
    if not checked.spec.read_only:
        words = f"The model wrote this call of {tool} as broken JSON, and its arguments are a guess."
        found += (Reason(kind=ReasonKind.REPAIRED, words=words),) if repaired else ()
        found += reasons_by_intent(checked.work, checked.index, tool)
    if checked.mode is not Mode.STRICT:
        return tuple(found)
    targets = list(_unnamed(checked))
    for leaf, source in targets[:SHOWN]:
        found.append(about_target(tool, leaf, source))
    if len(targets) > SHOWN:
        words = (
            f"{len(targets) - SHOWN} more values of {tool} are not known to be in your words, nor whole in a result."
        )
        found.append(Reason(kind=ReasonKind.TARGET, words=words))
    if (done := effect_before(checked)) is not None:
        found.append(Reason(kind=ReasonKind.REPEAT, words=f"{done} Make it again?"))
    return tuple(found)


def about_target(tool: str, leaf: Leaf, source: Source | None) -> Reason:
    """The reason to ask about one value of a call."""
    place, value = leaf.place[:SHORT], leaf.value[:500] if isinstance(leaf.value, str) else leaf.value
    shown = write_text(value)
    shown = shown if len(shown) <= _WIDTH else f"{shown[: _WIDTH - 1]}…"
    words = f"{tool} will run with {place} = {shown}. {_WHY[source.source] if source else _UNSEEN}"
    return Reason(kind=ReasonKind.TARGET, words=words, parameter=place, value=value, source=source)


def granted(work: Work, action: Action, arguments: str, reach: Reach) -> tuple[Grant, ...]:
    """The chain's grants with those of a person's yes to this call, as far as it goes; `arguments` is JSON text. A yes
    for a path covers its folder, written with a slash at its end. Of a destructive tool a yes never covers more than
    the call.
    """
    spec = work.world.tools.get(action.tool)
    if spec is None or spec.destructive or reach is Reach.CALL or work.origin is PlanOrigin.LITERAL:
        return work.granted
    if reach is Reach.TOOL:
        return tuple(dict.fromkeys((*work.granted, Grant(tool=action.tool))))
    new = list[Grant]()
    for leaf, _ in _unnamed(CheckedCall(work, action.step, spec, read_json(arguments))):
        folders = folders_of(str(leaf.value)) if leaf.is_path or spec.targets.get(leaf.parameter) else ()
        covered = next((f"{folder.rstrip('/')}/" for folder in folders), canonical(leaf.value))
        value = covered if reach is Reach.VALUE else None
        new.append(Grant(tool=action.tool, parameter=leaf.parameter, value=value))
    return tuple(dict.fromkeys((*work.granted, *new)))


def _unnamed(checked: CheckedCall) -> Iterator[tuple[Leaf, Source | None]]:
    """The targets that come out of a text or from nowhere, and that neither the tool nor an earlier yes covers. A value
    that has the origin which its tool declares is checked before, and needs no more (C6). Without a source are those of
    very many, or at a very long place, which were not looked for.
    """
    spec = checked.spec
    for leaf in checked.leaves if spec.outward or not spec.read_only else ():
        source = checked.sources.get(leaf.place)
        if spec.read_only:
            unsure, source = _carries_out(checked, leaf, source or MODEL), MODEL
        else:
            unsure = (
                (source is None or source.source in _WHY) and not leaf.is_at(spec.provenance) and is_target(leaf, spec)
            )
        if unsure and not _is_covered(checked, leaf):
            yield leaf, source


def _carries_out(checked: CheckedCall, leaf: Leaf, source: Source) -> bool:
    """Whether data could leave the system by a value: a URL or host that the model put together. One whose host the
    user, a person or the context names carries data nowhere else.
    """
    text, known = str(leaf.value), checked.known
    host = _HOST.fullmatch(text)
    if host is not None or is_target(leaf, checked.spec):
        return source.source is SourceKind.MODEL and not (host and known.named(form_of(host[1])))
    parts = (part.rstrip(".,;:!?)") for part in _URL.findall(text))
    return any(known.source(replace(leaf, value=part)).source is SourceKind.MODEL for part in parts)


def _is_covered(checked: CheckedCall, leaf: Leaf) -> bool:
    """Whether a value is a default, itself or with what it is inside of, or the tool's folder or a yes covers it."""
    spec, value, around = checked.spec, str(leaf.value), list[Any]([checked.arguments])
    for part in leaf.path:
        around.append(around[-1][part])
    if any(is_default(spec, one, leaf.path[:level]) for level, one in enumerate(around)):
        return True
    within = next((spec.targets[at] for at in (leaf.parameter, leaf.place) if spec.targets.get(at)), "")
    if within and normpath(within) in folders_of(join(within, value) if isabs(within) else value):
        return True
    return any(
        one.value in (None, canonical(leaf.value))
        or (one.value.endswith("/") and normpath(one.value) in folders_of(value))
        for one in checked.work.granted
        if one.tool == spec.name and one.parameter in (None, leaf.parameter)
    )
