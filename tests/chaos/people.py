"""The two observers who do not die: a person who looks before answering, and a watcher of all that
is told.
"""

import asyncio
import hashlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from haltpoint.client import Client
from haltpoint.contracts.base import JsonObject, chain_of
from haltpoint.contracts.facts import FINAL_FACTS
from haltpoint.contracts.people.humans import Answer, Choice, Question, RequestKind, RequestStatus
from haltpoint.contracts.results import NextAction
from haltpoint.runtime.store.inbox import Approves, Inbox, Verdict
from haltpoint.runtime.store.log_lines import decode_line
from haltpoint.runtime.store.rows import Key, Kind
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import Topology
from tests.proofs.records import Answered, Receipt, Recorder, Told, effects_in, hash_of
from tests.support.desk import said_by
from tests.support.stored import Stored

APPROVAL_SECONDS: Final = 600.0


class Person:
    """Answers every open question truthfully: whether something happened is looked up in the
    provider's own file.
    """

    name = "a person"

    def __init__(self, redis: Any, calls: AutoPipeline, topology: Topology, history: Path) -> None:
        self._redis = redis
        self._topology = topology
        self._history = history
        self._inbox = Inbox(calls, topology)
        self._recorder = Recorder(history, "person")
        self.away = False
        self.yes = 0
        """How often a call was approved."""

    def close(self) -> None:
        """Give the file back."""
        self._recorder.close()

    async def look(self) -> None:
        """Answer what is open now. Raises redis-py's errors; then everything may be done again."""
        if self.away:
            return
        for partition in range(self._topology.partitions):
            for name in await self._redis.zrange(
                self._topology.key(partition, "index:requests"), 0, -1
            ):
                await self._answer(name.decode())

    async def _answer(self, request: str) -> None:
        stored = await Stored(self._redis, self._topology).request(request)
        assert stored is not None
        question = msgspec.json.decode(stored.question, type=Question)
        answer = self.answer_to(question)
        said = Answered(
            request,
            question.action_id,
            answer.decision.value,
            taken=False,
            arguments=_hash(question),
        )
        record = None
        if answer.decision is Choice.APPROVE:
            record = Approves(question.action_id, question.digest, APPROVAL_SECONDS)
        self._recorder.write(said)
        verdict = await self._inbox.answer(
            request, answer, line=said_by(self.name), approves=record
        )
        if verdict is Verdict.TAKEN or await self._was_first(request):
            self._recorder.write(replace(said, taken=True))
            self.yes += answer.decision is Choice.APPROVE

    async def _was_first(self, request: str) -> bool:
        """Whether an earlier answer of this person counts."""
        stored: Any = await Stored(self._redis, self._topology).request(request)
        return bool(stored.answer) and stored.answer.by == self.name

    async def sees(self, request: str) -> bool:
        """Whether this is asked now."""
        stored = await Stored(self._redis, self._topology).request(request)
        return stored is not None and stored.status is RequestStatus.OPEN

    async def answer_over_http(self, client: Client, request: str) -> None:
        """Choose the first option, or say yes to the call, by the gateway."""
        view = await client.request(request)
        decision = Choice.APPROVE if view.kind is RequestKind.CONFIRMATION else Choice.SELECT
        option = view.options[0].id if decision is Choice.SELECT else None
        arguments = hash_of(str(view.arguments.get("text")))
        said = Answered(request, view.action_id, decision.value, taken=False, arguments=arguments)
        self._recorder.write(said)
        await client.answer(request, option_id=option, decision=decision)
        self._recorder.write(replace(said, taken=True))

    def knows_of(self, action: str) -> bool:
        """Whether the provider was called for this action."""
        return any(effect.key == action for effect in effects_in(self._history))

    def answer_to(self, question: Question) -> Answer:
        """What a truthful person says."""
        match question.kind:
            case RequestKind.CLARIFICATION:
                return Answer(kind=question.kind, option_id=question.options[0].id)
            case RequestKind.CONFIRMATION:
                return Answer(kind=question.kind, decision=Choice.APPROVE)
            case RequestKind.IN_DOUBT:
                happened = self.knows_of(question.action_id)
                value = (
                    {"text": "seen at the provider", "key": question.action_id}
                    if happened
                    else None
                )
                decision = Choice.HAPPENED if happened else Choice.NOT_HAPPENED
                return Answer(kind=question.kind, decision=decision, value=value)
            case RequestKind.INPUT:
                return Answer(kind=question.kind, decision=Choice.ANSWER, text="as you like")
            case RequestKind.ESCALATION:
                return Answer(kind=question.kind, decision=Choice.RETRY)
            case RequestKind.LEAVE_OUT:
                return Answer(kind=question.kind, decision=Choice.ACCEPT)


