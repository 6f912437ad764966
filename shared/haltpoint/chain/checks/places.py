"""The values of a call with their places, and which of them say to whom or where (CONTRACT C6, C13)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from typing import Any, Final

from haltpoint.chain.model.canonical import words_of
from haltpoint.chain.model.references import Path, Place, covers, general, parse_path, path_text, walk
from haltpoint.chain.model.typed import Nodes, below, fields_of, nodes_of
from haltpoint.contracts.policy import Targets
from haltpoint.contracts.tools import ToolSpec

TABLE: Final = (
    *("id", "ids", "*_id", "*_ids", "to", "to_*", "recipient", "recipients", "recipient_*", "cc", "bcc"),
    *("reply_to", "send_to", "mail_to", "receiver", "receivers", "share_with", "shared_with", "payee", "beneficiary"),
    *("email", "emails", "*_email", "*_emails", "phone", "*_phone", "*phone_number", "mobile", "tel"),
    *("address", "addresses", "*_address", "uuid", "guid", "uid", "assignee", "collaborators", "subscribers"),
    *("user", "users", "*_user", "*_users", "username", "handle", "participants", "attendees", "invitees"),
    *("guests", "members", "channel", "*_channel", "url", "urls", "*_url", "*_urls", "uri", "*_uri", "link", "webhook"),
    *("host", "domain", "href", "endpoint", "callback", "bucket", "repo", "repository", "iban", "*_iban", "bic"),
    *("sort_code", "account", "*_account", "account_*", "wallet", "*_wallet", "card_number"),
    *("path", "paths", "*_path", "*_paths", "file", "filename", "filepath", "outfile", "folder", "directory", "dir"),
    *("destination", "destination_*", "dest", "dst"),
)
"""The names of parameters that say to whom or where; the policy file changes it."""
_FIELD: Final = re.compile(
    "(?:(?:first|last|full|display|user|nick|file)_?)?name|title|label|type|kind|role|permission|status|optional|required"
    "|value|note|comment|message|subject|text|body|content|(?:(?:user|contact|recipient|account)_)?id|uuid|handle|user|to"
    "|cc|bcc|mail|email(?:_address)?|address|phone(?:_number)?|mobile|tel|url|uri|link|path|file|account|iban|bic"
)
"""Keys that name a field wherever they are. Any other that no schema declares may name a person, group or account."""
FORMATS: Final = frozenset({"email", "idn-email", "uri", "url", "iri", "uuid"})
_PATHS: Final = re.compile(
    "(?:^|_)(?:paths?|files?|filename|filepath|outfile|folder|dir|directory|destination|dest|dst)(?:_|$)"
)
_PLAIN: Final = ToolSpec(name="plain")
_TABLE_ALONE: Final = Targets()


@dataclass(frozen=True, slots=True)
class Leaf:
    """A text or number of the arguments. `place` has numbers, `parameter` has none; `named` by the table of targets.
    A key has the path and the parameter of its object, and its own name in the place: `members{ann@x.org}`.
    """

    path: Place
    place: str
    parameter: str
    value: str | int | float
    named: bool

    @property
    def is_path(self) -> bool:
        """Whether its parameter has the name of a path."""
        return _PATHS.search(words_of(self.parameter.rpartition(".")[2])) is not None


def leaves(arguments: dict[str, Any], spec: ToolSpec = _PLAIN, targets: Targets = _TABLE_ALONE) -> list[Leaf]:
    """Each text and number of a call; null, true and false name nothing. What is in an object or a list has the name of
    it, but for the fields of a record beside one that says to whom by itself. A key of a target that its schema does
    not declare, and that names no field, is a value too.
    """
    named, found = partial(is_named, add=targets.add, remove=targets.remove), list[Leaf]()
    inside = set[Place]()  # the places that have the name of what is around them
    for path, one in walk(arguments):
        place, parameter = path_text(path), path_text(general(path))
        own = path in inside or is_at(path, spec.targets)
        own = own or (bool(path) and isinstance(path[-1], str) and named(path[-1]))
        if isinstance(one, dict) and own:
            fields = fields_of(nodes_at(spec, path))
            given = [Leaf((*path, name), name, name, one[name], named(name)) for name in fields.intersection(one)]
            says = any(field.value and is_target(field, spec) for field in given)
            inside.update((*path, name) for name in one if not (says and name in fields))
            keys = (key for key in one if key not in fields and not _FIELD.fullmatch(words_of(key)))
            found += [Leaf(path, f"{place}{{{key}}}", parameter, key, named=True) for key in keys]
        elif isinstance(one, list) and own:
            inside.update((*path, number) for number in range(len(one)))
        elif isinstance(one, str | int | float) and not isinstance(one, bool):
            found.append(Leaf(path, place, parameter, one, own))
    return found


def is_at(path: Place, places: Iterable[str]) -> bool:
    """Whether one of the declared places is that of a value, or of its list."""
    shortest = len(path) - 1 if path and isinstance(path[-1], int) else len(path)
    declared = (parse_path(at) or (at,) for at in places)
    return any(shortest <= len(at) <= len(path) and covers(at, path) for at in declared)


def is_target(leaf: Leaf, spec: ToolSpec) -> bool:
    """Whether a value says to whom or where: by its declaration, its format or its name, and not made by the call. A
    value that the tool lists itself is none by its name alone.
    """
    if is_at(leaf.path, spec.targets) or is_at(leaf.path, spec.provenance):
        return True
    if is_at(leaf.path, spec.new):
        return False
    nodes = nodes_at(spec, leaf.path)
    lists = (one for node in nodes for one in (node.get("enum"), [node.get("const")]) if isinstance(one, list))
    listed = any(leaf.value in one for one in lists)
    return (leaf.named and not listed) or any(node.get("format") in FORMATS for node in nodes)


def is_default(spec: ToolSpec, value: Any, path: Path) -> bool:
    """Whether the tool declares the value at a path as a default: then it needs no origin."""
    return any("default" in node and node["default"] == value for node in nodes_at(spec, path))


def nodes_at(spec: ToolSpec, path: Path) -> Nodes:
    """The schemas of the value at a path of the arguments."""
    nodes = nodes_of((spec.parameters,), spec.parameters)
    for part in path:
        nodes = nodes_of([below(node, part) for node in nodes], spec.parameters)
    return nodes


@lru_cache(maxsize=4096)
def is_named(name: str, add: tuple[str, ...] = (), remove: tuple[str, ...] = ()) -> bool:
    """Whether a name is in the table: `recipientId` and `recipient-id` are `recipient_id`."""
    words = words_of(name)
    named, taken_out = (
        any(fnmatchcase(words, glob) for glob in globs)
        for globs in ((*TABLE, *map(words_of, add)), map(words_of, remove))
    )
    return named and not taken_out
