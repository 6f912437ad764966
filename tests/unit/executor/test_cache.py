"""How much the executor keeps in memory."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from haltpoint.chain.model.state import Action, Chain
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.results import (
    Clarification,
    NextAction,
    Option,
    Outcome,
)
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.committing import Loaded
from haltpoint_executor.cache import LIMIT, ChainCache
from tests.support.builders import OK, call, literal_task, open_task, plan, spec, tool_step
from tests.unit.chain.story import submitted


def loaded(name: str, *, payload: int = 0) -> Loaded:
    action = Action(f"{name}.s1.1", 0, 1, "note", "", data="x" * payload)
    return Loaded(Chain(id=name, task=Task(goal="x"), actions={action.id: action}), "1-a")


def test_the_least_used_chains_make_room_for_others_by_their_bytes() -> None:
    cache = ChainCache(limit=24_000)
    for name in ("a", "b", "c"):
        cache.keep(loaded(name))
    cache.keep(loaded("a"))
    cache.keep(loaded("d", payload=15_000))
    assert [cache.get(name) is not None for name in "abcd"] == [True, False, True, True]
    cache.keep(loaded("e", payload=50_000))
    assert len(cache) == 0, "one that is larger than all room is loaded each time"


def test_what_was_dropped_or_is_over_takes_no_room() -> None:
    cache = ChainCache(limit=30_000)
    for number in range(100):
        cache.keep(loaded("a", payload=20_000))
        cache.drop("a")
        one = loaded(f"{number}", payload=20_000)
        cache.keep(one)
        cache.keep(replace(one, chain=replace(one.chain, status=ChainStatus.COMPLETED)))
    assert len(cache) == 0
    cache.keep(loaded("b", payload=20_000))
    assert cache.get("b") is not None


def test_the_chains_of_a_partition_that_was_lost_are_forgotten() -> None:
    cache = ChainCache()
    cache.keep(loaded("a"))
    cache.keep(loaded("b"))
    cache.drop_where(lambda name: name == "a")
    assert cache.get("a") is None
    assert cache.get("b") is not None


def with_a_proposal(number: int) -> Chain:
    story = submitted(open_task(f"note {number}"), spec("note"))
    story.propose(*(call(text=f"{number}-{place}-{'x' * 20_000}") for place in range(8)))
    return story.chain


def with_a_question(number: int) -> Chain:
    story = submitted(Task(plan=plan(tool_step("a"))), spec("note", may_clarify=True))
    options = tuple(
        Option(id=f"{number}o{n}", title=f"{number}{n}", value={"x": number * n})
        for n in range(500)
    )
    asked = Clarification(type="t", question="Which?", options=options)
    story.result(
        Outcome(success=True, next_action=NextAction.CLARIFICATION_NEEDED, clarification=asked)
    )
    return story.chain


def of_five_steps(number: int) -> Chain:
    given = msgspec.json.encode(literal_task(5, text=str(number)))
    story = submitted(msgspec.json.decode(given, type=Task), spec("note"))
    return story.chain


def with_a_receipt(outcome: Outcome, data: str = '{"x":1}') -> Chain:
    """A chain that keeps the receipt of its first step for a later one, and has read it from a
    message.
    """
    steps = (tool_step("a"), tool_step("b", call(x={"$from": "a.data.x"}), after=("a",)))
    story = submitted(Task(plan=plan(*steps)), spec("note"))
    read = msgspec.json.decode(msgspec.json.encode(outcome), type=Outcome)
    story.result(read, data)
    return story.chain


def with_one_wide_letter(number: int) -> Chain:
    return with_a_receipt(OK, f'{{"x":"{number}\U0001f600{"x" * 50_000}"}}')


def with_a_context(value: Callable[[int], Any]) -> Callable[[int], Chain]:
    def made(number: int) -> Chain:
        given = literal_task(1, text=str(number))
        story = submitted(
            replace(given, context={"x": [value(number * 2000 + n) for n in range(2000)]}),
            spec("note"),
        )
        return story.chain

    return made


def held(value: Any, seen: set[int]) -> int:
    """The bytes of a value and of all that it holds; what is one object, and what all chains share,
    counts once.
    """
    if id(value) in seen or value is None or isinstance(value, bool | Enum | type):
        return 0
    seen.add(id(value))
    inner: Iterable[Any] = ()
    if isinstance(value, Mapping):
        inner = (*value.keys(), *value.values())
    elif isinstance(value, tuple | list | set | frozenset):
        inner = value
    elif isinstance(value, msgspec.Struct):
        inner = (getattr(value, name) for name in value.__struct_fields__)
    elif is_dataclass(value):
        inner = (getattr(value, one.name) for one in fields(value))
    return sys.getsizeof(value) + sum(held(one, seen) for one in inner)


CHAINS: tuple[Callable[[int], Chain], ...] = (
    with_a_proposal,
    with_a_question,
    of_five_steps,
    with_one_wide_letter,
    with_a_context(lambda _: []),
)


@pytest.mark.parametrize("made", CHAINS)
def test_what_is_counted_is_what_a_chain_holds_by_a_factor_of_one_and_a_half(
    made: Callable[[int], Chain],
) -> None:
    shared: set[int] = set()
    first = made(0)
    held(first, shared)
    chains = [replace(made(number), id=f"c{number}") for number in range(1, 21)]
    real = held(chains, shared)
    cache = ChainCache()
    for chain in chains:
        cache.keep(Loaded(chain, "1-a"))
    assert len(cache) == 20
    counted = LIMIT - cache.room
    assert real / 1.5 < counted < real * 1.5, counted / real
