"""What the planner does with a question: think once, record once.

A thought costs money and takes seconds. One that is recorded is never paid for again; one that was
paid for and not recorded (a crash in between) is paid for a second time, and still only one is
recorded.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final, cast

import msgspec
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
from haltpoint.runtime.observability import logs, telemetry
from haltpoint.runtime.store.dead_letters import DeadLetters, loss_of
from haltpoint.runtime.store.receipts import Lease, ReceiptStore, Rest, Rested
from haltpoint.runtime.streams.delivery import Entry
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint.runtime.streams.wire import DeadLetterReason, Rejected, decode
from haltpoint_planner import routing_function
from haltpoint_planner.exchange import Prompt, Reply
from haltpoint_planner.model import Port
from haltpoint_planner.models import Models
from haltpoint_planner.prompting import prompts
from haltpoint_planner.prompting.context import Context
from haltpoint_planner.prompting.context_reader import ContextReader
from haltpoint_planner.servers import PassingError
from haltpoint_planner.slots import Slots
from haltpoint_planner.thoughts import Drafted, chosen, drafted, failed, words_of

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


class PlannerHandler:
    """The planner's handlers, in `slots`."""

    def __init__(
        self,
        reader: ContextReader,
        models: Models,
        receipt_store: ReceiptStore,
        dead_letters: DeadLetters,
        tracing: telemetry.Tracing,
        *,
        agents: Agents,
        slots: int,
        streams: int,
        stopping: asyncio.Event,
        prices: Mapping[str, Price] = MappingProxyType({}),
        phrases: Phrases | None = None,
    ) -> None:
        self._reader = reader
        self._models = models
        self._receipt_store = receipt_store
        self._dead_letters = dead_letters
        self._tracing = tracing
        self._agents = agents
        self._prices = prices
        self._phrases = phrases or Phrases()
        self._asked: dict[EntryRef, ToPlanner] = {}
        self.slots = Slots(
            self._think, receipt_store, slots=slots, streams=streams, stopping=stopping
        )

    async def stop_cancelled(self) -> None:
        """Break off the thoughts under way whose chains were cancelled: their replies are not paid
        for any longer.
        """
        asked = dict(self._asked)
        leases = [Lease(ref, message.data.thought_id) for ref, message in asked.items()]
        cancelled = await self._receipt_store.cancelled(leases)
        for (ref, message), is_over in zip(asked.items(), cancelled, strict=True):
            if is_over and self.slots.cancel(ref):
                await self._receipt_store.record_thought(ref, failed(message, _TOO_LATE))

    async def exhausted(self, entry: Entry) -> None:
        """Dead-letter an entry that no attempt finished, and report that to its chain."""
        message = _question(entry)
        why = f"it was begun {entry.deliveries - 1} times and never finished"
        fix = "Look at the planner's log; haltpoint dlq list has the message"
        error = HaltpointError("HP-308", "the thought was given up", why, fix)
        ref, reason = EntryRef.of(entry.stream, entry.id), DeadLetterReason.DELIVERIES_EXHAUSTED
        about = (
            loss_of(entry.fields, message)
            if isinstance(message, Rejected)
            else failed(message, error)
        )
        await self._dead_letters.add(ref, reason, about=about)

    async def _think(self, ref: EntryRef, entry: Entry) -> None:
        message = _question(entry)
        if isinstance(message, Rejected):
            about = loss_of(entry.fields, message)
            await self._dead_letters.add(ref, message.reason, message.detail, about=about)
            return
        self._asked[ref] = message
        try:
            await self._record(ref, message)
        finally:
            del self._asked[ref]

    async def _record(self, ref: EntryRef, message: ToPlanner) -> None:
        request = message.data
        chain = chain_of(request.thought_id)
        with logs.about(chain=chain, step=request.step_id, trace=message.traceparent):
            try:
                drafted = await self._thought(message)
            except HaltpointError as error:
                if isinstance(error, PassingError) and await self._rests(ref, request, error):
                    return
                _log.warning(str(error), code=error.code, thought=request.kind.value)
                drafted = Drafted(failed(message, error))
            outcome = await self._receipt_store.record_thought(
                ref, drafted.thought, drafted.words, drafted.own
            )
            _log.info("thought", kind=request.kind.value, outcome=outcome.value)

    async def _thought(self, message: ToPlanner) -> Drafted:
        """What is recorded of the thought. Raises HaltpointError."""
        request = message.data
        context = await self._reader.read(request)
        if context is None:  # found out again in one step with the acknowledgement
            return Drafted(failed(message, _TOO_LATE))
        supervisor = self._agents.supervisor
        if request.kind is ThoughtKind.ROUTE and supervisor is not None and supervisor.function:
            task, names = context.task, [agent.name for agent in self._agents.choices]
            decision = await routing_function.run(
                supervisor.function, task.goal, task.context, names
            )
            return Drafted(chosen(message, decision))
        section = None if context.agent is None else context.agent.model
        port = self._models.port_to(section)
        name = port.settings.chosen(another=request.other_model)
        context = replace(context, by=f"{section or ''}:{name}")
        span = self._span(message, port, context)
        trace = telemetry.context_of(span, message.traceparent)
        try:
            reply = await self._reply(port, name, context)
        except HaltpointError as error:
            telemetry.finish(span, error.code)
            raise
        usage = reply.usage
        tokens = {
            telemetry.INPUT_TOKENS: usage.input_tokens,
            telemetry.OUTPUT_TOKENS: usage.output_tokens,
        }
        telemetry.finish(span, attributes=tokens)
        message = msgspec.structs.replace(message, traceparent=trace)
        return drafted(message, reply, context, self._phrases)

    async def _reply(self, port: Port, name: str, context: Context) -> Reply:
        """The reply, with what it costs."""
        agent, loop = context.agent, asyncio.get_running_loop()
        notice = loop.call_later(_LONG, self._tell, context.request, _NO_REPLY)
        try:
            reply = await port.ask(name, partial(_prompt, context), context.request)
        finally:
            notice.cancel()
        if agent is not None and agent.verbose:
            _log.info("reply", thought=context.request.thought_id, words=words_of(reply))
        if reply.cut:
            limit = port.server.setting("max_tokens")
            _log.warning(f"a reply reached its limit of tokens and is cut off; raise {limit}")
        return replace(reply, usage=priced(reply.usage, self._prices))

    async def _rests(self, ref: EntryRef, request: ThoughtRequest, error: PassingError) -> bool:
        """Let the thought rest until its model may answer, and say so to those who watch; False
        when no time is left.
        """
        message = f"{error.what}: {error.why}. {error.fix}"
        longest = _LONGEST_WITHOUT_SERVER if error.code == "HP-302" else _LONGEST_REST
        rest = Rest(error.code, message, error.after, longest)
        rested = await self._receipt_store.rest_thought(ref, request, rest)
        _log.warning(str(error), thought=request.thought_id, outcome=rested.value)
        self._tell(request, str(error))
        return rested is not Rested.LATE

    def _tell(self, request: ThoughtRequest, words: str) -> None:
        """Say to those who watch the chain what a thought waits for."""
        self._receipt_store.show_progress(ProgressView(request.thought_id, 0.0, words))

    def _span(self, message: ToPlanner, port: Port, context: Context) -> Span | None:
        request = message.data
        model = port.settings.chosen(another=request.other_model)
        attributes: dict[str, telemetry.Value | None] = {
            telemetry.OPERATION: "chat",
            telemetry.PROVIDER: port.settings.provider or "openai",
            telemetry.MODEL: model,
            telemetry.CHAIN: chain_of(request.thought_id),
            telemetry.THOUGHT: request.kind.value,
            telemetry.ATTEMPT: request.attempt,
            telemetry.STEP: request.step_id,
            telemetry.CONVERSATION: context.task.conversation_id,
        }
        known = {name: value for name, value in attributes.items() if value}
        return self._tracing.start(f"chat {model}", message.traceparent, SpanKind.CLIENT, known)


def _prompt(context: Context, room: int) -> Prompt:
    """The prompt in so many tokens; it is in the log where the agent is `verbose`."""
    prompt = prompts.build(replace(context, room=room))
    if context.agent is not None and context.agent.verbose:
        tools = [tool["function"]["name"] for tool in prompt.tools]
        thought, messages = context.request.thought_id, list(prompt.messages)
        _log.info("prompt", thought=thought, messages=messages, tools=tools)
    return prompt


def _question(entry: Entry) -> ToPlanner | Rejected:
    decoded = decode(Stream.PLANS, entry.fields)
    return decoded if isinstance(decoded, Rejected) else cast("ToPlanner", decoded.message)


def priced(usage: Usage, prices: Mapping[str, Price]) -> Usage:
    """The usage with its cost by the price table."""
    price = prices.get(usage.model)
    if price is None:
        return usage
    cost = (usage.input_tokens * price.input + usage.output_tokens * price.output) / 1_000_000
    return msgspec.structs.replace(usage, cost=cost)
