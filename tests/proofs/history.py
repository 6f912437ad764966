"""The history check: what really happened, judged from files that every actor wrote for itself, outside Redis.

    recorder = Recorder(folder, "provider")
    recorder.write(Effect(key=ctx.idempotency_key, effects="other", arguments=digest))
    ...
    violations = check(folder.glob("*.jsonl"))

A record is on the disk before `write` returns: SIGKILL of its actor loses at most the record that was being written.
What was recorded has happened; what has happened may lack its record when its actor died just then. So the rules are
worded such that a missing record never makes a violation of a right history, but for the two observers who do not die:
the client (`Submitted`, `Answered`) and the watcher (`Told`, `Receipt`).
"""

import hashlib
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar

FINAL: Final = frozenset({"chain.completed", "chain.failed", "chain.cancelled"})
DESTRUCTIVE: Final = "destructive"
REPEATABLE: Final = frozenset({"read_only", "idempotent"})


# ---- what is recorded: a closed set ----------


@dataclass(frozen=True, slots=True)
class Submitted:
    """A client was told that its task was accepted, as this chain. `key`: what it calls the task itself."""

    key: str
    chain: str


@dataclass(frozen=True, slots=True)
class Effect:
    """The provider was called: written before anything else, so each start counts. `arguments` is a hash."""

    key: str
    effects: str  # read_only | idempotent | other | destructive
    arguments: str
    confirmed: bool = False


@dataclass(frozen=True, slots=True)
class Claimed:
    """A worker was given this entry of an action, under this epoch."""

    action: str
    entry: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Decided:
    """An executor's commit was applied and made this version of the chain."""

    chain: str
    version: str


@dataclass(frozen=True, slots=True)
class Answered:
    """A person's answer: before it is sent (not `taken`), and again when the inbox has taken it. `arguments` is the
    hash of those that a yes lets run.
    """

    request: str
    action: str
    decision: str
    taken: bool
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """The watcher saw a fact of a chain, in the order of the feed. `action` when the fact is about one."""

    chain: str
    fact: str
    action: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The watcher found the receipt of an action's attempt. `receipt` is a hash of outcome and data."""

    action: str
    attempt: int
    receipt: str
    success: bool


Record = Submitted | Effect | Claimed | Decided | Answered | Told | Receipt
_KINDS: Final[dict[str, type[Any]]] = {
    kind.__name__: kind for kind in (Submitted, Effect, Claimed, Decided, Answered, Told, Receipt)
}


def hash_of(text: str) -> str:
    """What a record keeps of arguments."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Recorder:
    """One actor's file, `<folder>/<actor>.<pid>.jsonl`. Each record is on the disk when `write` returns."""

    def __init__(self, folder: Path, actor: str) -> None:
        self.path = folder / f"{actor}.{os.getpid()}.jsonl"
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def write(self, record: Record) -> None:
        """Append one record with the machine's monotonic time."""
        line = {"at": time.monotonic_ns(), "kind": type(record).__name__, **asdict(record)}
        os.write(self._file, json.dumps(line).encode() + b"\n")
        os.fsync(self._file)

    def close(self) -> None:
        """Give the file back."""
        os.close(self._file)


@dataclass(frozen=True, slots=True)
class Seen:
    """A record with its place: monotonic ns, file and line."""

    at: int
    file: str
    line: int
    record: Record


def read(files: Iterable[Path]) -> list[Seen]:
    """All records in the order of time. A torn last line, its writer's last breath, is left out."""
    seen = []
    for path in files:
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
            if not line.endswith(b"\n"):
                continue
            fields = json.loads(line)
            at, kind = fields.pop("at"), fields.pop("kind")
            seen.append(Seen(at, path.name, number, _KINDS[kind](**fields)))
    return sorted(seen, key=lambda each: (each.at, each.file, each.line))


# ---- what must hold ----------


class Rule(StrEnum):
    """The rules, and the promises of the guarantees that they stand for."""

    ONE_CHAIN = "one task, one chain (R2)"
    ONE_FINAL = "an accepted task reaches exactly one final state (R1)"
    NOTHING_AFTER = "nothing comes after the final state (R1)"
    ONE_COMMIT = "a version of a chain is made by one commit (R2)"
    ONE_RECEIPT = "an attempt of an action has one receipt, and it never changes (R3)"
    EFFECT_FIRST = "a receipt that says success has an effect behind it (R3)"
    SAME_ARGUMENTS = "every run of an action has the same arguments (R3)"
    ONE_EFFECT = "an action with effects starts once, and again only when a person says: not happened (R4)"
    APPROVED = "a confirmed run comes after its approval (R5)"
    THIS_CALL = "a destructive run comes after a yes to this action with just these arguments (R5)"
    ONE_ANSWER = "a request takes one answer (R6)"
    EPOCHS_RISE = "the epochs of an entry rise (R8)"


@dataclass(frozen=True, slots=True)
class Violation:
    """What went wrong with whom, in words."""

    rule: Rule
    subject: str
    words: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.words} [{self.rule.value}]"


def check(files: Iterable[Path]) -> list[Violation]:
    """Judge a finished history: every accepted task has had its time to end. No violation: an empty list."""
    seen = read(files)
    rules = (_tasks, _endings, _commits, _receipts, _effects, _approvals, _answers, _epochs)
    return [violation for rule in rules for violation in rule(seen)]


R = TypeVar("R", Submitted, Effect, Claimed, Decided, Answered, Told, Receipt)


def _of(seen: Iterable[Seen], kind: type[R]) -> Iterator[tuple[Seen, R]]:
    return ((each, each.record) for each in seen if isinstance(each.record, kind))


