"""A chain's head to the fields of its hash and back. Every value has at most 64 bytes (see `rows`).

Ids inside a chain are kept without the chain's own id; what is None is an empty field.
"""

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, Final

from msgspec import structs

from haltpoint.chain.model.state import Chain
from haltpoint.chain.model.statuses import ChainStatus, PlanOrigin
from haltpoint.contracts.results import Spent
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.rows import Fields, Head, local
from haltpoint.runtime.store.step_codec import decode_step, encode_step


def _text(value: str | None) -> str:
    return value or ""


def _local(thought_id: str | None) -> str:
    return local(thought_id) if thought_id else ""


_HEAD: Final[tuple[tuple[str, str, Callable[[Any], str]], ...]] = (
    (Head.STATUS, "status", _text),
    (Head.RESUME, "resume", _text),
    (Head.UPDATED, "updated_at", str),
    (Head.DEADLINE, "deadline", str),
    (Head.ORIGIN, "origin", _text),
    (Head.OPEN, "requests", lambda requests: " ".join(str(request.number) for request in requests)),
    (Head.ASKED, "asked", str),
    (Head.TURNS, "turns", str),
    (Head.ACTIONS, "actions_used", str),
    (Head.TOKENS, "tokens", str),
    (Head.COST, "cost", repr),
    (Head.THOUGHT, "thought", _local),
    (Head.PLAN_ATTEMPTS, "plan_attempts", str),
    (Head.STRIKES, "strikes", str),
    (Head.OTHER_MODEL, "other_model", lambda other: str(int(other))),
    (Head.BELOW, "below", lambda below: " ".join(map(repr, structs.astuple(below)))),
)
"""Field of the hash, attribute of the chain, and how the one is written as the other."""

_values: Final = attrgetter(*(attribute for _, attribute, _ in _HEAD))


def changed_fields(old: Chain, new: Chain, touched: frozenset[int] | set[int]) -> list[str]:
    """The fields that differ, as name, value, name, value ...; `touched` are the indexes of steps that may differ."""
    fields: list[str] = []
    for (name, _, written), value, before in zip(_HEAD, _values(new), _values(old), strict=True):
        if value is not before and value != before:
            fields += (name, written(value))
    steps = range(len(new.runs)) if len(new.runs) != len(old.runs) else sorted(touched)
    for index in steps:
        fields += (f"s{index}", encode_step(new.runs[index]))
    return fields


def decode_head(chain_id: str, task: Task, fields: Fields) -> Chain:
    """The chain of these fields, without its data (plan, requests, actions, end).

    Raises ValueError or KeyError when they are not a chain's.
    """

    def number(name: Head) -> int:
        return int(fields.get(name.encode()) or 0)

    def word(name: Head) -> str:
        return fields.get(name.encode(), b"").decode()

    thought = word(Head.THOUGHT)
    return Chain(
        id=chain_id,
        task=task,
        status=ChainStatus(word(Head.STATUS)),
        resume=ChainStatus(word(Head.RESUME)) if word(Head.RESUME) else None,
        origin=PlanOrigin(word(Head.ORIGIN)) if word(Head.ORIGIN) else None,
        created_at=number(Head.CREATED),
        updated_at=number(Head.UPDATED),
        deadline=number(Head.DEADLINE),
        asked=number(Head.ASKED),
        turns=number(Head.TURNS),
        actions_used=number(Head.ACTIONS),
        tokens=number(Head.TOKENS),
        cost=float(word(Head.COST) or 0),
        plan_attempts=number(Head.PLAN_ATTEMPTS),
        strikes=number(Head.STRIKES),
        other_model=bool(number(Head.OTHER_MODEL)),
        below=_below_of(word(Head.BELOW)),
        thought=f"{chain_id}.{thought}" if thought else None,
        runs=tuple(decode_step(field) for field in _step_fields(fields)),
    )


def _below_of(text: str) -> Spent:
    """What agents have used, from its field; nothing when the chain has none."""
    if not text:
        return Spent()
    turns, actions, tokens, cost, chains = text.split()
    return Spent(int(turns), int(actions), int(tokens), float(cost), int(chains))


def open_numbers(fields: Fields) -> tuple[int, ...]:
    """The numbers of the open requests, oldest first."""
    return tuple(int(number) for number in fields.get(Head.OPEN.encode(), b"").split())


def _step_fields(fields: Fields) -> Iterator[bytes]:
    index = 0
    while (field := fields.get(b"s%d" % index)) is not None:
        yield field
        index += 1
