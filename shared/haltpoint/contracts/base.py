"""The ground under every contract: the frozen value, the limits, and the ids that everything else
is named by.
"""

import json
import re
import uuid
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Final, TypeVar, dataclass_transform

from msgspec import Meta, Struct
from msgspec import field as msgspec_field

MAX_BODY: Final = 256 * 1024  # bytes of a message or an HTTP body, checked before parsing
MAX_ARGUMENTS: Final = 64 * 1024  # bytes of one action's arguments
MAX_RESULT: Final = 1024 * 1024  # bytes of one result's data; larger ones are cut with a mark
MAX_WHOLE: Final = (
    16 * 1024 * 1024
)  # bytes of data that were cut and are kept beside; larger ones are not kept
MAX_DEPTH: Final = 32
MAX_ITEMS: Final = 10_000
MAX_STEPS: Final = 500  # of a literal plan; a drafted one is bound by the policy

Count = Annotated[int, Meta(ge=1)]
NonEmpty = Annotated[str, Meta(min_length=1)]
Share = Annotated[float, Meta(ge=0, le=1)]
Strings = tuple[str, ...]
JsonObject = dict[str, Any]
"""What JSON says in braces."""
Seconds = Annotated[float, Meta(gt=0)]

UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
"""The units of times as written, in seconds."""

STEP_ID: Final = re.compile(
    r"(?!undo\Z)[A-Za-z0-9_-]{1,64}"
)  # `undo` is in the ids of chains that undo this one
_NAMESPACE: Final = uuid.UUID("6f1f2c56-7c0a-5d0e-9a51-0a4a1c9b7e11")


T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[T]) -> type[T]:
    """A dataclass of the values that every event makes dozens of: frozen for the type checkers, and
    only for them.

    To be frozen at run time too makes one of these up to ten times as dear, and was a sixth of the
    executor's time.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec_field,))
class Contract(Struct, frozen=True, gc=False, omit_defaults=True):
    """A value on the wire. Unknown fields are ignored, so that N reads what N+1 writes.

    Inside, msgspec reads and writes it; where people and models are, pydantic reads it by `doors`.
    Both hold the limits that its fields have by `Meta`, and the rules of its `__post_init__`.
    """

    @classmethod
    def arriving(cls, raw: Any) -> Any:
        """What a door makes of a value before it is read: the other ways to say the same."""
        return raw

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from haltpoint.contracts.doors import schema_of  # not all who read messages need pydantic

        return schema_of(cls, source, handler)


class Strict(Contract, forbid_unknown_fields=True):
    """A value that a person or a client writes, or a row: an unknown field is an error that names
    it.
    """


class Ingress(StrEnum):
    """Where a task that brings its own key came in: each has its own keys, so that none can find
    another's chain.
    """

    HTTP = "http"
    STREAM = "stream"


def derived_chain_id(ingress: Ingress, tenant: str | None, *key: str) -> str:
    """The id of the chain that a key started: the same ingress, tenant and key always find the same
    chain (R2).
    """
    return uuid.uuid5(_NAMESPACE, json.dumps([ingress, tenant or "", *key])).hex


def root_of(any_id: str) -> str:
    """The root chain's id inside any id: what stands before the first `~` or `.`."""
    return re.split(r"[~.]", any_id, maxsplit=1)[0]


def chain_of(any_id: str) -> str:
    """The chain's id inside the id of one of its actions, requests or thoughts."""
    return any_id.split(".", 1)[0]


def action_id(chain_id: str, step_id: str, number: int) -> str:
    """The id of a step's action, which never changes over retries: `<chain>.<step>.<n>`, n from
    1.
    """
    return f"{chain_id}.{step_id}.{number}"


def child_id(action: str) -> str:
    """The id of the chain that carries out an action: `<chain>~<step>-<n>` for the action
    `<chain>.<step>.<n>`.
    """
    chain, step, number = action.split(".")
    return f"{chain}~{step}-{number}"


def child_report_id(action: str) -> str:
    """The id of the message that tells a parent of its child's end; a worker's has the attempt in
    its place.
    """
    return f"{action}/child/done"


def undo_id(chain_id: str, number: int) -> str:
    """The id of a chain that undoes what another has done (E7): the first, the second, and so
    on.
    """
    return f"{chain_id}~undo-{number}"


def action_of(chain_id: str) -> str | None:
    """The id of the action that a child chain carries out; None for a chain that was submitted."""
    parent, tilde, place = chain_id.rpartition("~")
    step, _, number = place.rpartition("-")
    return f"{parent}.{step}.{number}" if tilde else None


def levels_of(chain_id: str) -> int:
    """How many chains are above a chain."""
    return chain_id.count("~")


def request_id(chain_id: str, number: int) -> str:
    """The id of a chain's question to people: `<chain>.r<n>`, n from 1."""
    return f"{chain_id}.r{number}"


def thought_id(chain_id: str, place: str, turn: int, attempt: int) -> str:
    """The id of one thing that the model was asked: `<chain>.<step id, bounds, plan or
    answer>.t<turn>.<attempt>`.
    """
    return f"{chain_id}.{place}.t{turn}.{attempt}"
