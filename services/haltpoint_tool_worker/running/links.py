"""Links that lead out of the folder that a tool declares (CONTRACT C13): the core judges a path by its words alone."""

from os.path import normpath, realpath
from pathlib import Path
from typing import Any

from haltpoint.chain.checks.places import leaves
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.tools import ToolSpec


def reasons_for_links(spec: ToolSpec, arguments: dict[str, Any]) -> tuple[Reason, ...]:
    """The reasons to ask about paths inside of a declared folder that a link on this machine takes out of it."""
    found: list[Reason] = []
    for leaf in leaves(arguments, spec):
        within = spec.targets.get(leaf.parameter) or spec.targets.get(leaf.place)
        if not within or not isinstance(leaf.value, str) or "\0" in leaf.value:
            continue
        path = Path(within) / leaf.value
        said, really = normpath(path), realpath(path)
        if _is_inside(said, normpath(within)) and not _is_inside(really, realpath(within)):
            shown = f"{leaf.place} = {leaf.value[:80]!r}"
            words = f"{spec.name} will run with {shown}, and a link leads from there to {really[:200]!r}."
            found.append(Reason(kind=ReasonKind.TARGET, words=words, parameter=leaf.place, value=leaf.value))
    return tuple(found)


def _is_inside(path: str, folder: str) -> bool:
    return path.startswith(f"{folder.rstrip('/')}/")
