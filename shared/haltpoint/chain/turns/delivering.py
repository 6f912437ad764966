"""The words at the end of a chain are looked at before they are delivered (CONTRACT F3): never a strike, never lost."""

from collections.abc import Collection, Iterable

from haltpoint.chain.checks.citations import cite
from haltpoint.chain.checks.intent import deeds_asked_for
from haltpoint.chain.model.next import Completed, Next
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.thinking import overspent, think_answer, think_verify
from haltpoint.chain.words.hint import MOST, claims
from haltpoint.contracts.events import AnswerDrafted
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, Finding, Told, Violation


def deliver(work: Work, words: str, thought: str) -> Next:
    """End the chain with the model's words, once they have been looked at as the policy says."""
    check = work.world.policy.claims_check
    if work.mode(None) is Mode.OFF or check == "off":
        return Completed(cite(work, words))
    if check == "hint":
        return _judge(work, words, claims(words, deeds_asked_for(work)), thought)
    return think_verify(work, words, thought)


def take_findings(work: Work, data: AnswerDrafted.Data) -> Next:
    """Judge the words that were looked at by what was found in them, and deliver them."""
    words, findings = work.answer or "", () if overspent(work) else data.findings or ()
    done = {name for name, action in work.actions.items() if action.outcome is not None and action.outcome.satisfies}
    return _judge(work, words, unproven(words, findings, done), data.thought_id)


def unproven(words: str, findings: Iterable[Finding], done: Collection[str]) -> tuple[str, ...]:
    """What the words report as done and none of the receipts `done` shows; a quote that is not in them counts not."""
    quotes = (one.quote.strip() for one in findings if one.told is Told.DONE and one.action_id not in done)
    return tuple(dict.fromkeys(quote for quote in quotes if quote and quote in words))[:MOST]


def _judge(work: Work, words: str, found: tuple[str, ...], thought: str) -> Next:
    """Deliver the words with what is unproven in them; in strict mode they are asked for once more before that."""
    asked_again, work.unproven = bool(work.unproven), found
    if not found or asked_again or work.mode(None) is not Mode.STRICT:
        return Completed(cite(work, words))
    work.answer = words
    quoted = "; ".join(f'"{one}"' for one in found)
    text = f"No result shows that this was done: {quoted}. Answer again, and say only what the results show."
    return think_answer(work, (Correction(violation=Violation.UNPROVEN, message=text),), thought, words)
