"""R4: a call in doubt whose worker turns up later. In any order of what workers, people and clocks
do, its result settles the doubt while nobody has answered, and changes nothing afterwards.
"""

import re
from collections import Counter
from random import Random
from typing import Final

import pytest
from msgspec import Struct
from msgspec.structs import replace

from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.people.humans import Answer, Choice, RequestKind, RequestStatus
from haltpoint.contracts.results import ErrorType, Metadata, Outcome
from haltpoint.contracts.tools import Recovery, ToolSpec
from haltpoint.runtime.store.inbox import Verdict
from haltpoint.runtime.store.receipts import ClaimStatus, Completion, Finished, ReceiptStore
from haltpoint.runtime.store.rows import Kind, StoredAction
from tests.support.builders import OK, failed, literal_task
from tests.support.desk import Desk, Order

GROUP: Final = "tool-worker"
DOUBT: Final = failed(ErrorType.IN_DOUBT, "a worker started it")
NOTHING_DONE: Final = failed(ErrorType.UNKNOWN, "it did not happen", no_effect=True)
CHOICES: Final = (*[Choice.NOT_HAPPENED] * 3, *[Choice.HAPPENED] * 3, Choice.FAILED)


class Run(Struct, eq=False):
    """An order in a worker's hands: read, taken over, started, ran, in doubt, or over."""

    order: Order
    worker: str
    phase: str
    epoch: int = 0
    token: str = ""


class Seen(Struct):
    """An action: whether a person is asked about it, and who holds its entry."""

    action: StoredAction
    asked: bool
    holder: str


