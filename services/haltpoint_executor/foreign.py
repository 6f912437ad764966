"""Tasks that other programs put on a stream: submitted under their own key, each in its chain's
partition.
"""

from typing import Final

from haltpoint.chain.checks.plans import task_fault
from haltpoint.contracts.base import value
from haltpoint.contracts.events import MessageLost, TaskSubmitted, ToExecutor
from haltpoint.contracts.people.audit import Audited, Deed
from haltpoint.contracts.people.humans import Way
from haltpoint.runtime.observability.telemetry import Tracing, finish
from haltpoint.runtime.store.dead_letters import Orphan
from haltpoint.runtime.store.store import Store, SubmitStatus, foreign_chain_id
from haltpoint.runtime.streams.delivery import Entry
from haltpoint.runtime.streams.wire import DeadLetterReason

_SOURCE: Final = 200
"""Characters of a sender's name in the audit."""


@value
class Undeliverable:
    """What becomes a dead letter, and what its chain hears of that."""

    entry: Entry
    reason: DeadLetterReason
    detail: str
    about: MessageLost | Orphan | None


def unknown_chain(entry: Entry, message: ToExecutor) -> Undeliverable:
    """A message for a chain that is not there, or that another release has stored."""
    detail = f"{message.type} for {message.subject}"
    if isinstance(message, TaskSubmitted):
        detail += ", which another release stored in its own form (HP-022): submit the task again"
    orphan = Orphan(message.subject)
    return Undeliverable(entry, DeadLetterReason.UNKNOWN_CHAIN, detail, orphan)


async def submit_foreign(
    store: Store, tracing: Tracing, entry: Entry, message: TaskSubmitted
) -> Undeliverable | None:
    """Start the chain of a task from outside, once. One that wants nothing, or whose key is taken,
    is undeliverable.
    """
    if fault := task_fault(message.data):
        return Undeliverable(entry, DeadLetterReason.BAD_FIELDS, fault, None)
    chain_id = foreign_chain_id(message)
    begun = tracing.submission(chain_id, message.data, message.traceparent)
    sender = message.source[:_SOURCE]
    audited = Audited(Deed.SUBMITTED, chain_id, sender, way=Way.STREAM, tenant=message.data.tenant)
    line = store.line(audited)
    submitted = await store.submit(
        message.data, chain_id=chain_id, trace=begun.trace, span=begun.own, line=line
    )
    match submitted.status:
        case SubmitStatus.CONFLICT:
            detail = f"{message.source} already sent another task with the id {message.id}"
        case SubmitStatus.ELSEWHERE:
            detail = (
                f"another release has the chain of {message.source}'s task {message.id} (HP-022)"
            )
        case _:
            finish(begun.sent)
            return None
    return Undeliverable(entry, DeadLetterReason.CONFLICT, detail, Orphan(chain_id))