def _hash(question: Question) -> str:
    return hash_of(str(json.loads(question.arguments or "{}").get("text")))


class Watcher:
    """Writes down every fact of the feed in its order, and the receipts of each action as soon as
    it can.
    """

    def __init__(self, redis: Any, topology: Topology, history: Path) -> None:
        self._redis = redis
        self._topology = topology
        self._recorder = Recorder(history, "watcher")
        self._last = dict.fromkeys(range(topology.partitions), "-")
        self._actions: dict[str, set[str]] = {}
        self._ended: set[str] = set()
        self._over: set[str] = set()
        """Chains of which all was seen when they had ended."""
        self._receipts: set[Receipt] = set()
        self.facts: Counter[str] = Counter()
        """How often each fact was told so far, of all chains and, as `<chain>`, how many of one."""
        # Two looks at once would both tell what came after the last one.
        self._one_at_a_time = asyncio.Lock()

    def close(self) -> None:
        """Give the file back."""
        self._recorder.close()

    async def look(self, *, again: bool = False) -> None:
        """See what is new; `again`: look at the receipts of chains that are over, too. Raises
        redis-py's errors; then it is seen again.
        """
        async with self._one_at_a_time:
            await self._look_at_feed()
            for chain, actions in self._actions.items():
                if again or chain not in self._over:
                    for action in sorted(actions):
                        await self._look_at(action)
            self._over |= self._ended

    async def _look_at_feed(self) -> None:
        for partition, last in self._last.items():
            for entry, fields in await self._redis.xrange(
                self._topology.key(partition, "feed"), min=last, max="+"
            ):
                lines = [line.partition(":") for line in fields.get(b"lines", b"").decode().split()]
                # All are read before one is told: what a server that dies keeps back comes again.
                texts = [
                    await self._redis.lindex(self._topology.key_of(Key.LOG, chain), int(number))
                    for chain, _, number in lines
                ]
                for (chain, _, _), text in zip(lines, texts, strict=True):
                    if text is not None:  # else the server has lost it
                        self._tell(chain, decode_line(chain, text).facts)
                self._last[partition] = f"({entry.decode()}"

    def _tell(self, chain: str, facts: list[tuple[str, JsonObject]]) -> None:
        for fact, details in facts:
            action = details.get("action_id", "")
            self._recorder.write(Told(chain, fact, action))
            self.facts.update((fact, chain))
            if fact in FINAL_FACTS:
                self._ended.add(chain)
            if action:
                assert chain_of(action) == chain
                self._actions.setdefault(chain, set()).add(action)

    async def _look_at(self, action: str) -> None:
        receipts = await Stored(self._redis, self._topology).receipts(action)
        for attempt, found in receipts.items():
            if found is None or found.kind is Kind.IN_DOUBT:
                continue
            digest = hashlib.sha256(f"{found.outcome}{found.data}".encode()).hexdigest()[:16]
            outcome = json.loads(found.outcome)
            # A question that is asked before the tool runs is no success of the tool.
            success = (
                outcome["success"] and outcome["next_action"] != NextAction.CONFIRMATION_NEEDED
            )
            receipt = Receipt(action, attempt, digest, success)
            if receipt not in self._receipts:
                self._receipts.add(receipt)
                self._recorder.write(receipt)
