"""What a user gets at the end (CONTRACT F1), as the core has stored it."""

import msgspec

from haltpoint.chain.checks.answer import answer
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import ActionStatus, ChainStatus, PlanOrigin
from haltpoint.contracts.answers import FinalAnswer
from haltpoint.contracts.base import action_of
from haltpoint.runtime.store.chain_codec import StoredEnd
from haltpoint.runtime.store.loading import decode_action
from haltpoint.runtime.store.rows import local
from haltpoint.runtime.views.record import ChainRecord


def answer_of(record: ChainRecord) -> FinalAnswer:
    """The answer of a chain that is over. The core lets the actions of a submitter's literal plan go, so their lines
    are read off the receipts here, by its own function.
    """
    end = msgspec.convert(record.end, StoredEnd)
    text = end.answer or _without_words(record, end)
    if record.head.get("origin") != PlanOrigin.LITERAL.value or action_of(record.id) is not None:
        return FinalAnswer(text=text, deeds=end.deeds, not_done=end.not_done)
    return answer(text, actions_of(record), (), end.not_done, record.spec, record.phrases)


def _without_words(record: ChainRecord, end: StoredEnd) -> str:
    if end.error is not None:
        return end.error.message
    return record.phrases.stopped if record.status is ChainStatus.CANCELLED else ""


def actions_of(record: ChainRecord) -> list[Action]:
    """The actions of a chain that is over, as the core has them."""
    steps = {step.id: index for index, (step, _) in enumerate(record.steps)}
    return [
        decode_action(stored, steps[local(name).rpartition(".")[0]], ActionStatus.DONE)
        for name, stored in record.actions.items()
    ]
