"""May it run? All that is checked between an order and its tool, before an action is claimed.

An order is no proof of anything but that somebody could write to the stream; whether it is the action's current one the
claim finds out, for tools with effects. So the worker asks once more what the chain has asked: internal tools are
refused, a destructive one needs a person's yes, arguments are parsed, and values of models need an origin (H3).
"""

import asyncio
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import from_json

from haltpoint.contracts.base import MAX_ARGUMENTS, value
from haltpoint.contracts.results import ErrorType, HookRecord
from haltpoint.contracts.tools import CONFIRMED
from haltpoint.runtime.store.limits.effects import OwnEffect
from haltpoint.runtime.store.receipts import ReceiptStore
from haltpoint.tools import Ctx, Tool
from haltpoint.tools.hooks import Call as HookCall
from haltpoint.tools.undo import undo_key
from haltpoint_tool_worker.admission.effects import Effect, EffectKeys, effect_of
from haltpoint_tool_worker.admission.judges import Case, Judges, Refusal, not_called
from haltpoint_tool_worker.admission.preview import Shown
from haltpoint_tool_worker.admission.reconciling import reconciled, unknown
from haltpoint_tool_worker.hooks import builtin
from haltpoint_tool_worker.hooks.after import Review
from haltpoint_tool_worker.hooks.asking import ask
from haltpoint_tool_worker.hooks.loading import HookChain
from haltpoint_tool_worker.registry import Registry
from haltpoint_tool_worker.results.classify import invalid_arguments
from haltpoint_tool_worker.results.failures import Effects, judge
from haltpoint_tool_worker.results.outcomes import Reading, read_failure
from haltpoint_tool_worker.results.progress import report
from haltpoint_tool_worker.results.raised import read_exception
from haltpoint_tool_worker.running.job import Job
from haltpoint_tool_worker.running.runner import Runner


@value
class ToolCall:
    """A call that may run: the tool, its parsed arguments (with the context), and for how many seconds.

    `text` are the arguments as JSON; `changed`: hooks have written them. `records` say which hooks ran.
    `asks`: hooks, origins or a person have to be asked before it may run. After an
    exception of `no_effect` nothing has happened. `shown` is what its preview says. `approved` is the digest of the
    call when an order says that a person has approved it, which the claim finds out. `effect` is one that happens once.
    """

    tool: Tool
    arguments: dict[str, Any]
    seconds: float
    text: str
    hook_chain: HookChain | None = None
    changed: bool = False
    records: tuple[HookRecord, ...] = ()
    asks: bool = False
    no_effect: tuple[type[BaseException], ...] = ()
    shown: Shown = Shown()
    approved: str = ""
    effect: Effect | None = None


_LATE: Final = "the deadline had passed before it could begin"


