"""What a chain has done is undone, the last effect first, in a chain of its own (CONTRACT E7), over real processes."""

import asyncio
from typing import Any

import pytest

from haltpoint.client import Client, GatewayError
from haltpoint.contracts.base import undo_id
from tests.e2e.running import Running


def planting(*names: str, then: str = "") -> dict[str, Any]:
    calls = [{"tool": "plant", "arguments": {"name": name}} for name in names]
    calls += [{"tool": then, "arguments": {}}] if then else []
    return {"plan": {"steps": [{"id": "garden", "required_tools": ["plant"], "actions": calls}]}}


async def test_e7_what_can_be_undone_is_undone_once_in_reverse_order(system: Running, client: Client) -> None:
    run = await client.run(task=planting("ash", "oak", "beech"))
    assert (await run.result()).status == "completed"

    shown = await asyncio.to_thread(system.command, "chain", "undo", run.id, "--quiet")
    assert shown.returncode == 0, shown.stderr
    undoing = undo_id(run.id)
    assert system.written(undoing) == ["uprooted beech 5", "uprooted ash 3"]
    assert (await client.undo(run.id)).id == undoing
    assert system.written(undoing) == ["uprooted beech 5", "uprooted ash 3"]
    answer = (await client.chain(run.id)).answer
    assert answer is not None
    assert [one.says for one in answer.undone] == ['Planted "ash"', 'Planted "beech"']
    assert [one.says for one in answer.not_undone] == ['Planted "oak"']


async def test_e7_a_chain_without_such_effects_is_not_undone_nor_one_that_undoes(
    system: Running, client: Client
) -> None:
    run = await client.run(task=planting("fir"))
    await run.result()
    await (await client.undo(run.id)).result()
    for chain, code in ((undo_id(run.id), "part_of_a_chain"), ("no-such-chain", "no_such_chain")):
        with pytest.raises(GatewayError) as refused:
            await client.undo(chain)
        assert refused.value.code == code
    call = {"tool": "leave_note", "arguments": {"for_whom": "Jo"}}
    ring = await client.run(task={"plan": {"steps": [{"id": "a", "actions": [call]}]}})
    await ring.result()
    with pytest.raises(GatewayError, match="did nothing that can be undone"):
        await client.undo(ring.id)
