"""Phrases around a verb that turn what it tells: negations, conditions, reports, agents and times (CONTRACT F1)."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from haltpoint.chain import claims_english as english
from haltpoint.chain.claims_english import Verb, words

BE: Final = words("was were is are be been being got am")
ASKING: Final = words("have had did do should would could can will may might if")
NOT_PASSIVE: Final = words("i we you who which that what")
ONLY_TOLD: Final = words("he she")
"""As whom a thing was done to: she was told; not: he was paid."""
DEFINITE: Final = words("the your my our his her their this it all everything it's")
_I_AM: Final = words("i'm we're happy glad pleased")
PAST: Final = words("found got went made took did read gave came saw looked put set chose")
_RELATIVE: Final = words("who which that")
_OWN: Final = words("wrote told asked replied")
_NO_PAST: Final = words("need feed speed seed red bed")
_ANNOUNCED: Final = re.compile(
    r"(?:(?:(?:i|we) can (?:now )?|(?:(?:i am|i'm|we are|we're) )?(?:pleased|happy|glad) to |(?:just|this is) to )"
    r"(?:confirm|say|report|announce|(?:tell|inform|assure) you|let you know)"
    r"|(?:please|you should|i want you to) (?:know|note)) (?:that )?"
    r"|as you (?:can see|know|asked|requested|wished|wanted|instructed) "
    r"|(?:as )?(?:(?:the|all|these|its) (?:\w+ )?"
    r"(?:results?|receipts?|outputs?|response|confirmation|status|tools?|system)"
    r"|this|that|it|which) (?:now |also |clearly )*(?:shows?|confirms?|confirmed|indicates?|means?|proves?) that "
)
_CAUSED: Final = re.compile(
    r"\b(?:i|we|i've|we've) (?:have |\w+ly )?(?:had|got|gotten) "
    r"(?:[\w'-]+|(?:the|your|my|a|an|this|that)(?: [\w'-]+){1,3})$|^consider (?:it|that|them|(?:the|your) [\w'-]+)$"
)
_COMPLETED: Final = re.compile(
    r"(?<!\bnot )\b(?:is|was|has been) (?:now |already )?(?:complete|completed|done|finished|successful)$"
)
_OF: Final = ("of", "to", "for")
_OPENINGS: Final = {"as": english.AS_WANTED, "no": english.NO_MATTER, "you": words("asked wanted requested wished")}
_NO_END: Final = words("and or that which who what if than as whether")
_SETTLED: Final = words("asked requested wanted wished said told instructed now then it him her them delay hesitation")


def past(word: str) -> bool:
    """Looks like a past tense."""
    return word in PAST or (word.endswith("ed") and word not in _NO_PAST)


def adverb(word: str) -> bool:
    """Just, already, successfully: nothing that changes who did what."""
    return word in english.ADVERBS or word.endswith("ly")


def acts(tokens: Sequence[str]) -> bool:
    """Begins with somebody else who does something: you wrote ...; not with whom or what it was done to: it to John."""
    if tokens[0] not in english.OTHERS:
        return False
    following = next((word for word in tokens[1:] if not adverb(word)), "")
    return following[:1].isalnum() and (tokens[0] in _RELATIVE or following not in english.BEHIND_OBJECT)


def unreal(tokens: Sequence[str], *, clear: bool) -> bool:
    """Will, could, to do; but where the verb behind can be nothing but past (`clear`), `to` is where it went."""
    return any(word in english.MODALS and not (word == "to" and clear and "be" not in tokens) for word in tokens)


def turned(before: Sequence[str]) -> bool:
    """Negated, conditional or reported; what I tell you is not reported."""
    for at, word in enumerate(before):
        following = before[at + 1] if at + 1 < len(before) else ""
        if word in english.NEGATIONS or word.endswith("n't"):
            return True
        once_more = word == "once" and following in ("more", "again")
        if word in english.CONDITIONS and not following.endswith("ing") and not once_more:  # "after checking it I sent"
            return True
        the_failing = at > 0 and word in ("failed", "failing") and before[at - 1] in english.COUNTS
        if word.startswith(("fail", "refus")) and not the_failing:
            return True
        if word in english.REPORTS and following != "you" and not _told_by_me(before, at):
            return True
        if word in english.REPORTS_THAT and following == "that" and before[0] not in english.ME | _I_AM:
            return True
        if word in english.LEARNED and following == "that":
            return True
    return False


def announced(before: Sequence[str]) -> int:
    """How many words only say that something is said now: I can confirm that, I'm glad to say. Behind them it begins.

    What others confirm or know, and what is to be confirmed, is not said now.
    """
    found = _ANNOUNCED.match(" ".join(before) + " ")
    return 0 if found is None else found[0].count(" ")


def fronted(clause: Sequence[str], at: int) -> int:
    """How many words stand before the main clause of the one who speaks: After the lookup | I sent it; 0 when none do.

    `at` is the place of the verb that is looked at. What stands in front (once, without, as you asked) turns only
    itself. `The message I sent` is no main clause: what was sent does not follow.
    """
    first = next((k for k, word in enumerate(clause[:at]) if word in english.FRONTED or not _leads_in(word)), at)
    mine = next((k for k in range(at - 1, first, -1) if clause[k] in english.ME | english.PERFECT), 0)
    if not mine or clause[first] not in english.FRONTED:
        return 0
    inside = clause[first + 1 : mine]
    if not inside:
        return mine if clause[first] in ("instead", "yet") else 0
    if (inside[-1] in _NO_END and inside != ["that"]) or (
        clause[first] in _OPENINGS and inside[0] not in _OPENINGS[clause[first]]
    ):
        return 0
    told = next((k for k in range(mine + 1, len(clause)) if not _aux(clause[k])), len(clause))
    thing = clause[told + 1] if told + 1 < len(clause) else ""
    return mine if inside[-1] in _SETTLED or (thing[:1].isalnum() and thing not in english.AFTER_A_NOUN) else 0


def _leads_in(word: str) -> bool:
    return adverb(word) or word in ("and", "&", "right", "shortly", "soon")


def _aux(word: str) -> bool:
    return adverb(word) or word in ("have", "had")


def by_a_source(tokens: Sequence[str]) -> bool:
    """According to the log it was sent; not: according to your wishes, nor what I did myself."""
    for at, word in enumerate(tokens):
        if word == "according":
            mine = not (english.ME | english.PERFECT).isdisjoint(tokens)
            return not mine and english.WANTED.isdisjoint(tokens[at + 2 : at + 6])
    return False


def _told_by_me(before: Sequence[str], at: int) -> bool:
    """I asked Ana and sent it: a deed among others; not: I asked how it was sent."""
    mine = at > 0 and before[at - 1] in english.ME | english.PERFECT and before[at] in _OWN
    return mine and "how" not in before and "why" not in before


def by_another(after: Sequence[str]) -> bool:
    """By somebody who is not the one who speaks, and no means."""
    for at, word in enumerate(after[:-1]):
        if word == "by":
            agent = after[at + 1]
            then = agent in english.MONTHS or agent in english.DAYTIMES or agent[:1].isdigit()
            return not then and agent not in english.MEANS and not agent.endswith("ing")
    return False


def leads_to(before: Sequence[str]) -> bool:
    """What the one who speaks has done to do it, up to `to`: proceeded to, took the liberty to, used the tool to."""
    last, verbs = before[-2], before[:-2]
    if last in ("proceeded", "managed"):
        return True
    if last in ("liberty", "time", "opportunity", "chance"):
        return "took" in verbs or "taken" in verbs
    if last == "ahead":
        return "went" in verbs or "gone" in verbs
    return (last == "sure" and "made" in verbs) or "used" in verbs or "called" in verbs


def caused(before: Sequence[str]) -> bool:
    """I had the message sent, we got it booked, consider it sent."""
    return _CAUSED.search(" ".join(before)) is not None


def came_through(subject: Sequence[str], after: Sequence[str]) -> bool:
    """The transfer of 5 euros | went through, your message | has gone out; not: I | went through it, it | went out."""
    what = next((word for word, then in zip(subject, [*subject[1:], "of"], strict=True) if then in _OF), "")
    return (what in english.NOUN_KINDS or what in english.MESSAGES) and not long_ago(after)


def completed(before: Sequence[str], after: Sequence[str]) -> bool:
    """Sending | the message is complete, the sending | of it is; not: the booking is complete, as one may read."""
    return (not before or [*before, *after[:1]] == ["the", "of"]) and _COMPLETED.search(" ".join(after)) is not None


def by_me(after: Sequence[str]) -> bool:
    """By the one who speaks: it was sent by me."""
    return any(word == "by" and after[at + 1] in ("me", "us") for at, word in enumerate(after[:-1]))


def long_ago(words: Iterable[str]) -> bool:
    """At a time that lies before this talk."""
    previous = ""
    for word in words:
        if word in english.LONG_AGO and not (word == "ago" and previous in english.JUST_NOW):
            return True
        if previous in ("on", "in", "since", "last") and (
            word in english.MONTHS or word in ("week", "month", "year", "night", "time") or word[:1].isdigit()
        ):
            return True
        previous = word
    return False


def to_the_user(verb: Verb, after: Sequence[str]) -> bool:
    """I told you, I informed you that: this talk itself."""
    return verb.base in english.TELLING and bool(after) and after[0] in english.TO_THE_USER
