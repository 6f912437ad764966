"""One task per question to the model, in slots, under a lease that is beaten (R9): think once, record once.

A thought costs money and takes seconds. One that is recorded is never paid for again; one that was paid for and not
recorded (a crash in between) is paid for a second time, and still only one is recorded.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypedDict, assert_never, cast

from opentelemetry.trace import Span, SpanKind

from haltpoint.contracts.base import MAX_BODY, chain_of
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.events import (
    ActionProposed,
    AnswerDrafted,
    DraftedAnswer,
    DraftedIntent,
    DraftedPlan,
    FailedThought,
    IntentDrafted,
    MessageLost,
    PlanDrafted,
    ProposedActions,
    ThoughtFailed,
    ThoughtRequest,
    ToPlanner,
)
from haltpoint.contracts.plans import Plan
from haltpoint.contracts.thoughts import Finding, ThoughtKind, Usage
from haltpoint.contracts.tools import ToolSpec
from haltpoint.runtime import logs, telemetry
from haltpoint.runtime.broker import UNREACHABLE
from haltpoint.runtime.dead_letters import DeadLetters, Unheard
from haltpoint.runtime.delivery import Entry
from haltpoint.runtime.errors import HaltpointError
from haltpoint.runtime.ledger import Held, Ledger, Thought
from haltpoint.runtime.losses import loss_of
from haltpoint.runtime.tasks import ended
from haltpoint.runtime.topology import Place
from haltpoint.runtime.wire import Rejected, decode
from haltpoint_planner import prompts, verifying
from haltpoint_planner.context import ContextReader
from haltpoint_planner.drafting import MAX_CONTENT, draft_proposal, said, without_thoughts
from haltpoint_planner.intent_drafting import draft_intent
from haltpoint_planner.json_text import without_surrogates
from haltpoint_planner.model import Model
from haltpoint_planner.plan_drafting import draft_plan, question_in
from haltpoint_planner.replies import Reply
from haltpoint_planner.unread import quoted
from haltpoint_planner.verifying import Check, findings_in

MAX_RAW: Final = 64 * 1024  # characters of the model's own words that are kept
DRAIN: Final = 5.0
"""Seconds that thoughts under way have at the end; the others are handed back and paid for again."""

_log = logs.get(__name__)


class _Envelope(TypedDict):
    id: str
    source: str
    subject: str
    time: str
    traceparent: str | None


@dataclass(frozen=True, slots=True)
class _Running:
    held: Held
    task: asyncio.Task[None]


class Thinker:
    """The planner's handlers: `slots` thoughts at once, over all of `streams` together, each read one by one."""

    def __init__(
        self,
        reader: ContextReader,
        model: Model,
        chosen: Callable[[bool], str],
        ledger: Ledger,
        dead_letters: DeadLetters,
        tracing: telemetry.Tracing,
        *,
        slots: int,
        streams: int,
        stopping: asyncio.Event,
        check: Check | None = None,
    ) -> None:
        self._reader = reader
        self._model = model
        self._chosen = chosen
        self._ledger = ledger
        self._dead_letters = dead_letters
        self._tracing = tracing
        self._check = check
        self._slots = asyncio.Semaphore(slots)
        # So many may run while each reader still waits for one more, and all together never are more than the slots.
        self._spare = slots - streams
        self._running: dict[tuple[str, str], _Running] = {}
        self._ended = asyncio.Condition()
        self._one_suspect = asyncio.Lock()
        self._paused = False
        self._begin = asyncio.Event()
        self._begin.set()
        self._stopping = stopping

    async def handle(self, entries: list[Entry]) -> None:
        """Put entries into slots; return when a slot is free for the next one, or when a suspect is finished."""
        for entry in entries:
            key = (entry.stream, entry.id)
            if key not in self._running:
                task = asyncio.create_task(self._slot(entry), name=f"thought {entry.id}")
                self._running[key] = _Running(Held(Place.of(*key)), task)
        if entries[0].deliveries > 1:
            await asyncio.wait([self._running[entry.stream, entry.id].task for entry in entries])
            return
        async with self._ended:
            await self._ended.wait_for(
                lambda: self._stopping.is_set() or (not self._paused and len(self._running) <= self._spare)
            )

    def holds(self, stream: str, entry_id: str) -> bool:
        """Whether this process works on the entry."""
        return (stream, entry_id) in self._running

    @asynccontextmanager
    async def alone(self, still_wanted: Callable[[], Awaitable[bool]]) -> AsyncGenerator[bool]:
        """No other thought is in hand in here: wait until all that were are finished, and let the readers wait."""
        async with self._one_suspect:
            self._paused = True
            try:
                if alone := await ended(lambda: [one.task for one in self._running.values()], still_wanted):
                    self._begin.clear()
                yield alone
            finally:
                self._paused = False
                self._begin.set()
                async with self._ended:
                    self._ended.notify_all()

    async def beat(self) -> None:
        """Keep the leases of all thoughts under way; one that was lost is somebody else's, and ours is broken off."""
        running = list(self._running.values())
        kept = await self._ledger.heartbeat([one.held for one in running]) if running else []
        for one, ours in zip(running, kept, strict=True):
            if not ours and not one.task.done():
                _log.warning("lost the lease of a thought", entry=one.held.place.entry)
                one.task.cancel()

    async def exhausted(self, entry: Entry) -> None:
        """An entry that nobody could finish: into the dead letters, and its chain hears of it."""
        message = _question(entry)
        about: ThoughtFailed | MessageLost | Unheard | None
        if isinstance(message, Rejected):
            about = loss_of(entry.fields, message)
        else:
            error = HaltpointError(
                "HP-308",
                "the thought was given up",
                f"it was begun {entry.deliveries - 1} times and never finished",
                "Look at the planner's log; haltpoint dlq list has the message",
            )
            about = _failed(message, error)
        await self._dead_letters.bury(Place.of(entry.stream, entry.id), "exhausted", about=about)

    async def let_go(self) -> None:
        """Wait for the wish to stop, then let handlers return that wait for a free slot."""
        await self._stopping.wait()
        async with self._ended:
            self._ended.notify_all()

    async def drain(self) -> None:
        """Let the thoughts under way end; break off what takes longer and hand it back."""
        running = list(self._running.values())
        if not running:
            return
        await asyncio.wait([one.task for one in running], timeout=DRAIN)
        unfinished = [one for one in running if not one.task.done()]
        for one in unfinished:
            one.task.cancel()
        await asyncio.gather(*(one.task for one in unfinished), return_exceptions=True)
        await asyncio.gather(*(self._ledger.release(one.held) for one in unfinished), return_exceptions=True)

    async def _slot(self, entry: Entry) -> None:
        try:
            if entry.deliveries == 1:
                await self._begin.wait()
            async with self._slots:
                await self._think(entry)
        except UNREACHABLE as error:
            _log.warning("the server is away; the thought comes back after its lease", reason=str(error))
        except Exception:  # noqa: BLE001 - a fault of ours is no reason to lose the others
            _log.exception("a thought failed; it comes back after its lease", entry=entry.id)
        finally:
            del self._running[entry.stream, entry.id]
            async with self._ended:
                self._ended.notify_all()

    async def _think(self, entry: Entry) -> None:
        place = Place.of(entry.stream, entry.id)
        message = _question(entry)
        if isinstance(message, Rejected):
            about = loss_of(entry.fields, message)
            await self._dead_letters.bury(place, message.reason.value, message.detail, about=about)
            return
        request = message.data
        with logs.about(chain=chain_of(request.thought_id), step=request.step_id, trace=message.traceparent):
            context = await self._reader.read(request)
            if context is None:  # `think` finds that out again, in one step with the acknowledgement
                error = HaltpointError(
                    "HP-309", "nobody waits for the thought", "its chain or step is not there", "Nothing is to be done"
                )
                await self._ledger.think(place, _failed(message, error))
                return
            if self._check is not None and request.kind is ThoughtKind.VERIFY:
                found = await verifying.run(self._check, verifying.case_of(context))
                await self._ledger.think(place, _checked(message, found), request.words or "")
                return
            span = self._span(message, context.task.conversation_id)
            message = message.model_copy(update={"traceparent": telemetry.context_of(span, message.traceparent)})
            try:
                reply = await self._model.ask(self._chosen(request.other_model), prompts.build(context), request)
            except HaltpointError as error:
                telemetry.finish(span, error.code)
                _log.warning(str(error), code=error.code, thought=request.kind.value)
                await self._ledger.think(place, _failed(message, error))
                return
            usage = reply.usage
            spent: dict[str, telemetry.Value] = {
                telemetry.INPUT_TOKENS: usage.input_tokens,
                telemetry.OUTPUT_TOKENS: usage.output_tokens,
            }
            telemetry.finish(span, attributes=spent)
            said = reply_to(message, reply, context.known)
            recorded = await self._ledger.think(place, said, request.words or words_of(reply))
            _log.info(
                "thought",
                kind=request.kind.value,
                outcome=recorded.value,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
            )

    def _span(self, message: ToPlanner, conversation: str | None) -> Span | None:
        request = message.data
        model = self._chosen(request.other_model)
        attributes: dict[str, telemetry.Value] = {
            telemetry.OPERATION: "chat",
            telemetry.PROVIDER: "openai",  # whose API it speaks: more cannot be known
            telemetry.MODEL: model,
            telemetry.CHAIN: chain_of(request.thought_id),
            telemetry.THOUGHT: request.kind.value,
            telemetry.ATTEMPT: request.attempt,
        }
        if request.step_id:
            attributes[telemetry.STEP] = request.step_id
        if conversation is not None:
            attributes[telemetry.CONVERSATION] = conversation
        return self._tracing.start(f"chat {model}", message.traceparent, SpanKind.CLIENT, attributes)


