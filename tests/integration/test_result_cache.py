"""Results that a tool lets later calls have: whose, for how long, and what is not kept (`cache`)."""

from pathlib import Path
from typing import Any

import pytest

from haltpoint.chain.checks.checked import signature_of
from haltpoint.chain.model.schemas import Compiled
from haltpoint.contracts.results import Outcome
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.views.history import History
from haltpoint_tool_worker.results import cache
from tests.integration.test_tool_worker import Bench, bench, desk, effects
from tests.support import wait_until
from tests.support.builders import line_plan

__all__ = ["bench", "desk", "effects"]  # fixtures


async def called(
    bench: Bench, tool: str, *, user: str | None = None, tenant: str | None = None, **arguments: Any
) -> Outcome:
    """The outcome of one call in a chain of its own."""
    context = {"effects": str(bench.effects_file)}
    task = Task(goal="do it", plan=line_plan(1, tool, **arguments), context=context, user=user, tenant=tenant)
    chain = await bench.desk.submit(task)
    await bench.desk.decide_all()
    outcome = await bench.outcome(f"{chain}.s1.1")
    await bench.desk.decide_all()
    return outcome


async def test_an_equal_call_of_the_same_user_has_the_result_and_nothing_runs(bench: Bench) -> None:
    async with bench.worker():
        first = await called(bench, "price", user="ann", item="book")
        again = await called(bench, "price", user="ann", tax=True, item=" book")
    assert (first.metadata.cached, again.metadata.cached) == (False, True)
    assert again.satisfies
    assert len(bench.effects()) == 1
    (row,) = (await History(bench.desk.redis, bench.desk.topology).read(1)).tools
    assert (row.name, row.calls) == ("price", 1)


async def test_a_miss_works_the_signature_of_its_call_out_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    worked_out: list[str] = []

    def counted(schema: Compiled, arguments: str) -> str:
        worked_out.append(arguments)
        return signature_of(schema, arguments)

    monkeypatch.setattr(cache, "signature_of", counted)
    async with bench.worker():
        assert not (await called(bench, "price", user="ann", item="book")).metadata.cached
    assert len(worked_out) == 1


async def test_another_user_tenant_context_or_argument_has_a_call_of_its_own(bench: Bench, tmp_path: Path) -> None:
    async with bench.worker():
        await called(bench, "price", user="ann", item="book")
        for more in ({"user": "bob"}, {"user": "ann", "tenant": "acme"}, {"user": "ann", "tax": False}):
            assert not (await called(bench, "price", item="book", **more)).metadata.cached
        bench.effects_file = tmp_path / "other"
        assert not (await called(bench, "price", user="ann", item="book")).metadata.cached


async def test_a_shared_result_is_for_all_users_of_a_tenant(bench: Bench) -> None:
    async with bench.worker():
        await called(bench, "weather", user="ann", city="Bonn")
        assert (await called(bench, "weather", user="bob", city="Bonn")).metadata.cached
        assert not (await called(bench, "weather", user="bob", tenant="acme", city="Bonn")).metadata.cached


async def test_errors_are_not_kept(bench: Bench) -> None:
    async with bench.worker():
        for _ in range(2):
            assert not (await called(bench, "price", item="nothing")).metadata.cached
    assert len(bench.effects()) == 2


async def test_a_result_is_kept_as_long_as_its_tool_says(bench: Bench) -> None:
    async def gone() -> bool:
        return not await bench.desk.redis.keys("hp:*:cache:*")

    async with bench.worker():
        await called(bench, "instant")
        await wait_until(gone)
        assert not (await called(bench, "instant")).metadata.cached


async def test_what_another_release_has_kept_in_another_form_is_not_read(bench: Bench) -> None:
    async with bench.worker():
        await called(bench, "weather", city="Bonn")
        (key,) = await bench.desk.redis.keys("hp:*:cache:*")
        await bench.desk.redis.set(key, b"of another form")
        assert not (await called(bench, "weather", city="Bonn")).metadata.cached
    assert len(bench.effects()) == 2
