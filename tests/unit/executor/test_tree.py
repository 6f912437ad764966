"""The tree of an agent's chain: what is over is read once."""

from typing import Any, cast

from msgspec.structs import replace

from haltpoint.chain.model.state import Chain
from haltpoint.runtime.store.committing import Loaded
from haltpoint_executor.cache import ChainCache
from haltpoint_executor.tree import Trees
from tests.unit.chain.test_agents import found_order, tree


class Stored:
    """A store that has these chains, and says which were read."""

    def __init__(self, *chains: Chain) -> None:
        self.chains = {one.id: Loaded(one, "v") for one in chains}
        self.read = list[str]()

    async def load(self, _: int, names: list[str], *, whole: bool) -> dict[str, Loaded]:
        assert whole
        self.read += names
        return {name: self.chains[name] for name in names if name in self.chains}


async def test_chains_that_are_over_are_read_once_and_others_each_time() -> None:
    whole = tree()
    for number in range(3):
        child = whole.hand_on(whole.root, "reader", f"Find {number}")
        found_order(child)
        child.propose(content="Here it is.")
        whole.report(child)
    below = whole.hand_on(whole.root, "billing")
    root, ended = whole.root.chain, [name for name in whole.stories if name not in ("c", below.chain.id)]
    store = Stored(root, *(whole.stories[name].chain for name in ended))
    trees = Trees(0, cast("Any", store), ChainCache())
    for _ in range(2):
        around = await trees.around([root, below.chain])
        assert sorted(one.id for one in around["c"]) == ended
        assert sorted(one.id for one in around[below.chain.id]) == ["c", *ended]
    assert sorted(set(store.read)) == ["c", *ended]
    assert store.read.count("c") == 2
    assert all(store.read.count(name) <= 2 for name in ended), "two asked at once, nobody later"
    store.chains = {}
    assert [one.id for one in (await trees.around([replace(root)]))["c"]] == ended
