"""The values of a call with their places, and which of them say to whom or where (CONTRACT C6, C13)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from typing import Any, Final

from haltpoint.chain.model.canonical import ELSEWHERE, Form, addresses_in, form_of, words_of
from haltpoint.chain.model.references import ANY, KEYS, Part, Path, Place, covers, general, parse_path, path_text, walk
from haltpoint.chain.model.schemas import Compiled, compiled
from haltpoint.chain.model.typed import FURTHER, Nodes, below, fields_of, nodes_of
from haltpoint.contracts.policy import Targets
from haltpoint.contracts.tools import ToolSpec

TABLE: Final = (
    *("id", "*_id", "to", "to_*", "email_to", "recipient", "recipient_*", "cc", "bcc", "reply_to", "send_to"),
    *("mail_to", "receiver", "share_with", "shared_with", "payee", "beneficiary", "email", "*_email", "phone"),
    *("*_phone", "*phone_number", "mobile", "tel", "address", "*_address", "uuid", "guid", "uid", "assignee"),
    *("collaborators", "subscribers", "user", "*_user", "username", "handle", "participants", "attendees", "invitees"),
    *("guests", "members", "channel", "*_channel", "url", "*_url", "uri", "*_uri", "link", "webhook", "host", "domain"),
    *("href", "endpoint", "callback", "bucket", "repo", "repository", "repositories", "iban", "*_iban", "bic"),
    *("sort_code", "account", "*_account", "account_*", "wallet", "*_wallet", "card_number", "path", "*_path", "file"),
    *("filename", "filepath", "outfile", "folder", "directory", "directories", "dir", "destination", "destination_*"),
    *("dest", "dst", "hostname", "ip", "*_id_list", "emails_to", "forward_to", "copy_to"),
)
"""The names of parameters that say to whom or where, in the singular; the policy file changes it."""
_FIELD: Final = re.compile(
    "(?:(?:first|last|full|display|user|nick|file)_?)?name|title|label|type|kind|role|permission|status|optional|required"
    "|value|note|comment|message|subject|text|body|content|(?:(?:user|contact|recipient|account)_)?id|uuid|handle|user|to"
    "|cc|bcc|mail|email(?:_address)?|address|phone(?:_number)?|mobile|tel|url|uri|link|path|file|account|iban|bic"
)
"""Keys that name a field wherever they are. Any other that no schema declares may name a person, group or account."""
FORMATS: Final = frozenset({"email", "idn-email", "uri", "url", "iri", "uuid"})
_PATHS: Final = re.compile("(?:.*_)?(?:path|file|filename|filepath|outfile|folder|dir|directory|directorie)s?")
_PLACES: Final = frozenset({"destination", "dest", "dst"})
_FILE: Final = re.compile(r"(?!.*\.\.)[^@]*/[^/@]*\.\w+")
_PLAIN: Final = ToolSpec(name="plain")
_TABLE_ALONE: Final = Targets()


@dataclass(frozen=True, slots=True)
class Leaf:
    """A text or number of the arguments. `place` has numbers, `parameter` has none; `named` by the table of targets,
    `formed` if a format alone says what it is. A key has the parameter of its object, `KEYS` at the end of its path,
    and its own name in the place: `members{ann@x.org}`.
    """

    path: Path
    place: str
    parameter: str
    value: str | int | float
    named: bool
    formed: bool = False

    @property
    def form(self) -> Form:
        """Its canonical form; `..` is resolved only in a path of this machine."""
        return form_of(self.value, resolved=self.is_path and not ELSEWHERE.match(str(self.value)))

    @property
    def addresses(self) -> "list[Leaf]":
        """Of a list of e-mail addresses in one text each as a value of its own; of any other value none."""
        return [replace(self, value=one) for one in addresses_in(str(self.value))]

    @property
    def is_path(self) -> bool:
        """Whether its parameter has the name of a path, and no format; a destination if it is a file in a folder."""
        name = words_of(next((part for part in reversed(self.path) if isinstance(part, str)), ""))
        is_file = name in _PLACES and _FILE.fullmatch(str(self.value)) is not None
        return not self.formed and (is_file or _PATHS.fullmatch(name) is not None)


def leaves(arguments: dict[str, Any], spec: ToolSpec = _PLAIN, targets: Targets = _TABLE_ALONE) -> list[Leaf]:
    """Each text and number of a call; null, true and false name nothing. What is in an object or a list has the name of
    it, but for the fields of a record beside one that says to whom by itself. A key that its schema does not declare is
    a value too, where all keys have a format, and in a target if it names no field.
    """
    named, found = partial(is_named, add=targets.add, remove=targets.remove), list[Leaf]()
    inside = set[Place]()  # the places that have the name of what is around them
    for path, one in walk(arguments):
        place, parameter = path_text(path), path_text(general(path))
        own = path in inside or is_at(path, spec.targets)
        own = own or (bool(path) and isinstance(path[-1], str) and named(path[-1]))
        if isinstance(one, dict):
            nodes = nodes_at(spec, path)
            fields, formed = fields_of(nodes, one), _is_formed(nodes_at(spec, (*path, KEYS)))
            given = (Leaf((*path, name), name, name, one[name], named(name)) for name in fields.intersection(one))
            says = own and any(field.value and is_target(field, spec) for field in given)
            inside.update((*path, name) for name in one if own and not (says and name in fields))
            keys = (key for key in one if key not in fields)
            keys = (key for key in keys if formed or (own and not _FIELD.fullmatch(words_of(key))))
            found += [Leaf((*path, KEYS), f"{place}{{{key}}}", parameter, key, own) for key in keys]
        elif isinstance(one, list) and own:
            inside.update((*path, number) for number in range(len(one)))
        elif isinstance(one, str | int | float) and not isinstance(one, bool):
            found.append(Leaf(path, place, parameter, one, own, own and _is_formed_alone(nodes_at(spec, path))))
    return found


def is_at(path: Path, places: Iterable[str]) -> bool:
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
    if is_at(leaf.path[:-1] if leaf.path[-1] is KEYS else leaf.path, spec.new):
        return False
    nodes = nodes_at(spec, leaf.path)
    lists = (one for node in nodes for one in (node.get("enum"), [node.get("const")]) if isinstance(one, list))
    listed = any(leaf.value in one for one in lists)
    return (leaf.named and not listed) or _is_formed(nodes)


def _is_formed(nodes: Nodes) -> bool:
    return any(node.get("format") in FORMATS for node in nodes)


def _is_formed_alone(nodes: Nodes) -> bool:
    """Whether a format says what the value is, and no alternative takes a plain text or a path."""
    texts = (node for node in nodes if node.get("type") in ("string", ["string", "null"]) and FURTHER.isdisjoint(node))
    return _is_formed(nodes) and all(node.get("format") in FORMATS for node in texts)


def is_default(spec: ToolSpec, value: Any, path: Path) -> bool:
    """Whether the tool declares the value at a path as a default: then it needs no origin."""
    return any("default" in node and node["default"] == value for node in nodes_at(spec, path))


def nodes_at(spec: ToolSpec, path: Path) -> Nodes:
    """The schemas of the value at a path of the arguments."""
    known, spot = compiled(spec), tuple[Part, ...]()
    nodes, numbered = _nodes_at(known, spot)
    for part in path:
        spot = (*spot, ANY if isinstance(part, int) and part >= numbered else part)
        nodes, numbered = _nodes_at(known, spot)
    return nodes


@lru_cache(maxsize=1024)
def _nodes_at(known: Compiled, path: Path) -> tuple[Nodes, int]:
    """The schemas at a path, and how many items of a list they describe one by one: all others are alike."""
    schema = known.spec.parameters
    inner = [below(node, path[-1]) for node in _nodes_at(known, path[:-1])[0]] if path else (schema,)
    nodes = nodes_of(inner, schema)
    firsts = (node.get("prefixItems") for node in nodes)
    return nodes, max((len(one) for one in firsts if isinstance(one, list)), default=0)


@lru_cache(maxsize=4096)
def is_named(name: str, add: tuple[str, ...] = (), remove: tuple[str, ...] = ()) -> bool:
    """Whether a name, or its singular, is in the table: `recipientId` and `recipient-ids` are `recipient_id`."""
    words = words_of(name)
    forms = {words, words.removesuffix("s"), words.removesuffix("es"), re.sub("ies$", "y", words)}
    named, taken_out = (
        any(fnmatchcase(form, glob) for glob in globs for form in forms)
        for globs in ((*TABLE, *map(words_of, add)), tuple(map(words_of, remove)))
    )
    return named and not taken_out
