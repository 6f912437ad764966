"""docs/reference/policy.md and agents.md: every key of the two files, out of the classes that read
them.
"""

import re
import types
from collections.abc import Iterator
from enum import Enum, EnumType
from typing import Annotated, Any, Final, TypeVar, cast, get_args, get_origin, get_type_hints

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.approval_rules import ApprovalRule, Condition
from haltpoint.contracts.people.notices import NotifyRule
from haltpoint.contracts.policy import Messages, Pattern, PolicyFile, Price, Targets
from haltpoint.contracts.work.agents import Agent, ModelEndpoint
from haltpoint.contracts.work.routing import Rule, Supervisor
from haltpoint.contracts.work.tasks import Budget
from haltpoint.runtime.config import policy_file
from tests.reference.markdown import code, meanings, page, prose, table, words

POLICY: Final = (
    ("The file", PolicyFile),
    ("[[patterns]]", Pattern),
    ("[[approvals]]", ApprovalRule),
    ("A condition of when", Condition),
    ("[[notify]]", NotifyRule),
    ("[targets]", Targets),
    ("[messages]", Messages),
    ("[prices.MODEL]", Price),
)
AGENTS: Final = (
    ("[[agents]]", Agent),
    ("budget of an agent", Budget),
    ("[models.NAME]", ModelEndpoint),
    ("[supervisor]", Supervisor),
    ("[[supervisor.rules]]", Rule),
)
ABOUT_POLICY: Final = """\
`HALTPOINT_POLICY_FILE` names the file. [The policy file](../guides/policy.md) explains it with
examples, and `haltpoint policy check FILE` names every fault in one. Times are seconds, or a
number with `ms`, `s`, `m`, `h` or `d`."""
ABOUT_AGENTS: Final = """\
`HALTPOINT_AGENTS_FILE` names the file. [Agents](../guides/agents.md) explains it with examples,
and `haltpoint agent check FILE` names every fault in one."""


def policy() -> str:
    """The page about the policy file, with the file that is shipped."""
    shipped = policy_file.SHIPPED.read_text().strip()
    parts = [part for title, kind in POLICY for part in section(title, kind)]
    return page(
        "Keys of the policy file",
        ABOUT_POLICY,
        *parts,
        "## The file that is shipped",
        f"```toml\n{shipped}\n```",
    )


def agents() -> str:
    """The page about the agents file."""
    parts = [part for title, kind in AGENTS for part in section(title, kind)]
    return page("Keys of the agents file", ABOUT_AGENTS, *parts)


def section(title: str, kind: type) -> Iterator[str]:
    """The keys of one table."""
    yield f"## {title}"
    yield prose((kind.__doc__ or "").partition("\n\n")[0])
    yield table(("key", "value", "default", "meaning"), rows(kind))


def rows(kind: type) -> Iterator[tuple[str, str, str, str]]:
    """One line for each key."""
    said = meanings(kind)
    for name, annotation in get_type_hints(kind, include_extras=True).items():
        if name in said:
            default = code(default_of(kind, name))
            yield code(name.rstrip("_")), value_of(annotation), default, words(said[name])


def value_of(annotation: Any) -> str:
    """The form of a value in words."""
    origin = get_origin(annotation)
    parts = [part for part in get_args(annotation) if part is not type(None)]
    if origin is Annotated:
        return value_of(parts[0])
    if isinstance(annotation, EnumType):
        return ", ".join(code(choice.value) for choice in cast("type[Enum]", annotation))
    if origin in (tuple, list):
        kind = value_of(parts[0])
        return "list" if " or " in kind else f"list of {plural(kind)}"
    if origin is dict:
        return "table"
    if origin is types.UnionType or origin is not None:
        return " or ".join(dict.fromkeys(value_of(part) for part in parts))
    return simple(annotation)


def simple(kind: Any) -> str:
    """A type without parts in words."""
    names = {"str": "text", "bool": "true or false", "int": "number", "float": "number"}
    if isinstance(kind, TypeVar) or not isinstance(kind, type):
        return "value"
    return names.get(kind.__name__, "table")


def plural(kind: str) -> str:
    """Several of a kind."""
    return kind if kind.startswith("`") or kind.endswith("s") else f"{kind}s"


def default_of(kind: type, name: str) -> str:
    """The default of a key as TOML writes it; nothing where there is none or it is empty."""
    value = _default(kind, name)
    if isinstance(value, EnumType) or value in (None, (), {}, "", ...):
        return ""
    text = getattr(value, "value", value)
    if isinstance(text, bool | int | float):
        return str(text).lower().removesuffix(".0")
    return f'"{text}"' if isinstance(text, str) else ""


def _default(kind: type, name: str) -> Any:
    fields = getattr(kind, "model_fields", None)
    if fields is None:
        return _defaults_of_struct(kind).get(name)
    default = fields[name].default
    return None if re.search("Undefined", repr(default)) else default


def _defaults_of_struct(kind: Any) -> JsonObject:
    names = kind.__struct_fields__
    defaults = kind.__struct_defaults__
    return dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
