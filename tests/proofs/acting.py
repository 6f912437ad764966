"""The history check of what answers say was done (see `history`)."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from haltpoint.contracts.base import root_of
from tests.proofs.records import Effect, Ended, Seen, of
from tests.proofs.rules import Rule, Violation


def _answers(seen: list[Seen]) -> Iterator[Violation]:
    """Each list of an answer against what the provider knows. A chain whose people tell the truth
    has no doubt left but about what was under way when it was stopped.
    """
    effects: dict[str, set[str]] = defaultdict(set)
    for _, effect in of(seen, Effect):
        if effect.effects != "read_only":
            effects[root_of(effect.key)].add(effect.key)
    for _, end in of(seen, Ended):
        deeds, happened = set(end.deeds), effects[end.chain]
        for words, wrong in (
            ("deeds that never happened", deeds - happened),
            ("an effect that is no deed and not in not_done", happened - deeds - set(end.not_done)),
        ):
            if wrong:
                yield Violation(Rule.ANSWER, end.chain, f"{words}: {', '.join(sorted(wrong))}")


RULES: Final = (_answers,)
