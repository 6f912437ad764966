"""Which parameters of a tool say to whom or where (CONTRACT C13): marked once, when a worker
starts.

Of a tool with effects those that the policy's table names, or whose format is that of an address,
at every depth of the schema; `Target` adds, and `NotTarget` removes. A tool that only reads has
those that its author declares.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final

from msgspec import structs

from haltpoint.chain.model.canonical import words_of
from haltpoint.chain.model.references import (
    ANY,
    KEYS,
    Path,
    is_below,
    path_of,
    path_text,
)
from haltpoint.contracts.people.approval_rules import ApprovalRule
from haltpoint.contracts.policy import Targets
from haltpoint.contracts.tools import ToolSpec
from haltpoint.tools import Tool
from haltpoint.tools.parts import Node, parts_of

FORMATS: Final = frozenset({"email", "idn-email", "uri", "url", "iri", "uuid"})
_NO_LEAF: Final = frozenset(
    ("$ref", "anyOf", "oneOf", "allOf", "enum", "const", "items", "prefixItems")
)


def marked(tool: Tool, names: Targets, rules: Sequence[ApprovalRule] = ()) -> ToolSpec:
    """What it declares, with its targets; a place whose source a rule of the policy asks for is one
    (G4).
    """
    places = list(tool.spec.targets)
    for rule in rules:
        if rule.names(tool.spec.name):
            places += rule.sourced
    spec = structs.replace(tool.spec, targets=tuple(places))
    targets = targets_of(spec, names, tool.inputs.not_targets)
    return structs.replace(spec, targets=targets)


def targets_of(spec: ToolSpec, names: Targets, not_targets: Iterable[str] = ()) -> tuple[str, ...]:
    """The places of a tool's targets. One with an origin of its own is compared with that alone
    (C6).
    """
    paths = [_bare(path_of(text)) for text in spec.targets]
    others = [_bare(path_of(text)) for text in (*not_targets, *spec.provenance)]
    marks = [] if spec.read_only else _marks(spec.parameters, names)
    paths += [path for path in marks if not any(is_below(other, path) for other in others)]
    return tuple(dict.fromkeys(map(path_text, paths)))


def is_named(name: str, names: Targets) -> bool:
    """Whether the table has the name of a parameter: `recipientId` and `recipient-ids` are
    `recipient_id`.
    """
    words = words_of(name)
    has = _fits(words, (*names.names, *names.add))
    return has and not _fits(words, names.remove)


def _fits(words: str, globs: Iterable[str]) -> bool:
    singular = words.removesuffix("s")
    patterns = map(words_of, globs)
    return any(fnmatchcase(words, glob) or fnmatchcase(singular, glob) for glob in patterns)


def _marks(parameters: Node, names: Targets) -> list[Path]:
    """The places in a schema that say to whom or where. A record with a mark in it says by that to
    whom, a named one without by all that it has.
    """
    leaves: list[Path] = []
    records: list[Path] = []
    for part in parts_of(parameters):
        path, is_target = _bare(part.path), is_named(part.name, names)
        node = part.node
        says_nothing = node.get("type") in ("null", "boolean")
        is_map = isinstance(node.get("additionalProperties"), dict)
        is_leaf = _NO_LEAF.isdisjoint(node) and not says_nothing and not is_map
        if "properties" in node:
            records += [path] * is_target
        elif is_leaf and (is_target or node.get("format") in FORMATS):
            leaves.append(path)
    empty = [path for path in records if not any(is_below(path, leaf) for leaf in leaves)]
    return [*leaves, *empty]


def _bare(path: Path) -> Path:
    """The place of a list or a map, for that of its elements."""
    while path and path[-1] in (ANY, KEYS):
        path = path[:-1]
    return path