def _question(entry: Entry) -> ToPlanner | Rejected:
    decoded = decode(Stream.PLANS, entry.fields)
    return decoded if isinstance(decoded, Rejected) else cast("ToPlanner", decoded.message)


def reply_to(message: ToPlanner, reply: Reply, tools: Mapping[str, ToolSpec]) -> Thought:
    """What the executor gets for a reply of the model: an intent, a plan, a proposal or an answer. Never raises.

    `tools` are all that are known: calls are recognised and typed by them. Which may be called the executor decides.
    """
    request, usage = message.data, reply.usage
    match request.kind:
        case ThoughtKind.INTENT:
            read = DraftedIntent(thought_id=request.thought_id, intent=draft_intent(reply), usage=usage)
            return IntentDrafted(**_envelope(message), data=read)
        case ThoughtKind.PLAN:
            drafted = draft_plan(reply)
            plan, fault = (drafted, None) if isinstance(drafted, Plan) else (None, drafted)
            question = None if plan is not None else question_in(reply)
            data = DraftedPlan(
                thought_id=request.thought_id,
                plan=plan,
                intent=draft_intent(reply),
                fault=fault,
                question=question,
                usage=usage,
            )
            return PlanDrafted(**_envelope(message), data=data)
        case ThoughtKind.ACT | ThoughtKind.REASON:
            proposal = draft_proposal(reply, tools)
            step_id = request.step_id or ""
            proposed = ProposedActions(thought_id=request.thought_id, step_id=step_id, proposal=proposal, usage=usage)
            return ActionProposed(**_envelope(message), data=proposed)
        case ThoughtKind.ANSWER:
            return AnswerDrafted(**_envelope(message), data=_answer(reply, request.thought_id, tools))
        case ThoughtKind.VERIFY:
            return _checked(message, findings_in(reply), usage)
        case _:
            assert_never(request.kind)


