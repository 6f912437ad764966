"""Which parameters of a tool say to whom or where (CONTRACT C13): marked once, when a worker
starts.

Of a tool with effects those that the policy's table names, or whose format is that of an address,
at every depth of the schema; `Target` adds, and `NotTarget` removes. A tool that only reads has
those that its author declares.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Final

import msgspec

from haltpoint.chain.model.canonical import words_of
from haltpoint.chain.model.references import (
    ANY,
    KEYS,
    Path,
    is_below,
    path_of,
    path_text,
    values_at,
)
from haltpoint.contracts.people.approval_rules import ApprovalRule
from haltpoint.contracts.policy import Targets
from haltpoint.contracts.tools import ToolSpec
from haltpoint.tools import Tool

FORMATS: Final = frozenset({"email", "idn-email", "uri", "url", "iri", "uuid"})
_BRANCHES: Final = ("anyOf", "oneOf", "allOf")
_NO_LEAF: Final = frozenset(("$ref", *_BRANCHES, "enum", "const"))

Node = dict[str, Any]
"""A schema, or a part of one."""


def marked(tool: Tool, names: Targets, rules: Sequence[ApprovalRule] = ()) -> Tool:
    """The tool with its targets; a place whose source a rule of the policy asks for is one (G4)."""
    places = list(tool.spec.targets)
    for rule in rules:
        if rule.names(tool.spec.name):
            places += rule.sourced
    spec = msgspec.structs.replace(tool.spec, targets=tuple(places))
    targets = targets_of(spec, names, tool.inputs.not_targets)
    return replace(tool, spec=msgspec.structs.replace(spec, targets=targets))


def targets_of(spec: ToolSpec, names: Targets, not_targets: Iterable[str] = ()) -> tuple[str, ...]:
    """The places of a tool's targets. One with an origin of its own is compared with that alone
    (C6).
    """
    paths = [_place(text) for text in spec.targets]
    others = [_place(text) for text in (*not_targets, *spec.provenance)]
    marks = [] if spec.read_only else _marks(spec.parameters, names)
    paths += [path for path in marks if not any(is_below(other, path) for other in others)]
    return tuple(dict.fromkeys(map(path_text, paths)))


def is_named(name: str, names: Targets) -> bool:
    """Whether the table has the name of a parameter: `recipientId` and `recipient-ids` are
    `recipient_id`.
    """
    words = words_of(name)
    if _fits(words, names.remove):
        return False
    return _fits(words, names.names) or _fits(words, names.add)


def _fits(words: str, globs: Iterable[str]) -> bool:
    singular = words.removesuffix("s")
    patterns = map(words_of, globs)
    return any(fnmatchcase(words, glob) or fnmatchcase(singular, glob) for glob in patterns)


def _marks(parameters: Node, names: Targets) -> list[Path]:
    """The places in a schema that say to whom or where."""
    walk = _Walk(parameters, names)
    walk.visit(parameters, (), (), named=False)
    return walk.marks


@dataclass(slots=True)
class _Walk:
    """One walk through a schema, which collects the marked places."""

    root: Node
    names: Targets
    marks: list[Path] = field(default_factory=list)
    loops: list[Path] = field(default_factory=list)
    """The places where an object holds itself."""

    def visit(self, schema: Any, at: Path, above: tuple[int, ...], *, named: bool) -> None:
        """Mark what is in a schema; `above` are the objects around it, `named`: its parameter is in
        the table.
        """
        for node in _nodes_of(schema, self.root):
            if "properties" in node:
                self._visit_object(node, at, above, named=named)
            elif "items" in node or "prefixItems" in node:
                for inner in (node.get("items"), *node.get("prefixItems", ())):
                    self.visit(inner, (*at, ANY), above, named=named)
            elif _is_map(node) and not named:
                self.visit(node["additionalProperties"], (*at, KEYS), above, named=False)
            elif _is_leaf(node) and (named or _is_formed(node)):
                self.marks.append(_bare(at))

    def _visit_object(self, node: Node, at: Path, above: tuple[int, ...], *, named: bool) -> None:
        """A record with a mark in it says by that to whom, a named one without by all that it has.
        Where a record with marks holds itself all is marked: it has no last place.
        """
        if id(node) in above:
            self.loops.append(at)
            return
        before = len(self.marks)
        for name, schema in node["properties"].items():
            is_target = is_named(name, self.names)
            self.visit(schema, (*at, name), (*above, id(node)), named=is_target)
        if len(self.marks) > before:
            self.marks += [_bare(loop) for loop in self.loops if loop[: len(at)] == at]
        elif named:
            self.marks.append(_bare(at))


def _nodes_of(schema: Any, root: Node) -> Iterator[Node]:
    """The schema, those that it refers to and the branches of its unions, each reference followed
    once.
    """
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
            waiting += values_at(root, tuple(target.split("/")[1:]))


def _is_map(node: Node) -> bool:
    return isinstance(node.get("additionalProperties"), dict)


def _is_leaf(node: Node) -> bool:
    """Whether a value fits that is none of a list which the tool gives itself."""
    says_nothing = node.get("type") in ("null", "boolean")
    return not says_nothing and _NO_LEAF.isdisjoint(node)


def _is_formed(node: Node) -> bool:
    """Whether values, or the keys of a map, have the format of an address."""
    keys = node.get("propertyNames", {})
    return node.get("format") in FORMATS or keys.get("format") in FORMATS


def _place(text: str) -> Path:
    return _bare(path_of(text))


def _bare(path: Path) -> Path:
    """The place of a list or a map, for that of its elements."""
    while path and path[-1] in (ANY, KEYS):
        path = path[:-1]
    return path
