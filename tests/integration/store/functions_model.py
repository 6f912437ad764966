"""What the Redis functions promise, in plain Python: one partition, no bytes, no indexes.

`FunctionsModel` has the same commands with the same answers as the functions. What is decided about
an action or a request are the rules of `tests/support/function_rules.py`, which the model check has
in common with this. Entries of streams are numbered in the order in which they were added. Time
goes in ticks; of two moments in one tick the second element tells which is the earlier one.
"""

from dataclasses import dataclass, field, replace

from tests.integration.store.functions_rows import (
    EVENTS,
    HUMANS,
    PLANS,
    TOOLS,
    ChainRow,
    End,
    EntryRow,
    LetterRow,
    Moment,
    RequestRow,
)
from tests.support import function_rules as rules
from tests.support.function_rules import ActionRow, Approval, Claim, Receipt

REFIRE = 1  # ticks after which a timer goes off again


def chain_of(any_id: str) -> str:
    return any_id.partition(".")[0]


@dataclass(frozen=True)
class Approves:
    """A yes to an action's call, for so many ticks."""

    action: str
    digest: str
    ticks: int


@dataclass
class FunctionsModel:
    now: int = 0
    chains: dict[str, ChainRow] = field(default_factory=dict)
    actions: dict[str, ActionRow] = field(default_factory=dict)
    approvals: dict[str, Approval] = field(default_factory=dict)
    requests: dict[str, RequestRow] = field(default_factory=dict)
    thoughts: dict[str, str] = field(default_factory=dict)
    entries: dict[int, EntryRow] = field(default_factory=dict)
    pending: dict[int, str] = field(default_factory=dict)
    letters: dict[int, LetterRow] = field(default_factory=dict)
    timers: dict[str, Moment] = field(default_factory=dict)
    moments: int = 0  # that were told apart so far
    last: int = 0  # number of the last entry
    last_letter: int = 0

    def add(self, stream: str, message: str, about: str = "") -> int:
        self.last += 1
        self.entries[self.last] = EntryRow(stream, message, about)
        return self.last

    def finish(self, entry: int) -> None:
        self.entries.pop(entry, None)
        self.pending.pop(entry, None)

    def after(self, ticks: int) -> Moment:
        """So much after this moment, which is a new one."""
        self.moments += 1
        return self.now + ticks, self.moments

    def final(self, chain: str) -> bool:
        return chain in self.chains and self.chains[chain].end is End.FINAL

    def submit(self, chain: str, digest: str, version: str, timeout: int) -> str:
        if chain in self.chains:
            return "again" if self.chains[chain].digest == digest else "conflict"
        deadline = self.after(timeout)
        self.chains[chain] = ChainRow(version, digest, deadline)
        self.timers[chain] = deadline
        self.add(EVENTS, chain)
        return "created"

    def answer(self, request: str, said: str, token: str, approves: Approves | None = None) -> str:
        row = self.requests.get(request)
        if row is None:
            return "unknown"
        if row.status == "answered" and (row.token, row.said) == (token, said):
            return "taken"
        status = rules.answer(
            row.status, late=row.deadline <= self.now, final=self.final(row.chain)
        )
        if status == "taken":
            self.requests[request] = replace(row, status="answered", token=token, said=said)
            if approves is not None:
                self.approvals[approves.action] = Approval(
                    approves.digest, self.now + approves.ticks
                )
            self.add(EVENTS, f"{request}/answer")
        return status

    # ---- the executor
    # ----------------------------------------------------------------------------------------------

    def commit(
        self, chain: str, expected: str, new: str, acks: tuple[int, ...], *steps: "Step"
    ) -> int:
        row = self.chains.get(chain)
        if row is None or (row.version != expected and row.version != new):
            return 1
        if row.version == expected:
            if expected != new:
                self.chains[chain] = replace(row, version=new)
            for step in steps:
                step.apply(self, chain)
        for entry in acks:
            self.finish(entry)
        return 0

    def fire_due(self, limit: int) -> int:
        due = sorted((at, chain) for chain, at in self.timers.items() if at[0] <= self.now)[:limit]
        again = self.after(REFIRE)
        told = 0
        for _, chain in due:
            row = self.chains[chain]
            if row.end is End.FINAL:
                del self.timers[chain]
                continue
            for number in row.open:
                request = self.requests[f"{chain}.r{number}"]
                if request.status == "open" and request.deadline <= self.now:
                    self.requests[f"{chain}.r{number}"] = replace(request, status="expired")
            self.add(EVENTS, f"{chain}/due")
            self.timers[chain] = again
            told += 1
        return told

    # ---- workers and planner
    # ----------------------------------------------------------------------------------------

    def claim(
        self, entry: int, action: str, consumer: str, token: str, *, start: bool, digest: str
    ) -> tuple[str, int]:
        asked = Claim(entry, token, self.pending.get(entry) == consumer, start, digest)
        row, record, final = (
            self.actions.get(action),
            self.approvals.get(action),
            self.final(chain_of(action)),
        )
        status, after, record = rules.claim(row, record, asked, final=final, now=self.now)
        if after is None:
            self.finish(entry)
            return status, 0
        self.actions[action] = after
        if record is not None:
            self.approvals[action] = record
        return status, 0 if status == "lost" else after.epoch

    def complete(self, entry: int, action: str, epoch: int, consumer: str, receipt: Receipt) -> str:
        status = rules.complete(
            self.actions.get(action), entry, epoch, has_lease=self.pending.get(entry) == consumer
        )
        if status == "recorded":
            self._record(action, receipt)
        if status != "stale":
            self.finish(entry)
        return status

    def _record(self, action: str, receipt: Receipt) -> None:
        row = self.actions[action]
        self.actions[action] = row._replace(receipt=receipt)
        if not self.final(chain_of(action)):
            self.add(EVENTS, f"{action}/{row.attempt}/done")

    def heartbeat(self, entry: int, action: str, epoch: int, consumer: str) -> str:
        row = self.actions.get(action)
        ours = self.pending.get(entry) == consumer
        if action:
            ours = ours and row is not None and (row.entry, row.epoch) == (entry, epoch)
        return "kept" if ours else "lost"

    def release(self, entry: int, action: str, epoch: int, consumer: str) -> str:
        if self.pending.get(entry) != consumer or entry not in self.entries:
            return "stale"
        if action and not rules.may_release(self.actions.get(action), entry, epoch):
            return "stale"
        self.renew(self.entries[entry], action)
        self.finish(entry)
        return "released"

    def renew(self, entry: EntryRow, action: str) -> None:
        fresh = self.add(entry.stream, entry.message, entry.about)
        if action:
            self.actions[action] = rules.renewed(self.actions[action], fresh)

    def record_thought(self, entry: int, thought: str, said: str) -> str:
        status = self._record_thought(thought, said)
        self.finish(entry)
        return status

    def _record_thought(self, thought: str, said: str) -> str:
        chain = chain_of(thought)
        if thought in self.thoughts:
            return "again"
        if chain not in self.chains or self.final(chain):
            return "final"
        self.thoughts[thought] = said
        self.add(EVENTS, f"{thought}/reply")
        return "recorded"

    def dead_letter(self, entry: int, reason: str, about: str = "", *, told: bool = False) -> str:
        row = self.entries.get(entry)
        self.finish(entry)
        if row is None:
            return "gone"
        self.last_letter += 1
        self.letters[self.last_letter] = LetterRow(entry, row, reason, about)
        if row.stream == TOOLS and told:
            receipt = rules.given_up(self.actions.get(about), entry)
            if receipt is not None:
                self._record(about, receipt)
        elif row.stream == PLANS and told:
            self._record_thought(about, "failed")
        return "moved"

    def requeue(self, letter: int) -> str:
        kept = self.letters.get(letter)
        if kept is None:
            return "gone"
        action = kept.about if kept.row.stream == TOOLS else ""
        if action:
            final = self.final(chain_of(action))
            if not rules.may_requeue(self.actions.get(action), kept.entry, final=final):
                return "done"
        self.renew(kept.row, action)
        del self.letters[letter]
        return "requeued"