class Street:
    """A chain, three workers, people, an executor and a clock, of which a random one acts next."""

    def __init__(self, desk: Desk, seed: int) -> None:
        self.desk = desk
        self.random = Random(seed)
        self.tools = desk.topology.stream(0, Stream.TOOLS, "default")
        names = ("w0", "w1", "w2")
        self.workers = {name: ReceiptStore(desk.calls, desk.topology, name) for name in names}
        self.runs: list[Run] = []
        self.starters: dict[str, Run] = {}
        self.effects: Counter[str] = Counter()
        self.pardons: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()

    async def turn(self) -> None:
        often = [self.takes_over, self.claims, self.claims, self.acts, self.reports] * 3
        await self.random.choice((*often, self.answers, self.waits, self.waits, self.cancels))()
        if self.random.random() < 0.5:
            await self.desk.decide_all()
        for action, times in self.effects.items():
            assert times <= 1 + self.pardons[action], "it ran again without a yes"

    def some(self, *phases: str) -> Run | None:
        found = [run for run in self.runs if run.phase in phases]
        return self.random.choice(found) if found else None

    async def takes_over(self) -> None:
        """A lease is lost, and the worker that had it does not know."""
        worker = self.random.choice(list(self.workers))
        self.runs += [
            Run(order, worker, "read") for order in await self.desk.orders(consumer=worker)
        ]
        held = self.some("started", "ran", "in doubt") or self.some("read")
        if held is not None:
            entries = [held.order.ref.entry]
            taken = await self.desk.redis.xclaim(self.tools, GROUP, worker, 0, entries)
            self.runs += [Run(held.order, worker, "taken") for _ in taken]

    async def claims(self) -> None:
        run = self.some("read", "taken")
        if run is None or (run.order.data.reconcile and run.phase == "read"):
            return
        starts, order = run.phase == "read", run.order
        claimed = await self.workers[run.worker].claim(order.ref, order.action, start=starts)
        run.epoch, run.token = claimed.epoch, claimed.token
        go = "started" if starts else "read"
        after = {ClaimStatus.GO: go, ClaimStatus.IN_DOUBT: "in doubt"}
        run.phase = after.get(claimed.status, "over")
        if run.phase == "started":
            assert order.ref.entry not in self.starters, "an attempt is started once"
            self.starters[order.ref.entry] = run
        if run.phase == "in doubt" and self.random.random() < 0.8:
            await self.report(run)

    async def acts(self) -> None:
        if (run := self.some("started")) is not None:
            run.phase = "ran"
            self.effects[run.order.action] += 1

    async def reports(self) -> None:
        """The truth of who has it; of all others too, under any epoch, and more than once."""
        phases = ("ran", "in doubt", "over")
        is_rare = self.random.random() < 0.05
        run = self.some("read", "taken") if is_rare else self.some(self.random.choice(phases))
        if run is not None:
            await self.report(run)

    async def report(self, run: Run) -> None:
        order, outcome = run.order, self.outcome(run)
        epoch = self.random.choice((run.epoch, run.epoch, 1, 2))
        data = f'{{"n":{self.random.random()}}}'
        before = await self.look(order)
        way = self.way_of(run, epoch, outcome, before)
        about = (order.ref, order.action, epoch, order.data.attempt, outcome, data)
        finished = Finished(*about, token=run.token)
        status = await self.workers[run.worker].complete(finished)
        after = await self.look(order)
        receipt, is_doubt = after.action.receipt, _is_doubt(outcome)
        assert (status is Completion.RECORDED) == bool(way), (way, run, epoch, before)
        if not way:
            assert (receipt, after.asked) == (before.action.receipt, before.asked)
        elif not is_doubt:
            assert receipt is not None
            assert (receipt.kind, receipt.data, after.asked) == (Kind.RECEIPT, data, False)
            self.pardons[order.action] += order.data.reconcile and not outcome.success
        self.seen[way or f"refused, {run.phase}"] += 1
        if self.random.random() < 0.7:
            run.phase = "over"

    def outcome(self, run: Run) -> Outcome:
        if run.phase == "in doubt":
            return DOUBT
        if run.order.data.reconcile:
            said = self.random.choice((OK, NOTHING_DONE, DOUBT))
            return replace(said, metadata=Metadata(reconciled=True))
        return NOTHING_DONE if run.phase in ("read", "taken") else OK

    def way_of(self, run: Run, epoch: int, outcome: Outcome, before: Seen) -> str:
        """Why a report counts; empty: it does not."""
        row, receipt = before.action.row, before.action.receipt
        if row.entry != run.order.ref.entry:
            return ""
        if before.holder == run.worker and row.epoch == epoch and receipt is None:
            return "held"
        if self.starters.get(row.entry) is not run or _is_doubt(outcome):
            return ""
        if receipt is None:
            return "before the doubt"
        return "settled" if before.asked and receipt.kind is Kind.IN_DOUBT else ""

    async def look(self, order: Order) -> Seen:
        entry = order.ref.entry
        pending = await self.desk.redis.xpending_range(self.tools, GROUP, entry, entry, 1)
        texts = [text for _, text in await self.open_questions(order.chain)]
        return Seen(
            await self.desk.action(order.action),
            any(f'"action_id":"{order.action}"' in text for text in texts),
            pending[0]["consumer"].decode() if pending else "",
        )

    async def open_questions(self, chain: str) -> list[tuple[str, str]]:
        found, number = [], 1
        while (one := await self.desk.stored.request(f"{chain}.r{number}")) is not None:
            if one.status is RequestStatus.OPEN:
                found.append((one.id, one.question))
            number += 1
        return found

    async def answers(self) -> None:
        if not self.runs:
            return
        order = self.random.choice(self.runs).order
        for request, text in await self.open_questions(order.chain):
            choice = self.random.choice(CHOICES)
            answer = Answer(kind=RequestKind.IN_DOUBT, decision=choice)
            verdict = await self.desk.answer(request, answer)
            (action,) = re.findall(r'"action_id":"([^"]+)"', text)
            if verdict is Verdict.TAKEN:
                self.seen["answered"] += 1
                self.pardons[action] += choice is Choice.NOT_HAPPENED

    async def waits(self) -> None:
        await self.desk.later(self.random.choice((*[20] * 30, 25 * 3600)))
        await self.desk.store.fire_due(0)

    async def cancels(self) -> None:
        if self.runs and self.random.random() < 0.03:
            await self.desk.cancel(self.runs[0].order.chain)


def _is_doubt(outcome: Outcome) -> bool:
    return outcome.error is not None and outcome.error.error_type is ErrorType.IN_DOUBT


@pytest.mark.parametrize("tool", ["send", "pay"])
async def test_r4_in_any_order_a_late_result_settles_the_doubt_or_changes_nothing(
    desk: Desk, tool: str
) -> None:
    """Of `pay` its tool says first whether it happened."""
    recovery = Recovery(reconciles=True)
    desk.tools["pay"] = ToolSpec(name="pay", recovery=recovery, timeout=5.0)
    seen: Counter[str] = Counter()
    for seed in range(12):
        street = Street(desk, seed)
        chain = await desk.submit(literal_task(4, tool))
        while not (await desk.chain(chain)).status.final:
            await street.turn()
        for run in street.starters.values():
            await street.report(run)
        seen += street.seen
    assert min(seen["held"], seen["refused, ran"], seen["answered"]) > 1, seen
    assert tool == "pay" or min(seen["settled"], seen["before the doubt"]) > 1, seen
