"""The model check's functions beside the real ones: the same random commands, answers, and states
after them.
"""

import os
import random
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from redis.asyncio import Redis

from haltpoint.chain.decide import decide
from haltpoint.chain.model.limits import Policy, World
from haltpoint.contracts import commands, events
from haltpoint.contracts.base import action_id
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.people.humans import Answer, Choice, RequestKind
from haltpoint.contracts.results import ErrorType
from haltpoint.runtime.store import rows
from haltpoint.runtime.store.committing import ChainCommit, Decided, Loaded
from haltpoint.runtime.store.dead_letters import DeadAction, Orphan
from haltpoint.runtime.store.inbox import Approves, Verdict
from haltpoint.runtime.store.receipts import Finished, ReceiptStore
from haltpoint.runtime.store.rows import ActionState, Head, Key, Part, StoredAction, local
from haltpoint.runtime.streams.topology import PREFIX, EntryRef
from haltpoint.runtime.streams.wire import DeadLetterReason, Decoded, decode
from tests.proofs import functions
from tests.proofs.decisions import CHAIN, Decisions, Kind, approved_digest, outcome_of
from tests.proofs.functions import COPY, FORGED, REQUEUED, Item, Sent
from tests.support import empty
from tests.support.builders import OK, asks, failed
from tests.support.desk import Desk, desk_at
from tests.support.function_rules import Approval, Receipt

ACTIONS = (Kind.DESTRUCTIVE, Kind.READ_ONLY, Kind.ASKS)
OUTCOMES = {
    Receipt.OK: OK,
    Receipt.ASKS: asks("o1", "o2"),
    Receipt.CONFIRMS: outcome_of(Receipt.CONFIRMS, ""),
    Receipt.FAILED: failed(),
    Receipt.IN_DOUBT: failed(ErrorType.IN_DOUBT),
}
CHOICES = {
    "in_doubt": ("happened", "not_happened"),
    "clarification": ("select",),
    "confirmation": (*["approve"] * 5, "reject"),
}


