"""The stream `humans`: what the executor wants people to know.

A question is in the inbox already when its message comes: the message only notifies a person. So a
repeat is harmless, and a message that cannot be read goes to the dead letters.
"""

import asyncio

from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.contracts.commands import HumanRequested
from haltpoint.contracts.people.audit import Deed
from haltpoint.contracts.people.humans import RequestKind, Way
from haltpoint.contracts.secrets import starred
from haltpoint.contracts.views.chains import RequestView
from haltpoint.runtime.observability import logs
from haltpoint.runtime.store.dead_letters import owner_of
from haltpoint.runtime.store.inbox import Verdict
from haltpoint.runtime.streams.delivery import Entry
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint.runtime.streams.wire import DeadLetterReason, Rejected, decode
from haltpoint_gateway.answering import faults_of
from haltpoint_gateway.escalations import EscalationHandler
from haltpoint_gateway.gateway import Gateway
from haltpoint_gateway.people.principal import Principal

_log = logs.get(__name__)


class RequestsHandler:
    """Calls people by a line in the log; an escalation goes to `handler` first."""

    def __init__(self, gateway: Gateway, escalation_handler: EscalationHandler | None) -> None:
        self._gateway = gateway
        self._escalation_handler = escalation_handler

    async def handle(self, entries: list[Entry]) -> None:
        """Tell about each entry and finish it."""
        await asyncio.gather(*(self._take(entry) for entry in entries))

    async def _take(self, entry: Entry) -> None:
        decoded = decode(Stream.HUMANS, entry.fields)
        if isinstance(decoded, Rejected):
            reason, detail = decoded.reason, decoded.detail
            _log.error("a message to the gateway cannot be read", reason=reason, detail=detail)
            await self._dead_letter(entry, reason, detail)
            return
        message = decoded.message
        if isinstance(message, HumanRequested):
            with logs.about(chain=message.subject, trace=message.traceparent):
                await self._tell(message)
        pipeline = self._gateway.redis.pipeline(transaction=True)
        pipeline.xack(entry.stream, GROUP[Stream.HUMANS].value, entry.id)
        pipeline.xdel(entry.stream, entry.id)
        await pipeline.execute()

    async def exhausted(self, entry: Entry) -> None:
        """Dead-letter what could not be told about again and again."""
        detail = f"delivered {entry.deliveries} times without success"
        await self._dead_letter(entry, DeadLetterReason.DELIVERIES_EXHAUSTED, detail)

    async def _dead_letter(self, entry: Entry, reason: DeadLetterReason, detail: str) -> None:
        ref = EntryRef.of(entry.stream, entry.id)
        letters = self._gateway.dead_letters
        await letters.add(ref, reason, detail, about=owner_of(entry.fields))

    async def _tell(self, message: HumanRequested) -> None:
        asked = message.data
        # Without the question: what people are asked, and about whom, is for the inbox and not for
        # logs.
        _log.info(
            "a person is asked; haltpoint inbox shows the question",
            request=asked.request_id,
            kind=asked.kind.value,
        )
        if self._escalation_handler and asked.kind is RequestKind.ESCALATION:
            await self._settle(self._escalation_handler, message)

    async def _settle(self, handler: EscalationHandler, message: HumanRequested) -> None:
        """Let the handler decide the case; its answer is checked and taken as a person's is."""
        gateway = self._gateway
        case = await gateway.views.request(message.data.request_id, lambda _: True)
        if case is None or not case.is_open:
            return  # answered, late or forgotten while the message was on its way
        typed = await gateway.catalogue.typed_secrets()
        shown = starred(case.model_dump(mode="json"), typed=typed)
        answer = await handler.decide(RequestView.model_validate(shown))
        if answer is None:
            return
        name = handler.name
        _, faults = await faults_of(gateway.catalogue, case, answer)
        if faults:
            _log.error(
                "the answer of the escalation handler does not fit", handler=name, faults=faults
            )
            return
        program = Principal(name, None, (), way=Way.HANDLER)
        line = gateway.audit.line(
            program, Deed.ANSWERED, case.id, answer.option_id or answer.decision
        )
        trace = message.traceparent
        verdict = await gateway.inbox.answer(case.id, answer, line=line, trace=trace)
        if verdict is Verdict.TAKEN:  # else a person was quicker, or has taken the case
            _log.info("an escalation was resolved", handler=name, decision=answer.decision.value)
