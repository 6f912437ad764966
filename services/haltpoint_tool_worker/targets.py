"""Which parameters of a tool say to whom or where (CONTRACT C13): marked once, when a worker starts.

Of a tool with effects those that the policy's table names, or whose format is that of an address, at every depth of
the schema; `Target` adds, and `NotTarget` removes. A tool that only reads has those that its author declares.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Final

import msgspec

from haltpoint.chain.model.canonical import words_of
from haltpoint.chain.model.references import ANY, KEYS, Path, covers, parse_path, path_text, values_at
from haltpoint.contracts.policy import Targets
from haltpoint.contracts.tools import ToolSpec
from haltpoint.tools import Tool

FORMATS: Final = frozenset({"email", "idn-email", "uri", "url", "iri", "uuid"})
_UNIONS: Final = frozenset({"$ref", "anyOf", "oneOf", "allOf"})


def targets_of(spec: ToolSpec, names: Targets, not_targets: Iterable[str] = ()) -> tuple[str, ...]:
    """The places of a tool's targets. One with an origin of its own is compared with that alone (C6)."""
    found = [] if spec.read_only else _Schema(spec.parameters, names).marks()
    declared = [_bare(_path(place)) for place in spec.targets]
    others = [_bare(_path(place)) for place in (*not_targets, *spec.provenance)]
    kept = [path for path in found if not any(_is_within(path, other) for other in others)]
    return tuple(dict.fromkeys(map(path_text, (*declared, *kept))))


def marked(tool: Tool, names: Targets) -> Tool:
    """The tool with its targets."""
    targets = targets_of(tool.spec, names, tool.inputs.not_targets)
    return replace(tool, spec=msgspec.structs.replace(tool.spec, targets=targets))


def is_named(name: str, names: Targets) -> bool:
    """Whether the table has the name of a parameter: `recipientId` and `recipient-ids` are `recipient_id`."""
    words = words_of(name)
    return _fits(words, (*names.names, *names.add)) and not _fits(words, names.remove)


def _fits(words: str, globs: Iterable[str]) -> bool:
    own = [words_of(glob) for glob in globs]
    return any(fnmatchcase(form, glob) for glob in own for form in (words, words.removesuffix("s")))


@dataclass(slots=True)
class _Schema:
    """A schema that is walked. `loops` are the places where it comes back to the object at another place."""

    root: dict[str, Any]
    names: Targets
    loops: list[tuple[Path, Path]] = field(default_factory=list)

    def marks(self) -> list[Path]:
        """The marked places. One where the schema comes back to what holds marks has all below it marked."""
        found = list(self._below(self.root, (), {}, named=False))
        loops = [at for start, at in self.loops if any(_is_within(path, start) for path in found)]
        return [*found, *map(_bare, loops)]

    def _below(self, schema: Any, at: Path, above: dict[int, Path], *, named: bool) -> Iterator[Path]:
        for node in _nodes_of(schema, self.root):
            if "properties" in node and id(node) in above:
                self.loops.append((above[id(node)], at))
            elif "properties" in node:
                yield from self._of_object(node, at, {**above, id(node): at}, named=named)
            elif "items" in node or "prefixItems" in node:
                for inner in (node.get("items"), *node.get("prefixItems", ())):
                    yield from self._below(inner, (*at, ANY), above, named=named)
            elif isinstance(node.get("additionalProperties"), dict) and not named:
                yield from self._below(node["additionalProperties"], (*at, KEYS), above, named=False)
            elif _is_leaf(node) and (named or _is_formed(node)):
                yield _bare(at)

    def _of_object(self, node: dict[str, Any], at: Path, above: dict[int, Path], *, named: bool) -> Iterator[Path]:
        """A record with a mark of its own says by that to whom; any other with the name of a target is one."""
        inner: list[Path] = []
        for name, schema in node["properties"].items():
            inner += self._below(schema, (*at, name), above, named=is_named(name, self.names))
        yield from inner or ([_bare(at)] if named else [])


def _nodes_of(schema: Any, root: dict[str, Any]) -> list[dict[str, Any]]:
    """The schema, those that it refers to and the branches of its unions, each reference followed once."""
    found, followed, waiting = list[dict[str, Any]](), set[str](), [schema]
    while waiting:
        node = waiting.pop(0)
        if not isinstance(node, dict):
            continue
        found.append(node)
        target = node.get("$ref")
        if isinstance(target, str) and target.startswith("#/") and target not in followed:
            followed.add(target)
            names = (part.replace("~1", "/").replace("~0", "~") for part in target.split("/")[1:])
            waiting += values_at(root, tuple(names))
        for branch in ("anyOf", "oneOf", "allOf"):
            waiting += node.get(branch, ())
    return found


def _is_leaf(node: dict[str, Any]) -> bool:
    """Whether values fit that are not of a list which the tool gives itself."""
    listed = "enum" in node or "const" in node
    nothing = node.get("type") in ("null", "boolean")
    return not listed and not nothing and _UNIONS.isdisjoint(node)


def _is_formed(node: dict[str, Any]) -> bool:
    names = node.get("propertyNames")
    formats = [node.get("format"), names.get("format") if isinstance(names, dict) else None]
    return not FORMATS.isdisjoint(filter(None, formats))


def _path(place: str) -> Path:
    return parse_path(place) or (place,)


def _bare(path: Path) -> Path:
    """The place of a list or a map, for that of its elements."""
    while path and path[-1] in (ANY, KEYS):
        path = path[:-1]
    return path


def _is_within(path: Path, other: Path) -> bool:
    return len(other) <= len(path) and covers(other, path)