class Pair:
    """The model's store and the real one. Entries have names in the model and ids in Redis."""

    def __init__(self, desk: Desk, chance: random.Random) -> None:
        self.desk = desk
        self.chance = chance
        self.decisions = Decisions(ACTIONS)
        self.store = functions.nothing_yet(tuple(kind.repeatable for kind in ACTIONS))
        self.world = World({kind.value: kind.spec for kind in ACTIONS}, Policy())
        self.items: dict[tuple[int, int], str] = {}
        self.letters: dict[tuple[int, int], str] = {}
        self.snapshots: list[tuple[int, int, Loaded]] = []

    async def step(self) -> None:
        """One command to both."""
        often = (self.turn, self.turn, self.claim, self.answer, self.complete)
        rare = (
            self.submit,
            self.load,
            self.commit,
            self.dead_letter,
            self.put_aside,
            self.requeue,
            self.copy,
            self.take_over,
        )
        await self.chance.choice((*often, *often, *rare))()
        await self.compare()

    async def submit(self) -> None:
        chain = self.decisions.chains[self.decisions.submitted]
        assert chain is not None
        real = await self.desk.store.submit(chain.task, chain_id=CHAIN)
        self.store, status = functions.submit(self.store, self.decisions.submitted)
        assert real.status == status

    async def load(self) -> None:
        """An executor reads, and may come back with that much later."""
        if self.store.chain:
            loaded = (await self.desk.store.load([CHAIN]))[CHAIN]
            self.snapshots.append((self.store.chain, self.store.version, loaded))

    async def turn(self) -> None:
        """An executor that is not late."""
        await self.load()
        await self.commit()

    async def commit(self) -> None:
        if not self.store.events or not self.snapshots:
            return
        number, version, loaded = (
            self.snapshots[-1] if self.chance.random() < 0.7 else self.snapshots[0]
        )
        entry = self.chance.choice(sorted(self.store.events))
        name, message = (await self.messages())[entry]
        decision = decide(
            loaded.chain,
            events.Received(message.message, message.body),
            self.world,
            await self.desk.now(),
        )
        now = await self.desk.now()
        decided = Decided(events.Received(message.message, message.body), decision, now)
        batch = await self.desk.store.commit(0, [ChainCommit(loaded, [decided], [name])])
        change = self.decisions.change(number, entry, 0, self.store.requests)
        self.store, status = functions.commit(self.store, version, change, entry, None)
        assert batch.chains[0].status == status

    async def claim(self) -> None:
        if (item := self.some_item()) is None:
            return
        token, start = self.some_token(), self.chance.random() < 0.7
        digest = self.chance.choice((item.approved, self.some_call(item.action)))
        ref, args = self.ref(item), (self.action(item.action), self.consumer(item), token)
        mode = "start" if start else "look"
        key = self.desk.key("events")
        real, *_ = await self.desk.calls.call(
            "FCALL", f"{PREFIX}claim", 1, key, ref.stream, ref.entry, *args, mode, digest
        )
        self.store, status, epoch = functions.claim(
            self.store, item, token, None, start=start, digest=digest
        )
        assert (real[0].decode(), real[1]) == (status, epoch)

    async def complete(self) -> None:
        if (item := self.some_item()) is None:
            return
        row = self.store.actions[item.action]
        if item.approved and not row.epoch and self.chance.random() < 0.8:
            return
        epoch = self.chance.choice((0, row.epoch, row.epoch))
        unasked = ACTIONS[item.action] is Kind.DESTRUCTIVE and not item.approved
        receipt = self.chance.choice([*Receipt, *[Receipt.CONFIRMS] * 9 * unasked])
        digest = self.some_call(item.action) if receipt is Receipt.CONFIRMS else ""
        outcome = outcome_of(receipt, digest) if digest else OUTCOMES[receipt]
        token = self.some_token()
        action, attempt = self.action(item.action), row.attempt
        finished = Finished(self.ref(item), action, epoch, attempt, outcome, "{}", token=token)
        real = await ReceiptStore(
            self.desk.calls, self.desk.topology, self.consumer(item)
        ).complete(finished)
        self.store, status = functions.complete(
            self.store, item, epoch, receipt, None, digest, token
        )
        assert real == status

    async def dead_letter(self) -> None:
        item = self.some_item()
        if item is None or self.chance.random() < 0.7:
            return
        about = DeadAction(
            self.action(item.action), self.store.actions[item.action].attempt, "it came too often"
        )
        letter = await self.desk.letters.add(
            self.ref(item), DeadLetterReason.DELIVERIES_EXHAUSTED, about=about
        )
        there = {(each.action, each.entry) for each in self.store.tools}
        assert (letter is None) == ((item.action, item.entry) not in there)
        self.store = functions.dead_letter(self.store, item, None)

    async def put_aside(self) -> None:
        items = sorted(self.store.tools)
        if not items or self.chance.random() < 0.5:
            return
        item = self.chance.choice(items)
        about = Orphan(CHAIN, self.action(item.action))
        letter = await self.desk.letters.add(
            self.ref(item), DeadLetterReason.UNKNOWN_VERSION, about=about
        )
        assert letter is not None
        self.letters[item.action, item.entry] = letter
        self.store = functions.put_aside(self.store, item)

    async def requeue(self) -> None:
        letters = [letter for letter in sorted(self.store.letters) if letter.entry < REQUEUED]
        if not letters:
            return
        letter = self.chance.choice(letters)
        real = await self.desk.letters.requeue(0, self.letters[letter.action, letter.entry])
        self.store, status = functions.requeue(self.store, letter, None)
        assert real == status
        if status == "requeued":
            ((entry, _),) = await self.desk.redis.xrevrange(self.desk.key("tools:default"), count=1)
            self.items[letter.action, letter.entry + REQUEUED] = entry.decode()

    async def answer(self) -> None:
        if not self.store.requests:
            return
        number = self.chance.randint(1, len(self.store.requests))
        asked = self.store.requests[number - 1]
        kind = RequestKind(asked.kind)
        choice = Choice(self.chance.choice((*CHOICES[kind.value], "abort")))
        answer = Answer(
            kind=kind, decision=choice, option_id="o1" if choice is Choice.SELECT else None
        )
        record = (
            Approves(self.action(asked.action), asked.digest, 900)
            if choice is Choice.APPROVE
            else None
        )
        by = uuid4().hex  # the same person's answer again is no second one
        real = await self.desk.answer(f"{CHAIN}.r{number}", answer, by=by, approves=record)
        self.store, status = functions.answer(self.store, number, choice.value, 0)
        assert real == (status if status in ("taken", "answered") else Verdict.STALE)

    async def copy(self) -> None:
        """Somebody plays an entry again, or makes one up."""
        action = self.chance.randrange(len(ACTIONS))
        attempt = self.store.actions[action].attempt
        number = self.chance.choice((attempt + COPY, FORGED)) if attempt else FORGED
        if (action, number) in self.items:
            return
        data = f'{{"id": "{self.action(action)}/{attempt}"}}'
        entry = await self.desk.redis.xadd(
            self.desk.key("tools:default"), {"__data__": data, "copy": "1"}
        )
        self.items[action, number] = entry.decode()
        self.store = self.store._replace(tools=self.store.tools | {Item(action, number)})

    async def take_over(self) -> None:
        """Another worker takes an entry; the one that had it sleeps, and may come back with what it
        knows.
        """
        if not self.store.tools:
            return
        item = self.chance.choice(sorted(self.store.tools))
        taken = item._replace(deliveries=item.deliveries + 1)
        ref = self.ref(item)
        await self.desk.redis.xclaim(
            self.desk.key("tools:default"), "tool-worker", self.consumer(taken), 0, [ref.entry]
        )
        self.store = self.store._replace(tools=self.store.tools - {item} | {taken})

    # ---- the same names for both

    def consumer(self, item: Item) -> str:
        return f"worker {item.deliveries}"

    def action(self, number: int) -> str:
        return action_id(CHAIN, f"s{number}", 1)

    def some_call(self, action: int) -> str:
        """A digest of this action's call, with one of two previews."""
        return f"{action}/{self.chance.randint(0, 1)}"

    def some_token(self) -> str:
        return f"one/{self.chance.randint(1, 3)}"

    def ref(self, item: Item) -> EntryRef:
        return EntryRef.of(self.desk.key("tools:default"), self.items[item.action, item.entry])

    def some_item(self) -> Item | None:
        """One that is there, or sometimes one that was."""
        there = {(item.action, item.entry): item for item in self.store.tools}
        gone = [there.get(name, Item(*name))._replace(deliveries=0) for name in self.items]
        items = sorted(self.store.tools) if self.chance.random() < 0.8 else gone
        return self.chance.choice(items) if items else None

    async def messages(self) -> dict[Sent, tuple[str, Any]]:
        """What lies on the events stream, by its name in the model."""
        found = {}
        for entry, fields in await self.desk.redis.xrange(self.desk.key("events")):
            decoded = decode(Stream.EVENTS, fields)
            assert isinstance(decoded, Decoded)
            found[_name(decoded.message)] = (entry.decode(), decoded)
        return found

    async def compare(self) -> None:
        assert set(await self.messages()) == self.store.events
        await self.compare_items()
        for number, row in enumerate(self.store.actions):
            found = await self.desk.stored.action(self.action(number))
            assert _row(found) == (row.attempt, row.epoch, row.owner, row.started, row.receipt), (
                f"action {number}"
            )
            entry = found.row.entry if found else ""
            assert entry == self.items.get((number, row.entry), ""), f"action {number}"
        assert await self.approvals() == self.store.approvals
        for number, request in enumerate(self.store.requests, 1):
            asked = await self.desk.stored.request(f"{CHAIN}.r{number}")
            assert asked is not None
            assert asked.status == request.status
        status, version = await self.desk.redis.hmget(
            self.desk.key("chain", CHAIN), "status", Head.VERSION
        )
        assert (status in (b"completed", b"failed", b"cancelled")) == self.store.final
        assert int((version or b"0-").partition(b"-")[0]) == self.store.version

    async def approvals(self) -> tuple[Approval | None, ...]:
        """The records as the model has them: no time passes here."""
        found: list[Approval | None] = []
        for number in range(len(ACTIONS)):
            field = f"{local(self.action(number))}.{Part.APPROVAL}"
            text = await self.desk.redis.hget(self.desk.key(Key.DATA, CHAIN), field)
            digest, _, state = (text or b"- - -").decode().partition("\n")[0].split()
            found.append(Approval(digest, 1, state == "consumed") if text else None)
        return tuple(found)

    async def compare_items(self) -> None:
        stream = self.desk.key("tools:default")
        await self.desk.redis.xreadgroup("tool-worker", self.consumer(Item(0, 0)), {stream: ">"})
        entries = await self.desk.redis.xrange(stream)
        known = set(self.items.values())
        for entry, fields in entries:
            if entry.decode() not in known:
                decoded = decode(Stream.TOOLS, fields)
                assert isinstance(decoded, Decoded)
                assert isinstance(decoded.message, commands.ToolRequested)
                data = decoded.message.data
                number = int(data.action_id.removeprefix(f"{CHAIN}.s").partition(".")[0])
                self.items[number, data.attempt] = entry.decode()
                approved = approved_digest(data.approval)
                assert approved in {
                    item.approved for item in self.store.tools if item.action == number
                }
        names = {(item.action, item.entry) for item in self.store.tools}
        assert {entry.decode() for entry, _ in entries} == {self.items[name] for name in names}


