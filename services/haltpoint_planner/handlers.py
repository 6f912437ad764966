"""One task per question to the model, in slots, under a lease that is renewed (R9): think once,
record once.

A thought costs money and takes seconds. One that is recorded is never paid for again; one that was
paid for and not recorded (a crash in between) is paid for a second time, and still only one is
recorded.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
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
from haltpoint.contracts.work.thoughts import ThoughtKind, Usage
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.observability import logs, telemetry
from haltpoint.runtime.store.dead_letters import DeadLetters, loss_of
from haltpoint.runtime.store.receipts import Lease, ReceiptStore, Rest, Rested, Thought
from haltpoint.runtime.streams.broker import UNREACHABLE
from haltpoint.runtime.streams.delivery import Entry
from haltpoint.runtime.streams.tasks import ended
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint.runtime.streams.wire import DeadLetterReason, Rejected, decode
from haltpoint_planner import routing_function
from haltpoint_planner.exchange import Reply
from haltpoint_planner.model import PassingError, Port, TooLongError
from haltpoint_planner.models import Models
from haltpoint_planner.prompting import prompts
from haltpoint_planner.prompting.context import Context
from haltpoint_planner.prompting.context_reader import ContextReader
from haltpoint_planner.thoughts import chosen, failed, own_of, reply_to, words_of

DRAIN: Final = 5.0
"""Seconds that thoughts under way have at the end; the others are handed back and paid for
again.
"""

_LONGEST_REST: Final = 60.0
_LONGEST_WITHOUT_SERVER: Final = 10.0
"""Seconds between two questions to a model that cannot answer. To be refused a connection costs
next to nothing, and who starts the server again looks on.
"""

_LONG: Final = 7.0
"""Seconds without a reply after which those who watch hear of it."""
_NO_REPLY: Final = f"the model has not replied for {_LONG:g} s"

LOOK: Final = 1.0
"""Seconds between two looks for cancelled chains."""

_log = logs.get(__name__)


class PlannerHandler:
    """The planner's handlers: `slots` thoughts at once, over all of `streams` together, each read
    one by one.
    """

    def __init__(
        self,
        reader: ContextReader,
        models: Models,
        receipt_store: ReceiptStore,
        dead_letters: DeadLetters,
        tracing: telemetry.Tracing,
        *,
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
        self._prices = prices
        self._phrases = phrases or Phrases()
        self._slots = asyncio.Semaphore(slots)
        # So many may run while each reader still waits for one more, and all together never are
        # more than the slots.
        self._spare = slots - streams
        self._running: dict[EntryRef, asyncio.Task[None]] = {}
        self._asked: dict[EntryRef, ToPlanner] = {}
        self._ended = asyncio.Condition()
        self._one_suspect = asyncio.Lock()
        self._paused = False
        self._begin = asyncio.Event()
        self._begin.set()
        self._stopping = stopping

    async def handle(self, entries: list[Entry]) -> None:
        """Put entries into slots; return when a slot is free for the next one, or when a suspect is
        finished.
        """
        refs = {EntryRef.of(entry.stream, entry.id): entry for entry in entries}
        for ref, entry in refs.items():
            if ref not in self._running:
                self._running[ref] = asyncio.create_task(
                    self._slot(ref, entry), name=f"thought {entry.id}"
                )
        if entries[0].deliveries > 1:
            await asyncio.wait([self._running[ref] for ref in refs])
            return
        async with self._ended:
            await self._ended.wait_for(
                lambda: (
                    self._stopping.is_set()
                    or (not self._paused and len(self._running) <= self._spare)
                )
            )

    def has_lease(self, stream: str, entry_id: str) -> bool:
        """Whether this process works on the entry."""
        return EntryRef.of(stream, entry_id) in self._running

    @asynccontextmanager
    async def alone(self, still_wanted: Callable[[], Awaitable[bool]]) -> AsyncGenerator[bool]:
        """No other thought is in hand in here: wait until all that were are finished, and let the
        readers wait.
        """
        async with self._one_suspect:
            self._paused = True
            try:
                if alone := await ended(self._running.values, still_wanted):
                    self._begin.clear()
                yield alone
            finally:
                self._paused = False
                self._begin.set()
                async with self._ended:
                    self._ended.notify_all()

    async def renew_leases(self) -> None:
        """Keep the leases of all thoughts under way; one whose lease is lost is cancelled: another
        planner has it.
        """
        running = list(self._running.items())
        kept = (
            await self._receipt_store.heartbeat([Lease(ref) for ref, _ in running])
            if running
            else []
        )
        for (ref, task), ours in zip(running, kept, strict=True):
            if not ours and not task.done():
                _log.warning("lost the lease of a thought", entry=ref.entry)
                task.cancel()

    async def stop_cancelled(self) -> None:
        """Break off the thoughts under way whose chains were cancelled: their replies are not paid
        for any longer.
        """
        asked = dict(self._asked)
        leases = [Lease(ref, message.data.thought_id) for ref, message in asked.items()]
        cancelled = await self._receipt_store.cancelled(leases)
        for (ref, message), over in zip(asked.items(), cancelled, strict=True):
            if over and ref in self._asked:
                self._running[ref].cancel()
                await self._receipt_store.record_thought(ref, failed(message, _too_late()))

    async def exhausted(self, entry: Entry) -> None:
        """Dead-letter an entry that no attempt finished, and report that to its chain."""
        message, why = (
            _question(entry),
            f"it was begun {entry.deliveries - 1} times and never finished",
        )
        fix = "Look at the planner's log; haltpoint dlq list has the message"
        error = HaltpointError("HP-308", "the thought was given up", why, fix)
        await self._dead_letters.add(
            EntryRef.of(entry.stream, entry.id),
            DeadLetterReason.DELIVERIES_EXHAUSTED,
            about=loss_of(entry.fields, message)
            if isinstance(message, Rejected)
            else failed(message, error),
        )

    async def let_go(self) -> None:
        """Wait for the signal to stop, then let handlers return that wait for a free slot."""
        await self._stopping.wait()
        async with self._ended:
            self._ended.notify_all()

    async def drain(self) -> None:
        """Let the thoughts under way end; break off what takes longer and hand it back."""
        running = dict(self._running)
        if not running:
            return
        await asyncio.wait(running.values(), timeout=DRAIN)
        unfinished = {ref: task for ref, task in running.items() if not task.done()}
        for task in unfinished.values():
            task.cancel()
        await asyncio.gather(*unfinished.values(), return_exceptions=True)
        await asyncio.gather(
            *(self._receipt_store.release(Lease(ref)) for ref in unfinished), return_exceptions=True
        )

    async def _slot(self, ref: EntryRef, entry: Entry) -> None:
        try:
            if entry.deliveries == 1:
                await self._begin.wait()
            async with self._slots:
                await self._think(ref, entry)
        except UNREACHABLE as error:
            _log.warning(
                "Redis is unreachable; the thought comes back after its lease", reason=str(error)
            )
        except Exception:  # noqa: BLE001 - a fault of ours is no reason to lose the others
            _log.exception("a thought failed; it comes back after its lease", entry=entry.id)
        finally:
            del self._running[ref]
            self._asked.pop(ref, None)
            async with self._ended:
                self._ended.notify_all()

    async def _think(self, ref: EntryRef, entry: Entry) -> None:
        message = _question(entry)
        if isinstance(message, Rejected):
            about = loss_of(entry.fields, message)
            await self._dead_letters.add(ref, message.reason, message.detail, about=about)
            return
        request, self._asked[ref] = message.data, message
        with logs.about(
            chain=chain_of(request.thought_id), step=request.step_id, trace=message.traceparent
        ):
            try:
                thought, words, own = await self._thought(message)
            except PassingError as failure:
                if await self._rests(ref, request, failure):
                    return
                thought, words, own = _failed(message, failure.error), "", b""
            except HaltpointError as error:
                thought, words, own = _failed(message, error), "", b""
            outcome = await self._receipt_store.record_thought(ref, thought, words, own)
            _log.info("thought", kind=request.kind.value, outcome=outcome.value)

    async def _thought(self, message: ToPlanner) -> tuple[Thought, str, bytes]:
        """What the executor gets, the model's own words, and its provider's message. Raises
        HaltpointError and PassingError.
        """
        request = message.data
        context = await self._reader.read(request)
        if context is None:  # found out again in one step with the acknowledgement
            return failed(message, _too_late()), "", b""
        if context.function is not None and request.kind is ThoughtKind.ROUTE:
            return await _by_function(message, context, context.function), "", b""
        name = self._models.name_of(context.endpoint, another=request.other_model)
        section = "" if context.agent is None else context.agent.model or ""
        context = replace(context, by=f"{section}:{name}")
        span = self._span(message, name, context)
        trace = telemetry.context_of(span, message.traceparent)
        message = msgspec.structs.replace(message, traceparent=trace)
        try:
            reply = await self._reply(name, context)
        except (PassingError, HaltpointError) as error:
            telemetry.finish(span, error.code)
            raise
        asked, said = reply.usage.input_tokens, reply.usage.output_tokens
        tokens = {telemetry.INPUT_TOKENS: asked, telemetry.OUTPUT_TOKENS: said}
        telemetry.finish(span, attributes=tokens)
        thought = reply_to(message, reply, context.known, self._phrases)
        return thought, words_of(reply), own_of(thought, reply, context)

    async def _reply(self, name: str, context: Context) -> Reply:
        """The reply, with what it costs."""
        section = None if context.agent is None else context.agent.model
        model = self._models.port_to(section, context.endpoint)
        loop = asyncio.get_running_loop()
        notice = loop.call_later(_LONG, self._tell, context.request, _NO_REPLY)
        try:
            reply = await _shorter(model, name, context)
        finally:
            notice.cancel()
        if reply.cut:
            own = f"max_tokens of [models.{section}]"
            limit = own if section else "HALTPOINT_MODEL__MAX_TOKENS"
            _log.warning(f"a reply reached its limit of tokens and is cut off; raise {limit}")
        return replace(reply, usage=priced(reply.usage, self._prices))

    async def _rests(self, ref: EntryRef, request: ThoughtRequest, failure: PassingError) -> bool:
        """Let the thought rest until its model may answer, and say so to those who watch; False
        when no time is left.
        """
        error = failure.error
        message = f"{error.what}: {error.why}. {error.fix}"
        longest = _LONGEST_WITHOUT_SERVER if error.code == "HP-302" else _LONGEST_REST
        rest = Rest(error.code, message, failure.after, longest)
        rested = await self._receipt_store.rest_thought(ref, request, rest)
        _log.warning(str(error), thought=request.thought_id, outcome=rested.value)
        self._tell(request, str(error))
        return rested is not Rested.LATE

    def _tell(self, request: ThoughtRequest, words: str) -> None:
        """Say to those who watch the chain what a thought waits for."""
        self._receipt_store.show_progress(ProgressView(request.thought_id, 0.0, words))

    def _span(self, message: ToPlanner, model: str, context: Context) -> Span | None:
        request = message.data
        attributes: dict[str, telemetry.Value] = {
            telemetry.OPERATION: "chat",
            telemetry.PROVIDER: self._models.provider_of(context.endpoint),
            telemetry.MODEL: model,
            telemetry.CHAIN: chain_of(request.thought_id),
            telemetry.THOUGHT: request.kind.value,
            telemetry.ATTEMPT: request.attempt,
        }
        conversation = context.task.conversation_id
        which = {telemetry.STEP: request.step_id, telemetry.CONVERSATION: conversation}
        attributes |= {name: value for name, value in which.items() if value}
        return self._tracing.start(
            f"chat {model}", message.traceparent, SpanKind.CLIENT, attributes
        )


async def _shorter(
    model: Port, name: str, context: Context, refused: TooLongError | None = None, left: int = 2
) -> Reply:
    """The reply to the prompt; to a shorter one, and `left` once more, when the model's server has
    `refused` it and nothing else helps.
    """
    room = None if refused is None else refused.room
    try:
        return await _ask(model, name, context, room)
    except TooLongError as again:
        if not left:
            raise again.error from again
        return await _shorter(model, name, context, again, left - 1)
    except HaltpointError as error:
        if refused is None or refused.is_named:
            raise
        # There is nothing left to shorten: it is refused for something else.
        raise refused.error from error


async def _ask(model: Port, name: str, context: Context, room: int | None) -> Reply:
    """The reply of a model to one prompt; both are in the log where the agent is `verbose`."""
    fitting = replace(context, room=room or model.room(name))
    prompt, request = prompts.build(fitting), context.request
    verbose = context.agent is not None and context.agent.verbose
    if verbose:
        tools = [tool["function"]["name"] for tool in prompt.tools]
        _log.info(
            "prompt",
            kind=request.kind.value,
            thought=request.thought_id,
            messages=list(prompt.messages),
            tools=tools,
        )
    reply = await model.ask(name, prompt, request, room)
    if verbose:
        said = words_of(reply)
        _log.info("reply", kind=request.kind.value, thought=request.thought_id, words=said)
    return reply


async def _by_function(message: ToPlanner, context: Context, path: str) -> Thought:
    """Whom the operator's function chooses for the task, or why it chooses none."""
    task, names = context.task, [one.name for one in context.choices]
    try:
        return chosen(message, await routing_function.run(path, task.goal, task.context, names))
    except HaltpointError as error:
        return _failed(message, error)


def _too_late() -> HaltpointError:
    return HaltpointError(
        "HP-309", "a model reply came too late", "its chain or step has ended", "Do nothing"
    )


def _failed(message: ToPlanner, error: HaltpointError) -> Thought:
    """The thought that failed; the log has it, too."""
    _log.warning(str(error), code=error.code, thought=message.data.kind.value)
    return failed(message, error)


def _question(entry: Entry) -> ToPlanner | Rejected:
    decoded = decode(Stream.PLANS, entry.fields)
    return decoded if isinstance(decoded, Rejected) else cast("ToPlanner", decoded.message)


def priced(usage: Usage, prices: Mapping[str, Price]) -> Usage:
    """The usage with its cost by the price table; a model port that knows the cost better has said
    it already.
    """
    price = prices.get(usage.model)
    if usage.cost or price is None:
        return usage
    cost = (usage.input_tokens * price.input + usage.output_tokens * price.output) / 1_000_000
    return msgspec.structs.replace(usage, cost=cost)
