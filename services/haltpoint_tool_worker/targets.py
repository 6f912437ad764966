"""Which parameters of a tool say to whom or where (CONTRACT C13): marked once, when a worker starts.

Of a tool with effects those that the policy's table names, or whose format is that of an address, at
every depth of the schema; `Target` adds, and `NotTarget` removes. A tool that only reads has those that
its author declares.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Final

import msgspec

from haltpoint.chain.model.canonical import words_of
from haltpoint.chain.model.references import ANY, KEYS, Path, covers, parse_path, path_text, values_at
from haltpoint.contracts.people.approval_rules import ApprovalRule
from haltpoint.contracts.policy import Targets
from haltpoint.contracts.tools import ToolSpec
from haltpoint.tools import Tool

FORMATS: Final = frozenset({"email", "idn-email", "uri", "url", "iri", "uuid"})
_BRANCHES: Final = ("anyOf", "oneOf", "allOf")
_LISTED: Final = ("enum", "const")
_NO_LEAF: Final = frozenset(("$ref", *_BRANCHES, *_LISTED))

Node = dict[str, Any]
"""A schema, or a part of one."""


def marked(tool: Tool, names: Targets, rules: Sequence[ApprovalRule] = ()) -> Tool:
    """The tool with its targets; a place whose source a rule of the policy asks for is one (G4)."""
    asked_for = (place for rule in rules for place in _places_of(rule, tool.spec.name))
    spec = msgspec.structs.replace(tool.spec, targets=(*tool.spec.targets, *asked_for))
    targets = targets_of(spec, names, tool.inputs.not_targets)
    return replace(tool, spec=msgspec.structs.replace(spec, targets=targets))


def _places_of(rule: ApprovalRule, tool: str) -> list[str]:
    """The places of a tool whose sources a rule asks for."""
    if not any(fnmatchcase(tool, glob) for glob in rule.tools):
        return []
    return [place for place, condition in rule.when.items() if condition.source is not None]


def targets_of(spec: ToolSpec, names: Targets, not_targets: Iterable[str] = ()) -> tuple[str, ...]:
    """The places of a tool's targets. One with an origin of its own is compared with that alone (C6)."""
    found = [] if spec.read_only else _Schema(spec.parameters, names).marks()
    others = [_place(place) for place in (*not_targets, *spec.provenance)]
    kept = [path for path in found if not any(_is_within(path, other) for other in others)]
    paths = [*map(_place, spec.targets), *kept]
    return tuple(dict.fromkeys(map(path_text, paths)))


def is_named(name: str, names: Targets) -> bool:
    """Whether the table has the name of a parameter: `recipientId` and `recipient-ids` are `recipient_id`."""
    words = words_of(name)
    return _fits(words, (*names.names, *names.add)) and not _fits(words, names.remove)


def _fits(words: str, globs: Iterable[str]) -> bool:
    forms = (words, words.removesuffix("s"))
    return any(fnmatchcase(form, words_of(glob)) for glob in globs for form in forms)


@dataclass(slots=True)
class _Schema:
    """A schema that is walked. `loops` are the places of an object, and those where it holds itself."""

    root: Node
    names: Targets
    loops: list[tuple[Path, Path]] = field(default_factory=list)

    def marks(self) -> list[Path]:
        """The marked places. Where an object with marks holds itself all is marked: it has no last place."""
        found = list(self._below(self.root, (), {}, named=False))
        for start, inside in self.loops:
            if any(_is_within(path, start) for path in found):
                found.append(_bare(inside))
        return found

    def _below(self, schema: Any, at: Path, above: dict[int, Path], *, named: bool) -> Iterator[Path]:
        """The marks of a schema; `above` are the places of the objects around it."""
        for node in _nodes_of(schema, self.root):
            if "properties" in node:
                yield from self._of_object(node, at, above, named=named)
            elif "items" in node or "prefixItems" in node:
                for inner in (node.get("items"), *node.get("prefixItems", ())):
                    yield from self._below(inner, (*at, ANY), above, named=named)
            elif _is_map(node) and not named:
                values = node["additionalProperties"]
                yield from self._below(values, (*at, KEYS), above, named=False)
            elif _is_leaf(node) and (named or _is_formed(node)):
                yield _bare(at)

    def _of_object(self, node: Node, at: Path, above: dict[int, Path], *, named: bool) -> Iterator[Path]:
        """Those of a record: with a mark of its own it says by that to whom, else by all that it has."""
        if id(node) in above:
            self.loops.append((above[id(node)], at))
            return
        above = {**above, id(node): at}
        inner: list[Path] = []
        for name, schema in node["properties"].items():
            inner += self._below(schema, (*at, name), above, named=is_named(name, self.names))
        yield from inner
        if named and not inner:
            yield _bare(at)


def _nodes_of(schema: Any, root: Node) -> Iterator[Node]:
    """The schema, those that it refers to and the branches of its unions, each reference followed once."""
    followed: set[str] = set()
    waiting = [schema]
    while waiting:
        node = waiting.pop(0)
        if not isinstance(node, dict):
            continue
        yield node
        for branch in _BRANCHES:
            waiting += node.get(branch, ())
        target = str(node.get("$ref", ""))
        if target.startswith("#/") and target not in followed:
            followed.add(target)
            waiting += values_at(root, _pointer(target))


def _pointer(target: str) -> Path:
    """The path of a JSON pointer: `#/$defs/Letter`."""
    parts = target.split("/")[1:]
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)


def _is_map(node: Node) -> bool:
    return isinstance(node.get("additionalProperties"), dict)


def _is_leaf(node: Node) -> bool:
    """Whether a value fits that is none of a list which the tool gives itself."""
    says_nothing = node.get("type") in ("null", "boolean")
    return not says_nothing and _NO_LEAF.isdisjoint(node)


def _is_formed(node: Node) -> bool:
    """Whether values, or the keys of a map, have the format of an address."""
    keys = node.get("propertyNames")
    of_keys = keys.get("format") if isinstance(keys, dict) else None
    return node.get("format") in FORMATS or of_keys in FORMATS


def _place(text: str) -> Path:
    return _bare(parse_path(text) or (text,))


def _bare(path: Path) -> Path:
    """The place of a list or a map, for that of its elements."""
    while path and path[-1] in (ANY, KEYS):
        path = path[:-1]
    return path


def _is_within(path: Path, other: Path) -> bool:
    return len(other) <= len(path) and covers(other, path)