def _checked(message: ToPlanner, findings: tuple[Finding, ...], usage: Usage | None = None) -> AnswerDrafted:
    data = DraftedAnswer(thought_id=message.data.thought_id, text="", findings=findings, usage=usage or Usage())
    return AnswerDrafted(**_envelope(message), data=data)


def _answer(reply: Reply, thought: str, tools: Mapping[str, ToolSpec]) -> DraftedAnswer:
    """An answer is words; a call in it is told apart from them, since no tool can be called any more.

    Words may quote what looks like pieces of one: a line of a file, a key of a configuration.
    """
    proposal = draft_proposal(reply, tools)
    called = tuple(call.tool for call in proposal.calls)
    whole, told = reply.content, without_thoughts(reply.content)
    in_words = not reply.calls and len(whole) <= MAX_BODY and quoted(whole) and quoted(told)
    return DraftedAnswer(
        thought_id=thought,
        text=proposal.content if called else said(reply),
        called=called,
        faults=() if in_words and not called else proposal.faults,
        usage=reply.usage,
    )


def words_of(reply: Reply) -> str:
    """The model's own words as they are kept: its text, then its native calls as JSON, a line each."""
    calls = [json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False) for call in reply.calls]
    return without_surrogates("\n".join([reply.content, *calls] if reply.content else calls))[:MAX_RAW]


def _failed(message: ToPlanner, error: HaltpointError) -> ThoughtFailed:
    request: ThoughtRequest = message.data
    words = without_surrogates(f"{error.what}: {error.why}. {error.fix}")[:MAX_CONTENT]  # some are the server's own
    data = FailedThought(thought_id=request.thought_id, kind=request.kind, code=error.code, message=words)
    return ThoughtFailed(**_envelope(message), data=data)


def _envelope(message: ToPlanner) -> _Envelope:
    return {
        "id": f"{message.data.thought_id}/reply",
        "source": "haltpoint/planner",
        "subject": chain_of(message.data.thought_id),
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "traceparent": message.traceparent,
    }
