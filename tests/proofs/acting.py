"""The history check of what is undone, and of what answers say was done (see `history`)."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tests.proofs.records import Answered, Effect, Ended, Refused, Seen, Told, of
from tests.proofs.rules import Rule, Violation


def _undone(seen: list[Seen]) -> Iterator[Violation]:
    """A person who says that a compensation did not happen allows it once more, under its own action."""
    done: dict[str, int] = {}
    undone: dict[str, list[str]] = defaultdict(list)
    pardons: dict[str, int] = defaultdict(int)
    for _, answer in of(seen, Answered):
        pardons[answer.action] += answer.taken and answer.decision == "not_happened"
    for place, effect in of(seen, Effect):
        if not effect.undoes:
            done[effect.key] = place.at
            continue
        if effect.undoes not in done:
            yield Violation(Rule.UNDONE_ONCE, effect.undoes, f"{effect.key} undid what had not been done")
        undone[effect.undoes].append(effect.key)
    for deed, keys in undone.items():
        if len(keys) > 1 + sum(pardons[key] for key in set(keys)):
            yield Violation(Rule.UNDONE_ONCE, deed, f"it was undone {len(keys)} times, by {', '.join(keys)}")
    yield from _order(done, undone)


def _order(done: dict[str, int], undone: dict[str, list[str]]) -> Iterator[Violation]:
    by_chain: dict[str, list[str]] = defaultdict(list)  # in the order in which they were undone
    for deed, (key, *_) in undone.items():
        by_chain[key.partition(".")[0]].append(deed)
    for chain, deeds in by_chain.items():
        for first, then in pairwise(deed for deed in deeds if deed in done):
            if done[first] < done[then]:
                yield Violation(Rule.LAST_FIRST, chain, f"{first} was undone before {then}, which was done later")


def _answers(seen: list[Seen]) -> Iterator[Violation]:
    """Each list of an answer against what the provider knows. A chain whose people tell the truth has no doubt left but
    about what was under way when it was stopped.
    """
    effects: dict[str, set[str]] = defaultdict(set)
    undone: dict[str, set[str]] = defaultdict(set)
    refused = {record.undoes for _, record in of(seen, Refused)}
    for _, effect in of(seen, Effect):
        if effect.undoes:
            undone[_root(effect.undoes)].add(effect.undoes)
        elif effect.effects != "read_only":
            effects[_root(effect.key)].add(effect.key)
    undoing = {told.chain for _, told in of(seen, Told) if told.fact == "chain.undoing"}
    for _, end in of(seen, Ended):
        deeds, happened, taken_back = set(end.deeds), effects[end.chain], undone[end.chain]
        for words, wrong in (
            ("deeds that never happened", deeds - happened),
            ("an effect that is no deed and not in not_done", happened - deeds - set(end.not_done)),
            ("said to be undone, and is not", set(end.undone) - taken_back),
            ("undone, and not said to be", (taken_back & deeds) - set(end.undone)),
            ("said to be undone and not to be", set(end.undone) & set(end.not_undone)),
            ("neither undone nor in not_undone", deeds - set(end.undone) - set(end.not_undone)),
        ):
            if wrong and (end.chain in undoing or "undone" not in words or words.startswith("said")):
                yield Violation(Rule.ANSWER, end.chain, f"{words}: {', '.join(sorted(wrong))}")
        if end.status != "completed" and (left := deeds - taken_back - refused):
            yield Violation(Rule.ALL_UNDONE, end.chain, f"{', '.join(sorted(left))} is not undone")


def _root(name: str) -> str:
    """The chain that was submitted, of an action or of a chain below it."""
    return name.partition(".")[0].partition("~")[0]


RULES: Final = (_undone, _answers)
