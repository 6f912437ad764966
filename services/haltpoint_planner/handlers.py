"""What the planner does with a question: think once, record once.

A thought costs money and takes seconds. One that is recorded is never paid for again; one that was
paid for and not recorded (a crash in between) is paid for a second time, and still only one is
recorded.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, cast

from msgspec import structs
from opentelemetry.trace import Span, SpanKind

from haltpoint.contracts.base import chain_of
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.commands import ThoughtRequest, ToPlanner
from haltpoint.contracts.people.phrases import Phrases
from haltpoint.contracts.policy import Price
from haltpoint.contracts.views.chains import ProgressView
from haltpoint.contracts.work.agents import Agents
from haltpoint.contracts.work.thoughts import ThoughtKind, Usage
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.observability import conventions, logs, metrics, telemetry
from haltpoint.runtime.store.dead_letters import DeadLetters, loss_of
from haltpoint.runtime.store.receipts import Lease, ReceiptStore, Rest, Rested
from haltpoint.runtime.streams.delivery import Entry
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint.runtime.streams.wire import DeadLetterReason, Rejected, decode
from haltpoint_planner import routing_function
from haltpoint_planner.exchange import Finish, Prompt, Reply
from haltpoint_planner.model import Port
from haltpoint_planner.models import Models
from haltpoint_planner.prompting import prompts
from haltpoint_planner.prompting.context import Context
from haltpoint_planner.prompting.context_reader import ContextReader
from haltpoint_planner.servers import PassingError
from haltpoint_planner.slots import Slots
from haltpoint_planner.thoughts import Drafted, chosen, drafted, failed, sentence, words_of

_LONGEST_REST: Final = 60.0
_LONGEST_WITHOUT_SERVER: Final = 10.0
"""Seconds between two questions to a model that cannot answer. To be refused a connection costs
next to nothing, and who starts the server again looks on.
"""

_LONG: Final = 7.0
"""Seconds without a reply after which those who watch hear of it."""
_NO_REPLY: Final = f"the model has not replied for {_LONG:g} s"

_TOO_LATE: Final = HaltpointError(
    "HP-309", "a model reply came too late", "its chain or step has ended", "Do nothing"
)

LOOK: Final = 1.0
"""Seconds between two looks for cancelled chains."""

_log = logs.get(__name__)


@dataclass
class PlannerHandler:
    """The planner's handlers."""

    reader: ContextReader
    models: Models
    receipt_store: ReceiptStore
    dead_letters: DeadLetters
    tracing: telemetry.Tracing
    agents: Agents
    prices: Mapping[str, Price]
    phrases: Phrases
    asked: dict[EntryRef, ToPlanner] = field(default_factory=dict)
    """The questions under way."""

    async def stop_cancelled(self, slots: Slots) -> None:
        """Break off the thoughts under way whose chains were cancelled: their replies are not paid
        for any longer.
        """
        asked = dict(self.asked)
        leases = [Lease(ref, message.data.thought_id) for ref, message in asked.items()]
        cancelled = await self.receipt_store.cancelled(leases)
        for (ref, message), is_over in zip(asked.items(), cancelled, strict=True):
            if is_over and slots.cancel(ref):
                await self.receipt_store.record_thought(ref, failed(message, _TOO_LATE))

    async def exhausted(self, entry: Entry) -> None:
        """Dead-letter an entry that no attempt finished, and report that to its chain."""
        ref = EntryRef.of(entry.stream, entry.id)
        message = await self._question(ref, entry)
        if message is not None:
            why = f"it was begun {entry.deliveries - 1} times and never finished"
            fix = "Look at the planner's log; haltpoint dlq list has the message"
            error = HaltpointError("HP-308", "the thought was given up", why, fix)
            about = failed(message, error)
            await self.dead_letters.add(ref, DeadLetterReason.DELIVERIES_EXHAUSTED, about=about)

    async def think(self, ref: EntryRef, entry: Entry) -> None:
        """Think about the question of an entry, and record the thought."""
        message = await self._question(ref, entry)
        if message is None:
            return
        self.asked[ref] = message
        request = message.data
        chain = chain_of(request.thought_id)
        try:
            with logs.about(chain=chain, step=request.step_id, trace=message.traceparent):
                await self._record(ref, message)
        finally:
            del self.asked[ref]

    async def _question(self, ref: EntryRef, entry: Entry) -> ToPlanner | None:
        """The question of an entry; None: it has none, and is a dead letter now."""
        decoded = decode(Stream.PLANS, entry.fields)
        if not isinstance(decoded, Rejected):
            return cast("ToPlanner", decoded.message)
        about = loss_of(entry.fields, decoded)
        await self.dead_letters.add(ref, decoded.reason, decoded.detail, about=about)
        return None

    async def _record(self, ref: EntryRef, message: ToPlanner) -> None:
        kind = message.data.kind.value
        try:
            drafted = await self._thought(message)
        except HaltpointError as error:
            if isinstance(error, PassingError) and await self._rests(ref, message.data, error):
                return
            _log.warning(str(error), code=error.code, thought=kind)
            drafted = Drafted(failed(message, error))
        outcome = await self.receipt_store.record_thought(
            ref, drafted.thought, drafted.words, drafted.own
        )
        _log.info("thought", kind=kind, outcome=outcome.value)

    async def _thought(self, message: ToPlanner) -> Drafted:
        """What is recorded of the thought. Raises HaltpointError."""
        request = message.data
        context = await self.reader.read(request)
        if context is None:  # found out again in one step with the acknowledgement
            return Drafted(failed(message, _TOO_LATE))
        supervisor = self.agents.supervisor
        if request.kind is ThoughtKind.ROUTE and supervisor is not None and supervisor.function:
            names = [agent.name for agent in self.agents.choices]
            decision = await routing_function.run(supervisor.function, context.task, names)
            return Drafted(chosen(message, decision))
        section = None if context.agent is None else context.agent.model
        port = self.models.port_to(section)
        name = port.settings.chosen(another=request.other_model)
        context = replace(context, by=f"{section or ''}:{name}")
        span = self._span(message, name, port, context)
        begun, outcome = time.monotonic(), "given_up"
        try:
            reply = await self._reply(port, name, context)
            outcome = "replied"
        except HaltpointError as error:
            outcome = error.code
            telemetry.finish(span, error.code)
            raise
        finally:
            metrics.MODEL_SECONDS.labels(name, outcome).observe(time.monotonic() - begun)
        metrics.MODEL_TOKENS.labels(name, "input").inc(reply.usage.input_tokens)
        metrics.MODEL_TOKENS.labels(name, "output").inc(reply.usage.output_tokens)
        tokens = {
            conventions.INPUT_TOKENS: reply.usage.input_tokens,
            conventions.OUTPUT_TOKENS: reply.usage.output_tokens,
        }
        telemetry.finish(span, attributes=tokens)
        trace = telemetry.context_of(span, message.traceparent)
        message = structs.replace(message, traceparent=trace)
        return drafted(message, reply, context, self.phrases)

    async def _reply(self, port: Port, name: str, context: Context) -> Reply:
        """The reply, with what it costs."""
        loop = asyncio.get_running_loop()
        notice = loop.call_later(_LONG, self._tell, context.request, _NO_REPLY)
        try:
            reply = await port.ask(name, partial(_prompt, context), context.request)
        finally:
            notice.cancel()
        if context.is_verbose:
            _log.info("reply", thought=context.request.thought_id, words=words_of(reply))
        if reply.finish is Finish.LENGTH:
            limit = port.server.setting("max_tokens")
            _log.warning(f"a reply reached its limit of tokens and is cut off; raise {limit}")
        return replace(reply, usage=priced(reply.usage, self.prices))

    async def _rests(self, ref: EntryRef, request: ThoughtRequest, error: PassingError) -> bool:
        """Let the thought rest until its model may answer, and say so to those who watch; False
        when no time is left.
        """
        longest = _LONGEST_WITHOUT_SERVER if error.code == "HP-302" else _LONGEST_REST
        rest = Rest(error.code, sentence(error), error.after, longest)
        rested = await self.receipt_store.rest_thought(ref, request, rest)
        _log.warning(str(error), thought=request.thought_id, outcome=rested.value)
        self._tell(request, str(error))
        return rested is not Rested.LATE

    def _tell(self, request: ThoughtRequest, words: str) -> None:
        """Say to those who watch the chain what a thought waits for."""
        self.receipt_store.show_progress(ProgressView(request.thought_id, 0.0, words))

    def _span(self, message: ToPlanner, name: str, port: Port, context: Context) -> Span | None:
        request = message.data
        attributes: dict[str, telemetry.Value | None] = {
            conventions.OPERATION: "chat",
            conventions.PROVIDER: port.settings.provider or "openai",
            conventions.MODEL: name,
            conventions.CHAIN: chain_of(request.thought_id),
            conventions.THOUGHT: request.kind.value,
            conventions.ATTEMPT: request.attempt,
            conventions.STEP: request.step_id,
            conventions.CONVERSATION: context.task.conversation_id,
        }
        known = {attribute: value for attribute, value in attributes.items() if value}
        return self.tracing.start(f"chat {name}", message.traceparent, SpanKind.CLIENT, known)


def _prompt(context: Context, room: int) -> Prompt:
    """The prompt in so many tokens; it is in the log where the agent is `verbose`."""
    prompt = prompts.build(replace(context, room=room))
    if context.is_verbose:
        tools = [tool["name"] for tool in prompt.tools]
        thought = context.request.thought_id
        messages = list(prompt.messages)
        _log.info("prompt", thought=thought, messages=messages, tools=tools)
    return prompt


def priced(usage: Usage, prices: Mapping[str, Price]) -> Usage:
    """The usage with its cost by the price table."""
    price = prices.get(usage.model)
    if price is None:
        return usage
    cost = (usage.input_tokens * price.input + usage.output_tokens * price.output) / 1_000_000
    return structs.replace(usage, cost=cost)
