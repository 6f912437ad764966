"""The history check: what really happened, judged from the files of `records`.

    violations = check(folder.glob("*.jsonl"))

The rule about what answers say is in `acting`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from haltpoint.contracts.base import child_id
from tests.proofs import acting
from tests.proofs.records import (
    DESTRUCTIVE,
    Answered,
    Claimed,
    Decided,
    Effect,
    Receipt,
    Seen,
    Submitted,
    Told,
    of,
    read,
)
from tests.proofs.rules import Rule, Violation

FINAL: Final = frozenset({"chain.completed", "chain.failed", "chain.cancelled"})
REPEATABLE: Final = frozenset({"read_only", "idempotent"})


def check(files: Iterable[Path]) -> list[Violation]:
    """Judge a finished history: every accepted task has had its time to end. No violation: an empty
    list.
    """
    seen = read(files)
    rules = (
        _tasks,
        _endings,
        _commits,
        _receipts,
        _effects,
        _approvals,
        _answers,
        _epochs,
        *acting.RULES,
    )
    return [violation for rule in rules for violation in rule(seen)]


def _tasks(seen: list[Seen]) -> Iterator[Violation]:
    chains: dict[str, set[str]] = defaultdict(set)
    for _, record in of(seen, Submitted):
        chains[record.key].add(record.chain)
    for key, ids in chains.items():
        if len(ids) > 1:
            yield Violation(Rule.ONE_CHAIN, key, f"it became the chains {', '.join(sorted(ids))}")


def _endings(seen: list[Seen]) -> Iterator[Violation]:
    told: dict[str, list[str]] = defaultdict(list)
    for _, record in of(seen, Told):
        told[record.chain].append(record.fact)
    for chain in sorted({record.chain for _, record in of(seen, Submitted)} | told.keys()):
        facts = told[chain]
        endings = [fact for fact in facts if fact in FINAL]
        if len(endings) != 1:
            yield Violation(Rule.ONE_FINAL, chain, f"its final facts are {endings}")
        if endings and (after := facts[facts.index(endings[0]) + 1 :]):
            yield Violation(
                Rule.NOTHING_AFTER, chain, f"after {endings[0]} came {', '.join(after)}"
            )


def _commits(seen: list[Seen]) -> Iterator[Violation]:
    makers: dict[tuple[str, str], int] = defaultdict(int)
    for _, record in of(seen, Decided):
        makers[record.chain, record.version] += 1
    for (chain, version), times in makers.items():
        if times > 1:
            yield Violation(
                Rule.ONE_COMMIT, chain, f"version {version} was committed {times} times"
            )


def _receipts(seen: list[Seen]) -> Iterator[Violation]:
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    effects = {record.key for _, record in of(seen, Effect)}
    children = {told.chain for _, told in of(seen, Told)}
    successes = set()
    for _, record in of(seen, Receipt):
        found[record.action, record.attempt].add(record.receipt)
        if record.success:
            successes.add(record.action)
    for (action, attempt), receipts in found.items():
        if len(receipts) > 1:
            yield Violation(
                Rule.ONE_RECEIPT, action, f"attempt {attempt} had {len(receipts)} receipts"
            )
    for action in sorted(successes - effects):
        if child_id(action) in children:  # a skill has no effect but those of its chain
            continue
        yield Violation(
            Rule.EFFECT_FIRST,
            action,
            "its receipt says success, and its provider never heard of it",
        )
    completed: dict[str, int] = defaultdict(int)
    attempts: dict[str, int] = defaultdict(int)
    for _, told in of(seen, Told):
        completed[told.action] += told.fact == "action.completed"
        attempts[told.action] += told.fact == "action.dispatched"
    for action, times in completed.items():
        if times > max(attempts[action], 1):
            yield Violation(
                Rule.ONE_RECEIPT,
                action,
                f"it was dispatched {attempts[action]} times and completed {times} times",
            )


def _effects(seen: list[Seen]) -> Iterator[Violation]:
    runs: dict[str, list[tuple[int, Effect]]] = defaultdict(list)
    taken: dict[tuple[str, str], int] = defaultdict(int)
    sent: dict[str, int] = {}
    for place, effect in of(seen, Effect):
        runs[effect.key].append((place.at, effect))
    for place, answer in of(seen, Answered):
        taken[answer.action, answer.decision] += answer.taken
        if answer.decision == "approve":
            sent.setdefault(answer.action, place.at)
    for key, effects in runs.items():
        if len({effect.arguments for _, effect in effects}) > 1:
            yield Violation(Rule.SAME_ARGUMENTS, key, "its runs had different arguments")
        if effects[0][1].effects not in REPEATABLE:
            # An approval has the same action run again, on a tool's word that it has done nothing
            # yet; of a destructive call a person is asked before it runs at all.
            asks_itself = effects[0][1].effects != DESTRUCTIVE
            allowed = 1 + taken[key, "not_happened"] + asks_itself * taken[key, "approve"]
            if len(effects) > allowed:
                yield Violation(
                    Rule.ONE_EFFECT,
                    key,
                    f"it was started {len(effects)} times, {allowed} were allowed",
                )
        for at, effect in effects:
            if effect.confirmed and not sent.get(key, at) < at:
                yield Violation(
                    Rule.APPROVED, key, "it ran as confirmed before anybody had approved it"
                )


def _approvals(seen: list[Seen]) -> Iterator[Violation]:
    """A yes counts from the moment in which it was sent: that it was taken is recorded later."""
    sent: dict[tuple[str, str], int] = {}
    for place, answer in of(seen, Answered):
        if answer.decision == "approve":
            sent.setdefault((answer.action, answer.arguments), place.at)
    for place, effect in of(seen, Effect):
        if (
            effect.effects == DESTRUCTIVE
            and not sent.get((effect.key, effect.arguments), place.at) < place.at
        ):
            yield Violation(
                Rule.THIS_CALL, effect.key, f"it ran with {effect.arguments} before a yes to that"
            )


def _answers(seen: list[Seen]) -> Iterator[Violation]:
    taken: dict[str, int] = defaultdict(int)
    for _, record in of(seen, Answered):
        taken[record.request] += record.taken
    for request, times in taken.items():
        if times > 1:
            yield Violation(Rule.ONE_ANSWER, request, f"{times} answers were taken")


def _epochs(seen: list[Seen]) -> Iterator[Violation]:
    """Each epoch is given once, and to one worker they rise; between files the records may be
    late.
    """
    given: dict[tuple[str, str], list[int]] = defaultdict(list)
    last: dict[tuple[str, str, str], int] = {}
    for place, record in of(seen, Claimed):
        given[record.action, record.entry].append(record.epoch)
        here = (place.file, record.action, record.entry)
        if record.epoch < last.get(here, 0):
            yield Violation(
                Rule.EPOCHS_RISE, record.action, f"one worker got {last[here]}, then {record.epoch}"
            )
        last[here] = record.epoch
    for (action, entry), epochs in given.items():
        if len(set(epochs)) != len(epochs):
            yield Violation(
                Rule.EPOCHS_RISE, action, f"the claims of entry {entry} got the epochs {epochs}"
            )
