"""The crash matrix: who dies where, for which class of effects; each cell is one test.

Points are told in `fail_points`. A cell of several points is of several deaths: the first process
dies at the first point, the one that is started in its stead at the second, and so on.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haltpoint.contracts.catalogue import Party
from haltpoint.contracts.work.tasks import Task
from haltpoint.testing.script import Script
from haltpoint.testing.script_model import ScriptedModel
from tests.chaos.nursery import Child
from tests.chaos.system import Server, System, task
from tests.support import wait_until
from tests.support.builders import open_task

EFFECTS = {"read_only": "look", "idempotent": "save", "other": "send", "destructive": "drop"}
ONCE = {**EFFECTS, "once": "pay"}
"""With one whose effect happens once over all chains (E6): it dies around its reservation too."""


@dataclass(frozen=True)
class Cell:
    """`victim` None: the server itself dies, while the tool runs or right after the submission."""

    victim: Party | None
    points: tuple[str, ...]
    effects: str = "read_only"
    nth: int = 1

    def __str__(self) -> str:
        who = self.victim.value if self.victim else "server"
        return f"{who}-{'-then-'.join(self.points)}-{self.nth}-{self.effects}".replace(" ", "_")


def _cells() -> list[Cell]:
    cells = [
        *(
            Cell(Party.PLANNER, (point,), "other")
            for point in ("read", "before record_thought", "after record_thought")
        ),
        *(
            Cell(Party.GATEWAY, (point,), "other")
            for point in (*_around("submit"), *_around("answer"))
        ),
        Cell(Party.WORKER, ("effect", "after claim"), "idempotent"),
        Cell(Party.WORKER, ("after claim", "before complete"), "other"),
        # A destructive call: its question, its yes, and that this is used up.
        *(Cell(Party.WORKER, ("preview",), "destructive", nth) for nth in (1, 2)),
        *(Cell(Party.GATEWAY, (point,), "destructive") for point in _around("answer")),
        Cell(Party.WORKER, ("after claim", "after claim"), "destructive"),
        # Between the reservation of an effect, its claim, the effect and its record, and the end of
        # the reservation.
        *(
            Cell(Party.WORKER, (point,), "once")
            for point in (*_around("reserve_effect"), *_around("settle_effect"))
        ),
        *(
            Cell(Party.WORKER, (point,), "once")
            for point in ("after claim", "effect", *_around("complete"))
        ),
        Cell(Party.WORKER, ("after reserve_effect", "after reserve_effect"), "once"),
    ]
    for effects in EFFECTS:
        cells += (
            Cell(Party.WORKER, (point,), effects)
            for point in ("read", "effect", *_around("complete"))
        )
        # Who takes over what can be repeated claims it too.
        cells.append(
            Cell(
                Party.WORKER,
                ("after claim",)
                if effects in ("other", "destructive")
                else ("read", "after claim"),
                effects,
            )
        )
        points = [(point, nth) for nth in (1, 2) for point in ("read", *_around("commit"))]
        cells += (Cell(Party.EXECUTOR, (point,), effects, nth) for point, nth in points)
        cells += (Cell(None, (point,), effects) for point in ("while a tool runs", "after submit"))
    return cells


def _around(function: str) -> tuple[str, str]:
    return f"before {function}", f"after {function}"


CELLS = _cells()
FEW = (
    Cell(Party.WORKER, ("after claim", "before complete"), "other"),
    Cell(Party.WORKER, ("effect", "after claim"), "idempotent"),
    Cell(Party.EXECUTOR, ("before commit",), "other", 2),
    Cell(Party.PLANNER, ("before record_thought",), "other"),
    Cell(Party.GATEWAY, ("after answer",), "destructive"),
    Cell(Party.WORKER, ("preview",), "destructive", 2),
    Cell(Party.WORKER, ("after reserve_effect",), "once"),
    Cell(Party.WORKER, ("effect",), "once"),
    Cell(Party.WORKER, ("after claim", "after claim"), "destructive"),
    Cell(None, ("while a tool runs",), "read_only"),
)
"""One for each service and the server, and for each class of effects."""
assert {*FEW} <= {*CELLS}

SCRIPT = Script.model_validate(
    {
        "rules": [
            {
                "when": {"without": ["send"]},
                "say": {"calls": [{"name": "send", "arguments": {"text": "send"}}]},
            },
            {"say": {"content": "It is done."}},
        ]
    }
)


async def run_cell(cell: Cell, folder: Path, server: Server | None = None) -> None:
    """Let it happen, and judge."""
    async with (
        ScriptedModel(SCRIPT) as model,
        System(folder, model_url=model.base_url, server=server) as system,
    ):
        match cell.victim:
            case None:
                await _server(cell, system)
            case Party.WORKER:
                await system.host(Party.EXECUTOR)
                await _die(cell, system, task(ONCE[cell.effects], "look"))
            case Party.EXECUTOR:
                await system.host(Party.WORKER)
                await _die(cell, system, task(EFFECTS[cell.effects], "look"))
            case Party.PLANNER:
                await system.host(Party.EXECUTOR)
                await system.host(Party.WORKER)
                await _die(cell, system, open_task("Send it."))
            case Party.GATEWAY:
                await system.host(Party.EXECUTOR)
                await system.host(Party.WORKER)
                await _gateway(cell, system)
            case _:
                raise AssertionError(cell)
        await system.settle()
        await system.all_succeeded()


async def _die(cell: Cell, system: System, work: Task) -> None:
    assert cell.victim is not None
    victim = await system.launch(cell.victim, cell.points[0], cell.nth)
    await system.submit(work)
    for point in (*cell.points[1:], ""):
        await victim.dies()
        victim = await system.launch(cell.victim, point)


async def _server(cell: Cell, system: System) -> None:
    await system.host(Party.EXECUTOR)
    await system.host(Party.WORKER)
    chain = await system.submit(task(EFFECTS[cell.effects], "look", seconds=0.5))
    if cell.points == ("while a tool runs",):
        await wait_until(lambda: system.person.knows_of(f"{chain}.s0.1"))
    system.server.kill()
    await asyncio.to_thread(system.server.start)


async def _gateway(cell: Cell, system: System) -> None:
    """The client of HTTP repeats what it got no answer to, under the same key."""
    system.person.away = True
    gateway = await system.launch(Party.GATEWAY, cell.points[0])
    submission = asyncio.create_task(
        system.submit(
            task("drop") if cell.effects == "destructive" else task("send", "ask"),
            "order-7",
            over_http=True,
        )
    )
    if "submit" in cell.points[0]:
        await _dies_first(gateway, submission)
        gateway = await system.launch(Party.GATEWAY)
    chain = await submission
    await wait_until(lambda: system.person.sees(f"{chain}.r1"))
    answer = asyncio.create_task(system.person.answer_over_http(system.client, f"{chain}.r1"))
    if "answer" in cell.points[0]:
        await _dies_first(gateway, answer)
        gateway = await system.launch(Party.GATEWAY)
    await answer


async def _dies_first(victim: Child, caller: "asyncio.Task[Any]") -> None:
    """The caller is still waiting for its answer when the victim dies."""
    death = asyncio.create_task(victim.dies())
    await asyncio.wait({death, caller}, return_when=asyncio.FIRST_COMPLETED)
    assert not caller.done(), f"it got an answer: {caller.result()}"
    await death