class Admission:
    """For all calls of a worker."""

    def __init__(self, registry: Registry, receipt_store: ReceiptStore, runner: Runner, effects: EffectKeys) -> None:
        self._judges = Judges(registry, receipt_store, runner, effects)
        self._registry = registry
        self._receipt_store = receipt_store
        self._runner = runner

    def look(self, job: Job, now_ms: int) -> ToolCall | Refusal:
        """The call, or why it is refused, as far as that can be told at once."""
        request, tool = job.request, self._registry.find(job.request.tool)
        if tool is None:
            return _refused(ErrorType.NOT_FOUND, f"this worker has no tool called {request.tool!r}", recoverable=False)
        job.repeatable = request.repeatable and request.tool in self._registry.repeatable
        if tool.spec.internal and not tool.spec.undoes:
            words = f"{request.tool} is internal: no plan and no model may call it"
            return _refused(ErrorType.BLOCKED, words, by=builtin.INTERNAL)
        seconds = min(request.timeout, (request.deadline - now_ms) / 1000)
        if seconds <= 0:
            return _refused(ErrorType.TIMEOUT, _LATE)
        if len(job.arguments) > MAX_ARGUMENTS:
            words = f"the arguments have more than {MAX_ARGUMENTS} bytes"
            return _refused(ErrorType.VALIDATION, words, by=builtin.ARGUMENTS)
        text = job.arguments or "{}"
        try:
            arguments = tool.parse(text)
        except ValidationError as error:
            return Refusal(read_failure(invalid_arguments(error)), (builtin.refused_by(builtin.ARGUMENTS),))
        except BaseException as error:  # noqa: BLE001 - a validator of the tool's author failed
            failure = judge(read_exception(tool, error, ()), Effects.NOT_STARTED, request.tool)
            return Refusal(read_failure(failure), (builtin.refused_by(builtin.ARGUMENTS),))
        hook_chain, spec = self._registry.hook_chain(request.tool), tool.spec
        watched = hook_chain is not None or request.tool in self._registry.rules or spec.destructive
        watched = watched or bool(request.reasons or spec.undoes) or request.approval is not None
        watched = watched or spec.recovery.effect_key is not None
        asks = watched or (request.unasked is None and bool(spec.provenance))
        no_effect = self._registry.no_effect.get(request.tool, ())
        call = ToolCall(tool, arguments, seconds, text, hook_chain, asks=asks, no_effect=no_effect)
        plain = tool.inputs.context is None and not tool.inputs.confirms
        return call if asks or plain else self._with_context(job, call)  # who asks first makes the context then

    async def ask(self, job: Job, call: ToolCall) -> ToolCall | Refusal:
        """The call as its hooks leave it, or why it is refused. Raises redis-py's errors."""
        context = partial(self._context, job, call.tool)
        case = Case(call.tool, job, call.text, call.arguments, hook_chain=call.hook_chain, context=context)
        if (refusal := await self._judges.judge(case)) is not None:
            return refusal
        if (seconds := case.seconds) <= 0:
            return case.refused(not_called(ErrorType.TIMEOUT, _LATE))
        call = replace(
            call,
            arguments=case.parsed,
            seconds=seconds,
            text=case.text,
            changed=case.changed,
            records=tuple(case.records),
            shown=case.shown,
            approved=case.approved,
            effect=case.effect,
        )
        return self._with_context(job, call)

    async def reconcile(self, job: Job) -> Reading:
        """Whether the call happened, by its tool's word (E5)."""
        tool = self._registry.find(job.request.tool)
        if tool is None or tool.reconcile is None:
            return unknown(job.request.tool, "its worker can no longer be asked whether it happened")
        if tool.spec.recovery.effect_key is not None:
            job.effect = OwnEffect(effect_of(tool.spec, job.request.tenant, job.arguments).digest)
        return await reconciled(self._runner, job, tool, self._context(job, tool), job.time_left)

    async def review(self, job: Job, call: ToolCall, reading: Reading) -> tuple[Reading, tuple[HookRecord, ...]]:
        """The result as the post-hooks leave it, and all hooks that ran for the call."""
        review = Review(call.tool, job, reading, records=list(call.records))
        for hook in call.hook_chain.post if call.hook_chain is not None else ():
            if review.over:
                break
            context = self._context(job, call.tool)
            review.take(await ask(self._runner, hook, job, job.time_left, _hook_call(call), review.result(), context))
        return review.reading, tuple(review.records)

    def _with_context(self, job: Job, call: ToolCall) -> ToolCall:
        """The call with what no plan and no model sets: `confirmed`, and the context."""
        name = call.tool.inputs.context
        if call.tool.inputs.confirms:
            call.arguments[CONFIRMED] = bool(call.approved)
        if name is None:
            return call
        key = undo_key(from_json(call.text)["action_id"]) if call.tool.spec.undoes else ""
        call.arguments[name] = self._context(job, call.tool, context=job.request.context, key=key)
        return call

    def _context(self, job: Job, tool: Tool, *, context: dict[str, Any] | None = None, key: str = "") -> Ctx[Any]:
        """The context of a call; a hook gets one of its own, so that it cannot change the tool's."""
        request = job.request
        return Ctx(
            deps=self._registry.deps_of(tool),
            tool=request.tool,
            action_id=request.action_id,
            key=key,
            attempt=request.attempt - request.limited,
            tenant=request.tenant,
            user=request.user,
            context=deepcopy(request.context) if context is None else context,
            confirmed=request.approval is not None,
            private=deepcopy(request.private),
            deadline_ms=request.deadline,
            progress=partial(report, self._receipt_store, asyncio.get_running_loop(), job),
            stopped=job.stopped,
        )


def _hook_call(call: ToolCall) -> HookCall:
    return HookCall(call.tool.spec.name, from_json(call.text), call.tool.spec)


def _refused(kind: ErrorType, words: str, *, by: str | None = None, recoverable: bool | None = None) -> Refusal:
    records = () if by is None else (builtin.refused_by(by),)
    return Refusal(not_called(kind, words, recoverable=recoverable), records)
