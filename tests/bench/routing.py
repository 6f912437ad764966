"""What routing without a model costs: one decision by fifty rules, and a task that is routed beside one that is named.

`python -m tests.bench.routing` prints both, in ms.
"""

import json
import math
import statistics
import tempfile
import time
from pathlib import Path
from typing import Final

import uvloop
from msgspec import structs

from haltpoint.chain.checks.strategies import BY_STRATEGY
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.routing import SUPERVISOR, Rule, Strategy, Supervisor
from haltpoint.contracts.work.tasks import Task
from tests.bench import system
from tests.support.agents_toml import written

AGENTS, RULES, ROUNDS = 20, 50, 400

_WORDS: Final = ("invoice", "refund", "crash", "parcel", "contract")
GOAL: Final = (
    "Hello, my name is Ann. I have ordered two lamps and a table last week, and only one of the lamps came. It works. "
    'The letter said: "please call us". Could you find out where the rest is? Do not cancel the order. Thank you!'
)


def agents(strategy: Strategy = Strategy.RULE) -> Agents:
    """Twenty agents with five skills each, and fifty rules of which the last one fits."""
    named = tuple(
        Agent(name=f"agent{number}", description="d", skills=tuple(f"{word}{number}" for word in _WORDS))
        for number in range(AGENTS)
    )
    rules = tuple(
        Rule(
            id=f"r{number}",
            agent=f"agent{number % AGENTS}",
            match=rf"\b{_WORDS[number % 5]}{number}s?\b|\bvip{number}\b",
        )
        for number in range(RULES - 1)
    )
    last = Rule(id="last", agent="agent7", match=r"\blamps?\b|bench")
    return Agents(agents=named, supervisor=Supervisor(strategy=strategy, rules=(*rules, last)))


def decision_ms(strategy: Strategy = Strategy.RULE) -> dict[str, float]:
    """One decision: ms of the processor that the thread takes, so that other processes do not count."""
    file, task, times = agents(strategy), Task(goal=GOAL, agent=SUPERVISOR), list[float]()
    for _ in range(2000):
        started = time.thread_time()
        BY_STRATEGY[strategy](task, file, {}, 1)
        times.append((time.thread_time() - started) * 1000)
    return _spread(times)


def task_ms(folder: Path) -> dict[str, dict[str, float]]:
    """From submission to the end of a chain of one step on an idle system: named, and routed by the last rule. In turn,
    so that a slow moment of the machine meets both.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with system.system(folder, agents=written(agents(), folder)) as (server, _):

        async def measure() -> dict[str, dict[str, float]]:
            async with system.driver(server.url) as drive:
                routed = system.sequence(1)
                named = structs.replace(routed, agent="agent7")
                times: dict[str, list[float]] = {"named": [], "routed": []}
                for _ in range(10):
                    times["named"] += await drive.idle(named, ROUNDS // 10)
                    times["routed"] += await drive.idle(routed, ROUNDS // 10)
                return {name: _spread(one) for name, one in times.items()}

        return uvloop.run(measure())


def _spread(times: list[float]) -> dict[str, float]:
    times = sorted(times)
    return {"p50": round(statistics.median(times), 3), "p99": round(times[math.ceil(len(times) * 0.99) - 1], 3)}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as found:
        decisions = {one.value: decision_ms(one) for one in (Strategy.RULE, Strategy.SKILL)}
        print(json.dumps({"decision": decisions, "task": task_ms(Path(found))}, indent=1))
