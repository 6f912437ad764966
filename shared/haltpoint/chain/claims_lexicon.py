"""The verbs that a text may tell of, by their forms: those of the language and those of the tools (CONTRACT F1)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from haltpoint.chain import claims_english as english
from haltpoint.chain.claims_english import Verb


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The verbs to look for, by their forms, and the things that make a weak verb count."""

    pasts: Mapping[str, Verb]
    participles: Mapping[str, Verb]
    infinitives: Mapping[str, Verb]
    gerunds: Mapping[str, Verb]
    things: frozenset[str]
    heads: frozenset[str]
    forms: Mapping[str, Verb]
    opening: frozenset[str]


def lexicon(more: Iterable[Verb] = (), things: Iterable[str] = ()) -> Lexicon:
    """The English verbs and these; the things are nouns that tools speak of."""
    verbs = (*more, *english.LIGHT_VERBS, *english.VERBS)
    pasts, participles = {one.past: one for one in verbs}, {one.participle: one for one in verbs}
    infinitives, gerunds = {one.base: one for one in verbs}, {one.gerund: one for one in verbs}
    forms = {**gerunds, **infinitives, **participles, **pasts}
    named = frozenset(things)
    return Lexicon(
        pasts, participles, infinitives, gerunds, english.THINGS | named, english.HEADS | named,
        forms, frozenset(form.partition(" ")[0] for form in forms),
    )  # fmt: skip
