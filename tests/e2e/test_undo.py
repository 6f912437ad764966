"""What a chain has done is undone, the last effect first, in a chain of its own (CONTRACT E7), over real processes."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from haltpoint.client import Client, GatewayError
from haltpoint.contracts.base import undo_id
from haltpoint.contracts.people.humans import RequestKind
from tests.e2e.running import Running, executors_killed
from tests.support import wait_until


def planting(*names: str, then: str = "") -> dict[str, Any]:
    calls = [{"tool": "plant", "arguments": {"name": name}} for name in names]
    calls += [{"tool": then, "arguments": {}}] if then else []
    return {"plan": {"steps": [{"id": "garden", "required_tools": ["plant"], "actions": calls}]}}


async def test_e7_what_can_be_undone_is_undone_once_in_reverse_order(system: Running, client: Client) -> None:
    run = await client.run(task=planting("ash", "oak", "beech"))
    assert (await run.result()).status == "completed"

    shown = await asyncio.to_thread(system.command, "chain", "undo", run.id, "--quiet")
    assert shown.returncode == 1, "one of the compensations fails"
    undoing = undo_id(run.id)
    assert system.written(undoing) == ["uprooted beech 5", "uprooted ash 3"]
    assert (await client.undo(run.id)).id == undoing
    assert system.written(undoing) == ["uprooted beech 5", "uprooted ash 3"]
    answer = (await client.chain(run.id)).answer
    assert answer is not None
    assert [one.says for one in answer.undone] == ['Planted "beech"', 'Planted "ash"']
    assert [one.says for one in answer.not_undone] == ['Planted "oak"']
    told = (await system.typed("chain", "show", run.id)).stdout
    assert 'Undone: Planted "ash"' in told
    assert 'Not undone: Planted "oak"' in told


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


@pytest.mark.parametrize("killed", [False, True])
async def test_e7_a_chain_that_fails_undoes_what_it_has_done_and_then_says_so_once(
    system: Running, client: Client, killed: bool
) -> None:
    run = await client.run(task=planting("ash", "oak", "beech", then="inspect_garden"))
    if killed:
        async with executors_killed(system):
            pass
    result = await run.result()
    assert result.status == "failed"
    assert system.written(undo_id(run.id)) == ["uprooted beech 5", "uprooted ash 3"]
    assert [one.says for one in result.answer.undone] == ['Planted "beech"', 'Planted "ash"']
    assert [one.says for one in result.answer.not_undone] == ['Planted "oak"']
    events = [one.type async for one in run.events()]
    assert [events.count(one) for one in ("chain.undoing", "chain.failed")] == [1, 1]


async def test_e7_a_chain_that_must_not_undo_lists_what_can_be_undone(system: Running, client: Client) -> None:
    run = await client.run(task={**planting("fir", then="inspect_garden"), "undo": "never"})
    result = await run.result()
    assert [one.says for one in result.answer.not_undone] == ['Planted "fir"']
    assert result.answer.undone == ()
    assert (await (await client.undo(run.id)).result()).status == "completed"
    assert system.written(undo_id(run.id)) == ["uprooted fir 3"]


async def test_e7_run_says_whether_what_it_has_done_is_undone(system: Running, client: Client, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(planting("fir", then="inspect_garden")["plan"]))
    shown = await system.typed("run", "--plan", str(plan), "--undo", "never")
    assert (shown.returncode, "Not undone: Planted" in shown.stdout) == (1, True), shown.stdout


@pytest.mark.parametrize("yes", [True, False])
async def test_e7_a_person_says_whether_a_chain_undoes_what_it_has_done(
    system: Running, client: Client, yes: bool
) -> None:
    run = await client.run(task={**planting("ash", "fir", then="inspect_garden"), "undo": "ask"})
    request = await run.expects_request(RequestKind.CONFIRMATION)
    assert (request.preview or "").splitlines() == [
        f'Planted "fir" ({run.id}.garden.2)',
        f'Planted "ash" ({run.id}.garden.1)',
    ]
    shown = await system.typed("inbox")
    assert 'Planted "fir"' in shown.stdout
    assert f"haltpoint answer {request.id} --approve" in shown.stdout
    with pytest.raises(GatewayError, match="about no call"):
        await client.answer(request.id, decision="approve", arguments={})

    async with executors_killed(system):
        answered = await system.typed("answer", request.id, *(("--approve",) if yes else ("--reject", "keep them")))
        assert answered.returncode == 0, answered.stderr

    result = await run.result()
    assert result.status == "failed"
    assert system.written(undo_id(run.id)) == (["uprooted fir 3", "uprooted ash 3"] if yes else [])
    undone, left = result.answer.undone, result.answer.not_undone
    assert [one.says for one in left] == ([] if yes else ['Planted "ash"', 'Planted "fir"'])
    assert [one.says for one in undone] == (['Planted "fir"', 'Planted "ash"'] if yes else [])
    events = [one.type async for one in run.events()]
    assert [events.count(one) for one in ("request.opened", "chain.undoing", "chain.failed")] == [1, int(yes), 1]


async def test_e7_a_compensation_whose_worker_dies_after_its_effect_is_in_doubt_and_not_run_again(
    system: Running, client: Client
) -> None:
    run = await client.run(task=planting("willow"))
    await run.result()
    undoing = await client.undo(run.id)

    async def asked() -> bool:
        return bool((await client.chain(undoing.id)).requests)

    await wait_until(asked)
    (request,) = (await client.chain(undoing.id)).requests
    assert request.kind is RequestKind.IN_DOUBT
    await client.answer(request.id, decision="happened")
    assert (await undoing.result()).status == "completed"
    assert system.written(undoing.id) == ["uprooted willow 6"]
    answer = (await client.chain(run.id)).answer
    assert answer is not None
    assert [one.says for one in answer.undone] == ['Planted "willow"']


async def test_e7_an_undoing_that_was_cancelled_is_said_so_and_not_begun_again(system: Running, client: Client) -> None:
    run = await client.run(task=planting("willow"))
    await run.result()
    undoing = await client.undo(run.id)
    await undoing.expects_request(RequestKind.IN_DOUBT)
    await undoing.cancel("enough")
    assert (await undoing.result()).status == "cancelled"
    with pytest.raises(GatewayError) as refused:
        await client.undo(run.id)
    assert refused.value.code == "undo_cancelled"


async def test_e7_cancel_undo_undoes_what_a_chain_has_done_that_would_not_by_itself(
    system: Running, client: Client
) -> None:
    run = await client.run(task={**planting("fir", then="wait_long"), "undo": "never"})

    async def planted() -> bool:
        return system.written(run.id) == ["planted fir"]

    await wait_until(planted)
    shown = await asyncio.to_thread(system.command, "chain", "cancel", run.id, "--undo")
    assert shown.returncode == 0, shown.stderr
    assert system.written(undo_id(run.id)) == ["uprooted fir 3"]
    assert (await client.chain(run.id)).status == "cancelled"
