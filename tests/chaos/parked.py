"""Five questions wait three levels below their roots while everything is stopped and started again.

A seed draws how each service and the server stop, and in which order a person answers. Each answer has to reach the
chain that asked, and through the agents above it the root.
"""

import asyncio
import json
import random
import signal
from pathlib import Path
from typing import Any, Final

from haltpoint.contracts.catalogue import Party
from haltpoint.contracts.people.humans import Choice
from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint.contracts.views.chains import RequestView
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.routing import ROUTE
from haltpoint.contracts.work.tasks import Style, Task
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.views.views import Views
from haltpoint.testing.script import Script
from haltpoint.testing.script_model import ScriptedModel
from tests.chaos.system import Child, System, pretty
from tests.proofs.records import Answered, Recorder
from tests.support import wait_until
from tests.support.builders import ALL_LISTS, call, plan, tool_step

QUESTIONS: Final = 5
SEEDS: Final = 100
LEVELS: Final = ("front", "team", "clerk", "junior")
ROLES: Final = (Party.EXECUTOR, Party.PLANNER, Party.WORKER, Party.GATEWAY)
FILE: Final = Agents(
    agents=tuple(
        Agent(name=name, description=f"The {name}.", tools=(), agents=(below,) if below else (), style=Style.REACT)
        for name, below in zip(LEVELS, (*LEVELS[1:], ""), strict=True)
    )
)


_QUESTION: Final = {"name": ASK_HUMAN, "arguments": {"question": "Which colour for {{goal.what}}?"}}


def _handed_on(agent: str) -> dict[str, Any]:
    return {"name": ROUTE, "arguments": {"target_agent": agent, "task": f"{agent}: {{{{goal.what}}}}"}}


def rules() -> list[dict[str, Any]]:
    """Each hands its task on and passes the words back that come from below; the last one asks a person."""
    found = list[dict[str, Any]]()
    for name, below in zip(LEVELS, (*LEVELS[1:], ASK_HUMAN), strict=True):
        goal = rf"^{name}: (?P<what>\w+)$"
        call, words = _handed_on(below), "{{result.data.text}}"
        if below == ASK_HUMAN:
            call, words = _QUESTION, "{{result.data.answer}}"
        found += [
            {"when": {"goal": goal, "results": [call["name"]]}, "say": {"content": words}},
            {"when": {"goal": goal}, "say": {"calls": [call]}},
        ]
    return found


SCRIPT: Final = Script.model_validate({"rules": rules()})


class Parked:
    """What one seed draws, on a system that runs."""

    def __init__(self, system: System, recorder: Recorder, seed: int) -> None:
        self.system = system
        self.recorder = recorder
        self.chance = random.Random(seed)
        self.services: list[Child] = []
        self.roots: dict[str, str] = {}
        """By what is asked about, the root below which it is asked."""
        self.answers: dict[str, str] = {}
        """By the id of a question what a person said."""

    async def run(self) -> list[RequestView]:
        """Ask, stop, start, answer, until all chains are over; the questions."""
        await self._start()
        for number in range(QUESTIONS):
            thing = f"thing{number}"
            self.roots[thing] = await self.system.submit(self._task(thing))
        await wait_until(self._all_ask)
        asked = await self._open()
        await self._stop()
        await self._start()
        again = self.chance.randrange(2 * QUESTIONS)  # half of the seeds stop once more, between two answers
        self.chance.shuffle(asked)
        for number, request in enumerate(asked):
            if number == again and number:
                await self._stop()
                await self._start()
            await self._answer(request)
        await self.system.settle()
        return asked

    def _task(self, thing: str) -> Task:
        """A root that a model works on, or that hands the thing on by a plan of its own."""
        if self.chance.random() < 0.5:
            return Task(goal=f"front: {thing}", agent="front", style=Style.REACT, bounds=ALL_LISTS)
        steps = tool_step(thing, call("team", task=f"team: {thing}"))
        return Task(goal="Paint", plan=plan(steps), agent="front")

    # ---- services

    async def _start(self) -> None:
        self.services = list(await asyncio.gather(*map(self.system.launch, ROLES)))

    async def _stop(self) -> None:
        """Everything, in any order and in any way."""
        for child in self.chance.sample(self.services, len(self.services)):
            child.signal(self.chance.choice((signal.SIGKILL, signal.SIGTERM)))
            if self.chance.random() < 0.5:
                await child.end
        await asyncio.gather(*(child.end for child in self.services))
        server = self.system.server
        if self.chance.random() < 0.5:
            await asyncio.to_thread(server.kill)
        else:
            await asyncio.to_thread(server.stop)
        await asyncio.to_thread(server.start)

    # ---- people

    async def _open(self) -> list[RequestView]:
        return list((await self.system.client.requests(limit=50)).items)

    async def _all_ask(self) -> bool:
        return len(await self._open()) == QUESTIONS

    async def _answer(self, request: RequestView) -> None:
        said = f"colour {len(self.answers)} for {request.chain_id}"
        record = {"request": request.id, "action": request.action_id, "decision": Choice.ANSWER.value}
        self.recorder.write(Answered(**record, taken=False))
        await self.system.client.answer(request.id, text=said)
        self.recorder.write(Answered(**record, taken=True))
        self.answers[request.id] = said

    # ---- the judgement

    async def judge(self, asked: list[RequestView]) -> None:
        """Each answer is where it was asked for and above; nothing was asked twice."""
        about = {request.question.split()[-1].rstrip("?"): request for request in asked}
        assert about.keys() == self.roots.keys()
        async with AutoPipeline(self.system.redis) as calls:
            views = Views(self.system.redis, calls, self.system.topology)
            for thing, request in about.items():
                root, said = self.roots[thing], self.answers[request.id]
                assert request.path == LEVELS
                names = request.chain_id.split("~")
                assert (names[0], len(names)) == (root, len(LEVELS))
                for level in range(1, len(names) + 1):
                    chain = await views.chain("~".join(names[:level]), lambda _: True)
                    assert chain is not None
                    assert chain.status == "completed"
                    own = chain.requests
                    assert [one.id for one in own] == ([request.id] if level == len(names) else [])
                    found = [
                        json.dumps(action.receipt.data)
                        for step in chain.steps
                        for action in step.actions
                        if action.receipt is not None
                    ]
                    assert sum(said in text for text in found) == 1, (said, found)


async def run_parked(seed: int, folder: Path) -> None:
    """Let it happen, and judge."""
    async with (
        ScriptedModel(SCRIPT) as model,
        System(folder, partitions=1 + seed % 2, model_url=model.base_url, agents=FILE) as system,
    ):
        system.person.away = True
        recorder = Recorder(system.history, "answers")
        try:
            parked = Parked(system, recorder, seed)
            asked = await parked.run()
        finally:
            recorder.close()
        await parked.judge(asked)
        await system.read_answers()
        violations = system.violations()
        assert not violations, pretty(violations)
        assert await system.dead_letters() == []
        assert not system.errors(), "\n".join(system.errors())
