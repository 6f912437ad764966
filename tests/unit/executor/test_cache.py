"""How much the executor keeps in memory."""

import gc
import tracemalloc
from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from haltpoint.chain.model.state import Action, Chain, ChainStatus
from haltpoint.contracts.results import (
    Clarification,
    ErrorType,
    Metadata,
    NextAction,
    Option,
    Outcome,
)
from haltpoint.contracts.tools import Retry
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.tasks import Style, Task
from haltpoint.runtime.store.committing import Loaded
from haltpoint_executor.cache import LIMIT, ChainCache
from tests.support.builders import call, failed, literal_task, plan, spec, tool_step
from tests.unit.chain.story import Story


def loaded(name: str, *, payload: int = 0) -> Loaded:
    action = Action(f"{name}.s1.1", 0, 1, "note", "", data="x" * payload)
    return Loaded(Chain(id=name, task=Task(goal="x"), actions={action.id: action}), "1-a")


def test_the_least_used_chains_make_room_for_others_by_their_bytes() -> None:
    cache = ChainCache(limit=31_000)
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
    story = Story(Task(goal=f"note {number}", style=Style.REACT), spec("note"))
    story.submit()
    story.propose(*(call(text=f"{number}-{place}-{'x' * 20_000}") for place in range(8)))
    return story.chain


def with_a_plan(number: int) -> Chain:
    story = Story(Task(goal=f"note {number}"), spec("note"))
    story.submit()
    steps = (Step(id=f"s{n}", description=f"{number}{n}{'d' * 5000}", required_tools=("note",)) for n in range(20))
    story.draft(Plan(steps=tuple(steps)))
    return story.chain


def with_a_question(number: int) -> Chain:
    story = Story(Task(plan=plan(tool_step("a"))), spec("note", may_clarify=True))
    story.submit()
    options = tuple(Option(id=f"{number}o{n}", title=f"{number}{n}", value={"x": number * n}) for n in range(500))
    asked = Clarification(type="t", question="Which?", options=options)
    story.result(Outcome(success=True, next_action=NextAction.CLARIFICATION_NEEDED, clarification=asked))
    return story.chain


def with_a_rest(number: int) -> Chain:
    story = Story(Task(plan=plan(tool_step("a"))), spec("note", retry=Retry()))
    story.submit()
    refused = replace(failed(ErrorType.RATE_LIMIT), metadata=Metadata(again=True))
    story.result(refused, f'{{"x":"{number}{"z" * 200_000}"}}')
    return story.chain


def of_five_steps(number: int) -> Chain:
    given = msgspec.json.encode(literal_task(5, text=str(number)))
    story = Story(msgspec.json.decode(given, type=Task), spec("note"))
    story.submit()
    return story.chain


@pytest.mark.parametrize("made", [with_a_proposal, with_a_plan, with_a_question, with_a_rest, of_five_steps])
def test_what_is_counted_is_what_a_chain_takes_by_a_factor_of_two(made: Callable[[int], Chain]) -> None:
    made(0)
    gc.collect()
    tracemalloc.start()
    chains = [made(number) for number in range(1, 21)]
    gc.collect()
    real = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    cache = ChainCache()
    for number, chain in enumerate(chains):
        task_bytes = len(msgspec.json.encode(chain.task))
        cache.keep(Loaded(replace(chain, id=f"c{number}"), "1-a", None, task_bytes))
    assert len(cache) == 20
    assert real / 2 < LIMIT - cache.room < real * 2


def test_what_has_changed_beside_the_actions_is_counted_anew() -> None:
    cache = ChainCache()
    story = Story(Task(goal="note it", style=Style.REACT), spec("note"))
    story.submit()
    cache.keep(Loaded(story.chain, "1-a"))
    before = cache.room
    story.propose(call(text="x" * 20_000), call(text="y" * 20_000))
    cache.keep(Loaded(story.chain, "2-a"))
    assert before - cache.room > 40_000
    cache.drop("c")
    assert cache.room == LIMIT
