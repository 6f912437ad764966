"""The values of a call with their places, and which of them say to whom or where (CONTRACT C6, C13)."""

from collections.abc import Container
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from typing import Any, Final

from haltpoint.chain.model.canonical import words_of
from haltpoint.chain.model.references import Path, Place, general, path_text, walk
from haltpoint.chain.model.typed import Nodes, below, nodes_of
from haltpoint.contracts.policy import Targets
from haltpoint.contracts.tools import ToolSpec

TABLE: Final = (
    *("id", "ids", "*_id", "*_ids", "to", "to_*", "recipient", "recipients", "recipient_*", "cc", "bcc"),
    *("reply_to", "send_to", "mail_to", "receiver", "receivers", "share_with", "shared_with", "payee", "beneficiary"),
    *("email", "emails", "*_email", "*_emails", "phone", "*_phone", "*phone_number", "mobile", "tel"),
    *("address", "addresses", "*_address", "uuid", "guid", "uid", "assignee", "collaborators", "subscribers"),
    *("user", "users", "*_user", "*_users", "username", "participants", "attendees", "invitees", "guests", "members"),
    *("channel", "*_channel", "url", "urls", "*_url", "*_urls", "uri", "*_uri", "link", "webhook", "host", "domain"),
    *("href", "endpoint", "callback", "bucket", "repo", "repository", "iban", "*_iban", "bic", "sort_code"),
    *("account", "*_account", "account_*", "wallet", "*_wallet", "card_number"),
    *("path", "paths", "*_path", "*_paths", "file", "filename", "filepath", "outfile", "folder", "directory", "dir"),
    *("destination", "destination_*", "dest", "dst"),
)
"""The names of parameters that say to whom or where; the policy file changes it."""
_WORDS: Final = frozenset(word for name in TABLE for word in name.split("_") if "*" not in word)
FORMATS: Final = frozenset({"email", "idn-email", "uri", "url", "iri", "uuid"})
_PATHS: Final = frozenset(
    (
        *("path", "paths", "file", "files", "filename", "filepath", "outfile", "folder", "dir", "directory"),
        *("destination", "dest", "dst"),
    )
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
        return not _PATHS.isdisjoint(words_of(self.parameter.rpartition(".")[2]).split("_"))

    def is_at(self, places: Container[str]) -> bool:
        """Whether one of the declared places is this value's, or its list's."""
        return self.parameter in places or self.place in places or self.parameter.removesuffix("[]") in places


def leaves(arguments: dict[str, Any], spec: ToolSpec = _PLAIN, targets: Targets = _TABLE_ALONE) -> list[Leaf]:
    """Each text and number of a call; null, true and false name nothing. A value inside of an object has the name of
    the object where none of the object's own names is in the table. Where a target is an object, a key of it that is
    no name of a field is a value too.
    """
    named, found = partial(is_named, add=targets.add, remove=targets.remove), list[Leaf]()
    around: dict[Place, bool] = {(): False}  # whether an object or a list gives its name to what is in it
    for path, one in walk(arguments):
        place, kind = path_text(path), general(path)
        parameter = place if kind == path else path_text(kind)
        own = around[path[:-1]] or parameter in spec.targets
        own = own or (bool(path) and isinstance(path[-1], str) and named(path[-1]))
        if isinstance(one, dict):
            around[path] = own and not any(map(named, one))
            keys = _no_fields(one, nodes_at(spec, path)) if own else ()
            found += [Leaf(path, f"{place}{{{key}}}", parameter, key, named=True) for key in keys]
        elif isinstance(one, list):
            around[path] = own
        elif isinstance(one, str | int | float) and not isinstance(one, bool):
            found.append(Leaf(path, place, parameter, one, own))
    return found


def _no_fields(value: dict[str, Any], nodes: Nodes) -> list[str]:
    """The keys of an object that name no field. Names of fields are those of its schema and those of the table's words
    alone (`user_id`, not `eve_id`); beside one of these, where the schema says nothing of others, also plain words.
    """
    declared = {name for node in nodes if isinstance(named := node.get("properties"), dict) for name in named}
    fields = {key for key in value if _WORDS.issuperset(words_of(key).split("_"))}
    has_plain = bool(fields) and not any("additionalProperties" in node for node in nodes)
    others = [key for key in value if key not in declared | fields]
    return [key for key in others if not (has_plain and key.replace("_", "").isalpha())]


def is_target(leaf: Leaf, spec: ToolSpec) -> bool:
    """Whether a value says to whom or where: by its declaration, its format or its name, and not made by the call. A
    value that the tool lists itself is none by its name alone.
    """
    if leaf.is_at(spec.targets) or leaf.is_at(spec.provenance):
        return True
    if leaf.is_at(spec.new):
        return False
    nodes = nodes_at(spec, leaf.path)
    listed = any("enum" in node or "const" in node for node in nodes)
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