def _tasks(seen: list[Seen]) -> Iterator[Violation]:
    chains: dict[str, set[str]] = defaultdict(set)
    for _, record in _of(seen, Submitted):
        chains[record.key].add(record.chain)
    for key, ids in chains.items():
        if len(ids) > 1:
            yield Violation(Rule.ONE_CHAIN, key, f"it became the chains {', '.join(sorted(ids))}")


def _endings(seen: list[Seen]) -> Iterator[Violation]:
    told: dict[str, list[str]] = defaultdict(list)
    for _, record in _of(seen, Told):
        told[record.chain].append(record.fact)
    for chain in sorted({record.chain for _, record in _of(seen, Submitted)} | told.keys()):
        facts = told[chain]
        endings = [fact for fact in facts if fact in FINAL]
        if len(endings) != 1:
            yield Violation(Rule.ONE_FINAL, chain, f"its final facts are {endings}")
        if endings and (after := facts[facts.index(endings[0]) + 1 :]):
            yield Violation(Rule.NOTHING_AFTER, chain, f"after {endings[0]} came {', '.join(after)}")


def _commits(seen: list[Seen]) -> Iterator[Violation]:
    makers: dict[tuple[str, str], int] = defaultdict(int)
    for _, record in _of(seen, Decided):
        makers[record.chain, record.version] += 1
    for (chain, version), times in makers.items():
        if times > 1:
            yield Violation(Rule.ONE_COMMIT, chain, f"version {version} was committed {times} times")


def _receipts(seen: list[Seen]) -> Iterator[Violation]:
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    effects = {record.key for _, record in _of(seen, Effect)}
    successes = set()
    for _, record in _of(seen, Receipt):
        found[record.action, record.attempt].add(record.receipt)
        if record.success:
            successes.add(record.action)
    for (action, attempt), receipts in found.items():
        if len(receipts) > 1:
            yield Violation(Rule.ONE_RECEIPT, action, f"attempt {attempt} had {len(receipts)} receipts")
    for action in sorted(successes - effects):
        yield Violation(Rule.EFFECT_FIRST, action, "its receipt says success, and its provider never heard of it")
    completed: dict[str, int] = defaultdict(int)
    attempts: dict[str, int] = defaultdict(int)
    for _, told in _of(seen, Told):
        completed[told.action] += told.fact == "action.completed"
        attempts[told.action] += told.fact == "action.dispatched"
    for action, times in completed.items():
        if times > max(attempts[action], 1):
            yield Violation(
                Rule.ONE_RECEIPT, action, f"it was dispatched {attempts[action]} times and completed {times} times"
            )


def _effects(seen: list[Seen]) -> Iterator[Violation]:
    runs: dict[str, list[tuple[int, Effect]]] = defaultdict(list)
    taken: dict[tuple[str, str], int] = defaultdict(int)
    sent: dict[str, int] = {}
    for place, effect in _of(seen, Effect):
        runs[effect.key].append((place.at, effect))
    for place, answer in _of(seen, Answered):
        taken[answer.action, answer.decision] += answer.taken
        if answer.decision == "approve":
            sent.setdefault(answer.action, place.at)
    for key, effects in runs.items():
        if len({effect.arguments for _, effect in effects}) > 1:
            yield Violation(Rule.SAME_ARGUMENTS, key, "its runs had different arguments")
        if effects[0][1].effects not in REPEATABLE:
            # An approval has the same action run again, on a tool's word that it has done nothing yet; of a destructive
            # call a person is asked before it runs at all.
            asks_itself = effects[0][1].effects != DESTRUCTIVE
            allowed = 1 + taken[key, "not_happened"] + asks_itself * taken[key, "approve"]
            if len(effects) > allowed:
                yield Violation(Rule.ONE_EFFECT, key, f"it was started {len(effects)} times, {allowed} were allowed")
        for at, effect in effects:
            if effect.confirmed and not sent.get(key, at) < at:
                yield Violation(Rule.APPROVED, key, "it ran as confirmed before anybody had approved it")


def _approvals(seen: list[Seen]) -> Iterator[Violation]:
    """A yes counts from the moment in which it was sent: that it was taken is recorded later."""
    sent: dict[tuple[str, str], int] = {}
    for place, answer in _of(seen, Answered):
        if answer.decision == "approve":
            sent.setdefault((answer.action, answer.arguments), place.at)
    for place, effect in _of(seen, Effect):
        if effect.effects == DESTRUCTIVE and not sent.get((effect.key, effect.arguments), place.at) < place.at:
            yield Violation(Rule.THIS_CALL, effect.key, f"it ran with {effect.arguments} before a yes to that")


def _answers(seen: list[Seen]) -> Iterator[Violation]:
    taken: dict[str, int] = defaultdict(int)
    for _, record in _of(seen, Answered):
        taken[record.request] += record.taken
    for request, times in taken.items():
        if times > 1:
            yield Violation(Rule.ONE_ANSWER, request, f"{times} answers were taken")


def _epochs(seen: list[Seen]) -> Iterator[Violation]:
    """Each epoch is given once, and to one worker they rise; between files the records may be late."""
    given: dict[tuple[str, str], list[int]] = defaultdict(list)
    last: dict[tuple[str, str, str], int] = {}
    for place, record in _of(seen, Claimed):
        given[record.action, record.entry].append(record.epoch)
        here = (place.file, record.action, record.entry)
        if record.epoch < last.get(here, 0):
            yield Violation(Rule.EPOCHS_RISE, record.action, f"one worker got {last[here]}, then {record.epoch}")
        last[here] = record.epoch
    for (action, entry), epochs in given.items():
        if len(set(epochs)) != len(epochs):
            yield Violation(Rule.EPOCHS_RISE, action, f"the claims of entry {entry} got the epochs {epochs}")