# ---- what a commit may do
# -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dispatch:
    action: str
    repeatable: bool
    again: bool = False

    def apply(self, model: FunctionsModel, chain: str) -> None:
        row = model.actions.get(self.action, ActionRow(self.repeatable))
        entry = model.add(TOOLS, f"{self.action}/{row.attempt + 1}", self.action)
        model.actions[self.action] = rules.dispatched(row, entry, again=self.again)


@dataclass(frozen=True)
class Think:
    thought: str

    def apply(self, model: FunctionsModel, chain: str) -> None:
        model.add(PLANS, self.thought, self.thought)


@dataclass(frozen=True)
class Ask:
    number: int
    deadline: int

    def apply(self, model: FunctionsModel, chain: str) -> None:
        name = f"{chain}.r{self.number}"
        row = model.chains[chain]
        model.chains[chain] = replace(row, open=(*row.open, self.number))
        model.requests[name] = RequestRow(chain, self.deadline)
        model.timers[chain] = min(self.deadline, row.deadline[0]), 0
        model.add(HUMANS, name)


@dataclass(frozen=True)
class Withdraw:
    number: int

    def apply(self, model: FunctionsModel, chain: str) -> None:
        name = f"{chain}.r{self.number}"
        if model.requests[name].status == "open":
            model.requests[name] = replace(model.requests[name], status="withdrawn")
            model.add(HUMANS, f"{name}/withdrawn")


@dataclass(frozen=True)
class Resolve:
    action: str

    def apply(self, model: FunctionsModel, chain: str) -> None:
        model.actions[self.action] = model.actions[self.action]._replace(resolution=True)


@dataclass(frozen=True)
class Finish:
    def apply(self, model: FunctionsModel, chain: str) -> None:
        model.chains[chain] = replace(model.chains[chain], end=End.FINAL, open=())
        model.timers.pop(chain, None)


Step = Dispatch | Think | Ask | Withdraw | Resolve | Finish
