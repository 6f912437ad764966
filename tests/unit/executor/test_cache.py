"""How much the executor keeps in memory."""

from msgspec.structs import replace

from haltpoint.chain.model.state import Action, Chain, ChainStatus
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.committing import Loaded
from haltpoint_executor.cache import ChainCache


def loaded(name: str, *, payload: int = 0) -> Loaded:
    action = Action(f"{name}.s1.1", 0, 1, "note", "", data="x" * payload)
    return Loaded(Chain(id=name, task=Task(goal="x"), actions={action.id: action}), "1-a")


def test_the_least_used_chains_make_room_for_others_by_their_bytes() -> None:
    cache = ChainCache(limit=30_000)
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