def _row(found: StoredAction | None) -> tuple[int, int, str, bool, Receipt | None]:
    if found is None:
        return 0, 0, "", False, None
    row, receipt = found.row, None
    if found.receipt is not None:
        receipt = next(
            kind for kind, outcome in OUTCOMES.items() if _alike(found.receipt, kind, outcome)
        )
    started = row.state in (ActionState.STARTED, ActionState.IN_DOUBT)
    return row.attempt, row.epoch, row.token.strip("-"), started, receipt


def _alike(stored: rows.Receipt, kind: Receipt, outcome: Any) -> bool:
    if stored.kind is rows.Kind.IN_DOUBT:
        return kind is Receipt.IN_DOUBT
    found = msgspec.json.decode(stored.outcome, type=type(outcome))
    return bool((found.success, found.next_action) == (outcome.success, outcome.next_action))


def _name(message: Any) -> Sent:
    match message:
        case events.TaskSubmitted():
            return Sent("submitted")
        case events.ToolCompleted():
            action, attempt, _ = message.id.rsplit("/", 2)
            outcome = message.data.outcome
            doubtful = outcome.error is not None and outcome.error.error_type is ErrorType.IN_DOUBT
            plain = next(
                kind for kind in Receipt if OUTCOMES[kind].next_action is outcome.next_action
            )
            number = int(action.removeprefix(f"{CHAIN}.s").partition(".")[0])
            kind, digest = Receipt.IN_DOUBT if doubtful else plain, ""
            if outcome.confirmation is not None:
                digest = outcome.confirmation.digest
            return Sent("completed", number, kind.value, int(attempt), digest=digest)
        case events.HumanAnswered():
            number = int(message.data.request_id.rpartition(".r")[2])
            return Sent("answered", number, message.data.answer.decision.value)
    raise AssertionError(message)


@pytest.mark.parametrize("seed", range(int(os.environ.get("PROOF_SEEDS", "1"))))
async def test_the_model_does_what_the_functions_do(redis: Redis, seed: int) -> None:
    chance = random.Random(seed)
    ends, approved = 0, 0
    for _ in range(15):
        await empty(redis)
        async with desk_at(redis) as desk:
            pair = Pair(desk, chance)
            await pair.submit()
            for _ in range(80):
                await pair.step()
            ends += pair.store.final
            approved += any(
                record is not None and record.consumed for record in pair.store.approvals
            )
    assert min(ends, approved) > 0, "the walks must go somewhere"
