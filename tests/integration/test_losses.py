"""Servers that lose what they had acknowledged (R10): a lost tail under load, and chains that begin
again. Many losses of each kind are in tests/chaos.
"""

import random
from pathlib import Path

import pytest

from haltpoint.contracts.base import request_id
from haltpoint.contracts.catalogue import Party
from tests.chaos.losses import Losing
from tests.chaos.system import System, task
from tests.proofs.records import effects_in
from tests.support import wait_until


async def test_r10_a_lost_tail_doubles_no_effect_and_each_chain_is_there_or_said_to_be_gone(
    tmp_path: Path,
) -> None:
    async with System(tmp_path) as system:
        losing = Losing(system, random.Random(0))
        await losing.run(Losing.tail)
        await losing.keeps_its_promise()


@pytest.mark.parametrize("worker_lives", [True, False])
async def test_r10_a_chain_that_waits_begins_again_after_a_flush_and_repeats_no_effect(
    worker_lives: bool, tmp_path: Path
) -> None:
    """With its worker gone nobody has the result any more: whether it happened a person says."""
    async with System(tmp_path) as system:
        await system.host(Party.EXECUTOR)
        worker = await system.launch(Party.WORKER)
        system.person.away = True
        chain = await system.submit(task("send", "ask"))
        question = request_id(chain, 1)
        await wait_until(lambda: system.person.sees(question))
        if not worker_lives:
            worker.signal(9)
            await worker.dies()
        await system.redis.flushall()
        if not worker_lives:
            await system.launch(Party.WORKER)
        await wait_until(lambda: system.person.sees(question))
        system.person.away = False
        await wait_until(lambda: system.is_over(chain))
        assert Losing(system, random.Random(0)).twice() == []
        assert await system.redis.hget(system.topology.key_of("chain", chain), "status") == (
            b"completed"
        )


async def test_r10_an_effect_key_still_holds_other_chains_back_after_a_flush(
    tmp_path: Path,
) -> None:
    async with System(tmp_path) as system:
        await system.host(Party.EXECUTOR)
        await system.launch(Party.WORKER)
        first = await system.submit(task("pay"))
        await wait_until(lambda: system.is_over(first))
        await system.redis.flushall()
        second = await system.submit(task("pay"))
        await wait_until(lambda: system.is_over(second))
        paid = [effect for effect in effects_in(system.history) if effect.effects == "other"]
        assert [effect.key for effect in paid] == [f"{first}.s0.1"]
