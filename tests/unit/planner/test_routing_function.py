"""The function of an operator that routes tasks: what it gets, what it may return, and what becomes
of its failures.
"""

import asyncio
import threading
from collections.abc import Awaitable
from contextvars import ContextVar

import pytest

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint_planner import routing_function
from haltpoint_planner.routing_function import run

NAMES = ["billing", "technical"]


def by_context(goal: str, context: JsonObject, names: list[str]) -> object:
    """What the task's context says it returns."""
    assert (goal, names) == ("the goal", NAMES)
    return context["returns"]


async def without_waiting(goal: str, context: JsonObject, names: list[str]) -> str:
    await asyncio.sleep(0)
    return names[1]


def returns_what_is_awaited(goal: str, context: JsonObject, names: list[str]) -> Awaitable[str]:
    return without_waiting(goal, context, names)


RELEASED, GIVEN = threading.Event(), ContextVar("GIVEN", default="nothing")


def hanging(goal: str, context: JsonObject, names: list[str]) -> str:
    RELEASED.wait(10)
    context["returns"].append("it has ended")
    return "billing"


def broken(goal: str, context: JsonObject, names: list[str]) -> str:
    raise KeyError(goal)


def ending(goal: str, context: JsonObject, names: list[str]) -> str:
    raise context["returns"]


async def ending_later(goal: str, context: JsonObject, names: list[str]) -> str:
    raise context["returns"]


def decision(agent: str, reasoning: str = "", confidence: float = 0.0) -> JsonObject:
    return {"target_agent": agent, "reasoning": reasoning, "confidence": confidence}


async def ask(name: str, returns: object = None) -> JsonObject:
    task = Task(goal="the goal", context={"returns": returns})
    return await run(f"{__name__}:{name}", task, NAMES)


@pytest.mark.parametrize(
    ("returns", "decided"),
    [
        ("billing", decision("billing", "", 1.0)),
        ({"target_agent": "billing"}, decision("billing")),
        ("Billing", decision("Billing", "", 1.0)),
        ({"target_agent": "x", "reasoning": "r", "confidence": 0.25}, decision("x", "r", 0.25)),
        ({"target_agent": "x", "confidence": 1}, decision("x", "", 1.0)),
    ],
)
async def test_i1_a_function_returns_a_name_or_a_decision(
    returns: object, decided: JsonObject
) -> None:
    assert await ask("by_context", returns) == decided


@pytest.mark.parametrize(
    "returns",
    [
        None,
        ["billing"],
        {"agent": "billing"},
        {"target_agent": 7},
        {"target_agent": "x", "confidence": True},
        {"target_agent": "x", "confidence": "high"},
        {"target_agent": "x", "confidence": 1e999},
        {"target_agent": "x", "reasoning": ["w"]},
        "g" * 5_000_000,
        "\ud800",
    ],
)
async def test_i1_what_is_no_decision_is_a_fault_of_the_function(returns: object) -> None:
    with pytest.raises(HaltpointError) as caught:
        await ask("by_context", returns)
    assert (caught.value.code, caught.value.fix) == ("HP-311", "Correct the function")


async def test_i1_it_may_be_async() -> None:
    assert (await ask("without_waiting"))["target_agent"] == "technical"
    assert (await ask("returns_what_is_awaited"))["target_agent"] == "technical"


@pytest.mark.parametrize(
    ("name", "why"), [("broken", "KeyError: 'the goal'"), ("gone", "AttributeError")]
)
async def test_i1_one_that_fails_or_is_not_there_says_why(name: str, why: str) -> None:
    with pytest.raises(HaltpointError) as caught:
        await ask(name)
    assert (caught.value.code, why in caught.value.why) == ("HP-311", True)
    assert "fallback" not in str(caught.value), "whether there is one, the decision says"


@pytest.mark.parametrize("name", ["ending", "ending_later"])
@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()]
)
async def test_i1_one_that_would_end_the_planner_has_failed(
    name: str, error: BaseException
) -> None:
    with pytest.raises(
        HaltpointError, match=f"{name} failed: RuntimeError: it raised {type(error).__name__}"
    ):
        await ask(name, error)


def test_i1_those_that_never_end_leave_the_others_their_threads_and_the_planner_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What asyncio has for all is a few threads, and its loop waits for each when it ends."""
    RELEASED.clear()
    ended, before = list[str](), set(threading.enumerate())

    async def run_them() -> JsonObject:
        monkeypatch.setattr(routing_function, "PATIENCE", 0.05)
        found = await asyncio.gather(
            *(ask("hanging", ended) for _ in range(40)), return_exceptions=True
        )
        assert all("too slow" in str(one) for one in found)
        monkeypatch.setattr(routing_function, "PATIENCE", 5)
        return await ask("by_context", "billing")

    assert asyncio.run(run_them())["target_agent"] == "billing"
    assert ended == []
    hanging_still = set(threading.enumerate()) - before
    assert (len(hanging_still), {one.daemon for one in hanging_still}) == (40, {True})
    RELEASED.set()
    for one in hanging_still:
        one.join()
    assert len(ended) == 40
