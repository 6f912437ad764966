"""A person undoes what a chain did, the last deed first, in a chain of its own (CONTRACT E7), over
real processes.
"""

import pytest

from haltpoint.client import Client, GatewayError
from haltpoint.contracts.base import JsonObject, undo_id
from haltpoint.contracts.views.undoing import UndoView
from haltpoint.runs import Run
from tests.e2e.running import Running
from tests.support import wait_until


def planting(*names: str, then: str = "") -> JsonObject:
    calls = [{"tool": "plant", "arguments": {"name": name}} for name in names]
    calls += [{"tool": then, "arguments": {}}] if then else []
    return {"plan": {"steps": [{"id": "garden", "required_tools": ["plant"], "actions": calls}]}}


async def undone(client: Client, chain: str) -> UndoView:
    """Undo, and wait for the end of it."""
    found = await client.undo(chain)
    assert found.chain_id is not None
    await client.attach(found.chain_id).result()
    return found


def taken_out(system: Running, run: Run) -> list[str]:
    """What the undos of a chain have done."""
    return [line for line in system.written(run.id) if not line.startswith("planted")]


async def test_e7_undoing_twice_undoes_what_is_still_open_and_a_failure_stops_no_other(
    system: Running, client: Client
) -> None:
    run = await client.run(task=planting("ash", "oak", "beech"))
    await run.result()

    shown = await system.typed("chain", "undo", run.id)
    assert shown.returncode == 1, "the oak stays"
    assert 'Undo: Planted "ash"' in shown.stdout
    once = ["uprooted beech 5", "left the oak", "uprooted ash 3"]
    assert taken_out(system, run) == once

    again = await undone(client, run.id)
    assert again.chain_id == undo_id(run.id, 2)
    assert (await client.chain(again.chain_id)).submitted_by == "admin"
    assert [deed.says for deed in again.undoes] == ['Planted "oak"']
    assert [deed.says for deed in again.undone] == ['Planted "beech"', 'Planted "ash"']
    assert taken_out(system, run) == [*once, "left the oak"]


async def test_e7_only_a_root_chain_that_has_ended_is_undone(
    system: Running, client: Client
) -> None:
    run = await client.run(task=planting("fir", then="wait_long"))

    async def is_planted() -> bool:
        return system.written(run.id) == ["planted fir"]

    await wait_until(is_planted)
    await refused(client, run.id, 409, "chain_runs")
    await run.cancel("enough")
    await run.result()
    await undone(client, run.id)
    assert taken_out(system, run) == ["uprooted fir 3"]
    await refused(client, undo_id(run.id, 1), 409, "part_of_a_chain")
    await refused(client, "no-such-chain", 404, "no_such_chain")


async def refused(client: Client, chain: str, status: int, code: str) -> None:
    with pytest.raises(GatewayError) as caught:
        await client.undo(chain)
    assert (caught.value.status, caught.value.code) == (status, code)
