"""Many people, and somebody who writes to Redis, at one question about a destructive call; the
history check judges.

What must hold whoever wins: one answer is taken at most, nothing happens without a yes to just this
call, and no yes lets anything happen twice.
"""

import asyncio
import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.catalogue import Party
from haltpoint.contracts.events import TaskCancelled
from haltpoint.contracts.people.approvals import digest_of
from haltpoint.contracts.people.humans import Answer, Choice, Question, RequestKind
from haltpoint.runtime.store.inbox import Approves, Inbox, Verdict
from haltpoint.runtime.store.rows import Key, Part
from haltpoint.runtime.streams.connection import AutoPipeline
from tests.chaos.system import System, task
from tests.proofs.records import Answered, Recorder, hash_of
from tests.support import wait_until
from tests.support.desk import said_by

CROWD: Final = 50
MOMENT: Final = 0.03
"""Seconds in which all of it happens."""
RIVALS: Final = ("nobody", "expiry", "late", "cancel", "altered", "moved", "copied")


class Race:
    """One question after the other on a system of which the executor and a worker run."""

    def __init__(self, system: System, calls: AutoPipeline, recorder: Recorder) -> None:
        self.system = system
        self.redis = system.redis
        self.inbox = Inbox(calls, system.topology)
        self.recorder = recorder

    async def run(self, seed: int) -> str:
        """The race of this seed, until all its chains are over; who the rival was."""
        chance = random.Random(seed)
        rival = RIVALS[seed % len(RIVALS)]
        self.system.person.away = True
        question = await self._ask()
        other = await self._ask() if rival in ("moved", "copied") else None
        work: list[Any] = [self._say(question, number, chance, rival) for number in range(CROWD)]
        if rival not in ("nobody", "late"):
            work.insert(
                chance.randrange(CROWD),
                self._disturb(
                    rival, question, other, chance.choice((0.1, 1)) * chance.random() * MOMENT
                ),
            )
        taken = sum(one is True for one in await asyncio.gather(*work))
        assert taken == 1 or (taken == 0 and rival in ("expiry", "cancel")), (
            f"{taken} answers were taken"
        )
        self.system.person.away = False
        await self.system.settle()
        return rival

    async def _ask(self) -> Question:
        chain = await self.system.submit(task("drop"))
        request = f"{chain}.r1"
        await wait_until(lambda: self.system.person.sees(request))
        text = await self.redis.hget(self.system.topology.key_of(Key.DATA, chain), "r1")
        return msgspec.json.decode(text, type=Question)

    async def _say(
        self, question: Question, number: int, chance: random.Random, rival: str
    ) -> bool:
        """One of the crowd: yes, yes with a change, or no."""
        what = chance.choice(("yes", "yes", "edit", "no"))
        action, text = question.action_id, "drop 0"
        arguments: JsonObject | None = None
        digest = question.digest
        if what == "edit":
            text, arguments = "another", {"text": "another"}
            digest = digest_of(action, question.tool, arguments, question.preview_digest)
        decision = Choice.REJECT if what == "no" else Choice.APPROVE
        said = Answered(
            question.request_id, action, decision.value, taken=False, arguments=hash_of(text)
        )
        void = rival == "late"  # the yes is over as soon as it is given: to the history it is none
        answer = Answer(kind=RequestKind.CONFIRMATION, decision=decision, arguments=arguments)
        record = None if what == "no" else Approves(action, digest, 0 if void else 600)
        await asyncio.sleep(chance.random() * MOMENT)
        if not void:
            self.recorder.write(said)
        line = said_by(f"p{number}")
        verdict = await self.inbox.answer(question.request_id, answer, line=line, approves=record)
        if verdict is Verdict.TAKEN and not void:
            self.recorder.write(replace(said, taken=True))
        return verdict is Verdict.TAKEN

    async def _disturb(
        self, rival: str, question: Question, other: Question | None, moment: float
    ) -> None:
        await asyncio.sleep(moment)
        chain = question.request_id.partition(".")[0]
        match rival:
            case "expiry":  # of the question; its chain has no more time either
                await self._later(130)
            case "cancel":
                data = TaskCancelled.Data(by="a person")
                await self.system.store.cancel(
                    TaskCancelled(id=f"{chain}/cancel", source="test", subject=chain, data=data)
                )
            case "altered":
                await self._change_record(question, digest=hash_of("something else"))
            case _:
                assert other is not None
                await self._forge_answer(
                    other, await self._change_record(question, gone=rival == "moved")
                )

    async def _change_record(
        self, question: Question, *, digest: str = "", gone: bool = False
    ) -> bytes | None:
        """Take what record there is by now, and write another one over it, or none."""
        chain = question.request_id.partition(".")[0]
        key = self.system.topology.key_of(Key.DATA, chain)
        found: bytes | None = await self.redis.hget(key, _field(question))
        if found is not None and digest:
            await self.redis.hset(
                key, _field(question), digest.encode() + found[found.index(b" ") :]
            )
        if gone:
            await self.redis.hdel(key, _field(question))
        return found

    async def _forge_answer(self, other: Question, record: bytes | None) -> None:
        """Another chain hears of a yes that it has no record of: what lies there is that of the
        first one's call.
        """
        key = self.system.topology.key_of(Key.DATA, other.request_id.partition(".")[0])
        record = record or f"{hash_of('another call')} 99999999999999 open\na person".encode()
        await self.redis.hset(key, _field(other), record)
        answer = Answer(kind=RequestKind.CONFIRMATION, decision=Choice.APPROVE)
        verdict = await self.inbox.answer(other.request_id, answer, line=said_by("nobody"))
        assert verdict is Verdict.TAKEN

    async def _later(self, seconds: int) -> None:
        """Deadlines come nearer, in every partition."""
        for partition in range(self.system.topology.partitions):
            await self.redis.incrby(self.system.topology.key(partition, "clock"), seconds * 1000)


def _field(question: Question) -> str:
    return f"{question.action_id.partition('.')[2]}.{Part.APPROVAL}"


async def race(folder: Path, seeds: Iterable[int]) -> None:
    """All of these, one after the other, and the judgement."""
    async with System(folder) as system, AutoPipeline(system.redis) as calls:
        await system.host(Party.EXECUTOR)
        await system.host(Party.WORKER)
        recorder = Recorder(system.history, "crowd")
        races = Race(system, calls, recorder)
        try:
            for seed in seeds:
                try:
                    await races.run(seed)
                except AssertionError as error:
                    raise AssertionError(f"seed {seed}: {error}") from error
        finally:
            recorder.close()
        system.keeps_its_promises()
        assert await system.dead_letters() == []
