"""Many chains want the same effects while workers are killed: each effect happens once (CONTRACT
E6).
"""

import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from haltpoint.contracts.catalogue import Party
from haltpoint.contracts.work.tasks import Task
from tests.chaos.system import System
from tests.proofs.records import Effect, hash_of, read
from tests.support import wait_until
from tests.support.builders import call, plan, tool_step
from tests.support.stored import Stored


def provided(history: Path) -> list[Effect]:
    """What the provider has written down."""
    records = (one.record for one in read(history.glob("provider.*.jsonl")))
    return [one for one in records if isinstance(one, Effect)]


def _has_effects(history: Path, least: int) -> bool:
    return len(provided(history)) >= least


async def race_for_effects(
    folder: Path, chains: int, keys: int, points: Sequence[str]
) -> dict[str, int]:
    """So many chains race for so many effects over four partitions; a worker dies at each of the
    points, one after the other, and another one is started in its stead. Returns figures.
    """
    async with System(folder, partitions=4) as system:
        await system.host(Party.EXECUTOR)
        victims = [await system.launch(Party.WORKER, point) for point in points]
        for number in range(chains):
            step = tool_step("s", call("pay", text=f"p{number % keys}"))
            await system.submit(Task(plan=plan(step), context={"seconds": 0.05}))
        for victim in victims:
            await victim.dies()
            await system.launch(Party.WORKER)
        await wait_until(partial(_has_effects, system.history, keys))
        await system.settle()
        system.keeps_its_promises()
        assert await system.dead_letters() == []

        effects = provided(system.history)
        winners = {one.arguments: one.key for one in effects}
        assert Counter(one.arguments for one in effects) == {
            hash_of(f"p{number}"): 1 for number in range(keys)
        }
        denied = 0
        for number, chain in enumerate(system.accepted):
            stored = await Stored(system.redis, system.topology).action(f"{chain}.s.1")
            assert stored is not None
            receipt = stored.counts
            assert receipt is not None
            outcome, first = json.loads(receipt.outcome), winners[hash_of(f"p{number % keys}")]
            if stored.id == first:
                assert outcome["success"], outcome
                continue
            denied += 1
            assert outcome["error"]["error_type"] == "DENIED", outcome
            assert first in outcome["error"]["message"], outcome
            said = json.loads(receipt.data)["first"]
            assert said["action_id"] == first
            assert said["says"] in (f'Paid "p{number % keys}"', ""), said
        return {"chains": chains, "effects": len(effects), "denied": denied, "killed": len(victims)}
