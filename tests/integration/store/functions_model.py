"""What the Redis functions promise, in plain Python: one partition, no bytes, no indexes.

`FunctionsModel` has the same commands with the same answers as the functions. Its state is made of dictionaries of
frozen rows: `copy` it to try something, `frozen` is its value as a key for a search. Entries of streams are numbered in
the order in which they were added. Time goes in ticks; of two moments in one tick the second element tells which is
the earlier one.
"""

from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Self

from tests.integration.store.functions_rows import (
    EVENTS,
    HUMANS,
    PLANS,
    TOOLS,
    ActionRow,
    ChainRow,
    End,
    EntryRow,
    LetterRow,
    Moment,
    RequestRow,
)

REFIRE = 1  # ticks after which a timer goes off again


def chain_of(any_id: str) -> str:
    return any_id.partition(".")[0]


@dataclass
class FunctionsModel:
    now: int = 0
    chains: dict[str, ChainRow] = field(default_factory=dict)
    actions: dict[str, ActionRow] = field(default_factory=dict)
    requests: dict[str, RequestRow] = field(default_factory=dict)
    thoughts: dict[str, str] = field(default_factory=dict)
    entries: dict[int, EntryRow] = field(default_factory=dict)
    pending: dict[int, str] = field(default_factory=dict)
    letters: dict[int, LetterRow] = field(default_factory=dict)
    timers: dict[str, Moment] = field(default_factory=dict)
    moments: int = 0  # that were told apart so far
    last: int = 0  # number of the last entry
    last_letter: int = 0

    def copy(self) -> Self:
        return deepcopy(self)

    def frozen(self) -> tuple[object, ...]:
        """The whole state as one hashable value."""
        return tuple(
            tuple(sorted(value.items())) if isinstance(value, dict) else value for value in vars(self).values()
        )

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

    def answer(self, request: str, token: str) -> str:
        row = self.requests.get(request)
        if row is None:
            return "unknown"
        if row.status == "answered":
            return "taken" if row.token == token else "answered"
        if row.status == "expired" or (row.status == "open" and row.deadline <= self.now):
            return "expired"
        if row.status != "open" or self.final(row.chain):
            return "stale"
        self.requests[request] = replace(row, status="answered", token=token)
        self.add(EVENTS, f"{request}/answer")
        return "taken"

    # ---- the executor -----------------------------------------------------------------------------------------------

    def commit(self, chain: str, expected: str, new: str, acks: tuple[int, ...], *steps: "Step") -> int:
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

    # ---- workers and planner ----------------------------------------------------------------------------------------

    def claim(self, entry: int, action: str, owner: str) -> tuple[str, int]:
        row = self.actions.get(action)
        if (row is not None and row.over) or self.final(chain_of(action)):
            self.finish(entry)
            return "done", 0
        if row is None or row.entry != entry:
            self.finish(entry)
            return "stale", 0
        if row.owner == owner:
            return row.verdict, row.epoch
        verdict = "in_doubt" if row.started and not row.repeatable else "go"
        started = row.started or verdict == "go"
        self.actions[action] = replace(row, epoch=row.epoch + 1, owner=owner, verdict=verdict, started=started)
        return verdict, row.epoch + 1

    def complete(self, entry: int, action: str, epoch: int, outcome: str, *, doubt: bool) -> str:
        row = self.actions.get(action)
        if row is not None and row.over:
            self.finish(entry)
            return "again"
        if row is None or row.entry != entry or row.epoch != epoch:
            return "stale"
        self.actions[action] = replace(row, doubt=outcome) if doubt else replace(row, receipt=outcome)
        if not self.final(chain_of(action)):
            self.add(EVENTS, f"{action}/{row.attempt}/done")
        self.finish(entry)
        return "recorded"

    def heartbeat(self, entry: int, action: str, epoch: int, consumer: str) -> str:
        row = self.actions.get(action)
        ours = self.pending.get(entry) == consumer
        if action:
            ours = ours and row is not None and (row.entry, row.epoch) == (entry, epoch)
        return "kept" if ours else "lost"

    def release(self, entry: int, action: str, epoch: int, consumer: str) -> str:
        if self.pending.get(entry) != consumer or entry not in self.entries:
            return "stale"
        if action:
            row = self.actions.get(action)
            if row is None or (row.entry, row.epoch) != (entry, epoch) or row.over:
                return "stale"
            if row.started and not row.repeatable:
                return "stale"
        self.renew(self.entries[entry], action)
        self.finish(entry)
        return "released"

    def renew(self, entry: EntryRow, action: str) -> None:
        fresh = self.add(entry.stream, entry.message, entry.about)
        if action:
            row = self.actions[action]
            self.actions[action] = replace(row, entry=fresh, epoch=0, started=False, owner="")

    def think(self, entry: int, thought: str, said: str) -> str:
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

    def dead_letter(self, entry: int, reason: str, about: str = "") -> str:
        row = self.entries.get(entry)
        self.finish(entry)
        if row is None:
            return "gone"
        self.last_letter += 1
        self.letters[self.last_letter] = LetterRow(entry, row, reason, about)
        if row.stream == TOOLS and about:
            self._give_up_action(entry, about)
        elif row.stream == PLANS and about:
            self._record_thought(about, "failed")
        return "buried"

    def _give_up_action(self, entry: int, action: str) -> None:
        row = self.actions.get(action)
        if row is None or row.entry != entry or row.over:
            return
        doubtful = row.started and not row.repeatable
        self.actions[action] = replace(row, doubt="in doubt") if doubtful else replace(row, receipt="failed")
        if not self.final(chain_of(action)):
            self.add(EVENTS, f"{action}/{row.attempt}/done")

    def requeue(self, letter: int) -> str:
        kept = self.letters.get(letter)
        if kept is None:
            return "gone"
        action = kept.about if kept.row.stream == TOOLS else ""
        if action:
            row = self.actions.get(action)
            if row is None or row.over or row.entry != kept.entry:
                return "done"
        self.renew(kept.row, action)
        del self.letters[letter]
        return "requeued"


# ---- what a commit may do -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dispatch:
    action: str
    repeatable: bool
    again: bool = False

    def apply(self, model: FunctionsModel, chain: str) -> None:
        attempt = model.actions[self.action].attempt + 1 if self.again else 1
        entry = model.add(TOOLS, f"{self.action}/{attempt}", self.action)
        model.actions[self.action] = ActionRow(self.repeatable, entry, attempt)


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
        model.timers[chain] = min((self.deadline, 0), row.deadline)
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
class Settle:
    action: str

    def apply(self, model: FunctionsModel, chain: str) -> None:
        model.actions[self.action] = replace(model.actions[self.action], settled=True)


@dataclass(frozen=True)
class Finish:
    def apply(self, model: FunctionsModel, chain: str) -> None:
        model.chains[chain] = replace(model.chains[chain], end=End.FINAL, open=())
        model.timers.pop(chain, None)


Step = Dispatch | Think | Ask | Withdraw | Settle | Finish
