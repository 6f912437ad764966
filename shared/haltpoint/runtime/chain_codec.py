"""A chain's head to the fields of its hash and back. Every value has at most 64 bytes (see `step_codec`).

Ids inside a chain are kept without the chain's own id; what is None is an empty field.
"""

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any, Final

from haltpoint.chain.state import Chain, ChainStatus, PlanOrigin
from haltpoint.contracts.tasks import Task
from haltpoint.runtime.step_codec import decode_step, encode_step


def _text(value: str | None) -> str:
    return value or ""


def _local(thought_id: str | None) -> str:
    return thought_id.partition(".")[2] if thought_id else ""


_HEAD: Final[tuple[tuple[str, str, Callable[[Any], str | int]], ...]] = (
    ("status", "status", _text),
    ("resume", "resume", _text),
    ("updated", "updated_at", int),
    ("deadline", "deadline", int),
    ("origin", "origin", _text),
    ("open", "requests", lambda requests: " ".join(str(request.number) for request in requests)),
    ("asked", "asked", int),
    ("turns", "turns", int),
    ("actions", "actions_used", int),
    ("tokens", "tokens", int),
    ("thought", "thought", _local),
    ("plan_attempts", "plan_attempts", int),
    ("strikes", "strikes", int),
    ("other_model", "other_model", int),
)
"""Field of the hash, attribute of the chain, and how the one is written as the other."""

_values: Final = attrgetter(*(attribute for _, attribute, _ in _HEAD))


def changed_fields(old: Chain, new: Chain, touched: frozenset[int] | set[int]) -> list[str | int]:
    """The fields that differ, as name, value, name, value ...; `touched` are the indexes of steps that may differ."""
    fields: list[str | int] = []
    for (name, _, written), value, before in zip(_HEAD, _values(new), _values(old), strict=True):
        if value is not before and value != before:
            fields += (name, written(value))
    steps = range(len(new.runs)) if len(new.runs) != len(old.runs) else sorted(touched)
    for index in steps:
        fields += (f"s{index}", encode_step(new.runs[index]))
    return fields


def decode_head(chain_id: str, task: Task, fields: Mapping[bytes, bytes]) -> Chain:
    """The chain that the fields tell of, without what lies in keys of its own (plan, requests, actions, end).

    Raises ValueError or KeyError when they are not a chain's.
    """

    def number(name: bytes) -> int:
        return int(fields.get(name) or 0)

    def word(name: bytes) -> str:
        return fields.get(name, b"").decode()

    thought = word(b"thought")
    return Chain(
        id=chain_id,
        task=task,
        status=ChainStatus(fields[b"status"].decode()),
        resume=ChainStatus(word(b"resume")) if word(b"resume") else None,
        origin=PlanOrigin(word(b"origin")) if word(b"origin") else None,
        created_at=number(b"created"),
        updated_at=number(b"updated"),
        deadline=number(b"deadline"),
        asked=number(b"asked"),
        turns=number(b"turns"),
        actions_used=number(b"actions"),
        tokens=number(b"tokens"),
        plan_attempts=number(b"plan_attempts"),
        strikes=number(b"strikes"),
        other_model=bool(number(b"other_model")),
        thought=f"{chain_id}.{thought}" if thought else None,
        runs=tuple(decode_step(field) for field in _step_fields(fields)),
    )


def open_numbers(fields: Mapping[bytes, bytes]) -> tuple[int, ...]:
    """The numbers of the open requests, oldest first."""
    return tuple(int(number) for number in fields.get(b"open", b"").split())


def _step_fields(fields: Mapping[bytes, bytes]) -> Iterator[bytes]:
    index = 0
    while (field := fields.get(b"s%d" % index)) is not None:
        yield field
        index += 1
