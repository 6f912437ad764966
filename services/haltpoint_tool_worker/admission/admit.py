"""May it run? All that is checked between an order and its tool, before an action is claimed.

An order is no proof of anything but that somebody could write to the stream; whether it is the action's current one the
claim finds out, for tools with effects. So the worker asks once more what the chain has asked: internal tools are
refused, a destructive one needs a person's yes, arguments are parsed, and values of models need an origin (H3).
"""

import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final, Protocol

from pydantic import ValidationError
from pydantic_core import from_json

from haltpoint.chain.checks.sources import told, without_origin, written_over
from haltpoint.contracts.base import MAX_ARGUMENTS, value
from haltpoint.contracts.people.approval_rules import ApprovalRule, Verdict
from haltpoint.contracts.people.approvals import digest_of
from haltpoint.contracts.reasons import Reason, ReasonKind, SourceKind
from haltpoint.contracts.results import ErrorType, HookRecord, HookVerdict
from haltpoint.contracts.tools import CONFIRMED, ToolSpec
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.runtime.observability import logs
from haltpoint.runtime.store.limits.effects import OwnEffect
from haltpoint.runtime.store.receipts import ReceiptStore
from haltpoint.tools import Ctx, Tool
from haltpoint.tools.fallback import beyond
from haltpoint.tools.hooks import Call as HookCall
from haltpoint_tool_worker.admission.compensating import call_to_undo
from haltpoint_tool_worker.admission.effects import Effect, EffectKeys, effect_of
from haltpoint_tool_worker.admission.given import authors_own, words_of_the_goal
from haltpoint_tool_worker.admission.preview import Shown, take_preview
from haltpoint_tool_worker.admission.reconciling import reconciled, unknown
from haltpoint_tool_worker.admission.rules import rule_for
from haltpoint_tool_worker.admission.said_before import barred, repeated
from haltpoint_tool_worker.hooks import builtin
from haltpoint_tool_worker.hooks.after import Review
from haltpoint_tool_worker.hooks.asking import ask
from haltpoint_tool_worker.hooks.before import HookRun
from haltpoint_tool_worker.hooks.loading import HookChain
from haltpoint_tool_worker.registry import Registry
from haltpoint_tool_worker.results.classify import invalid_arguments
from haltpoint_tool_worker.results.failures import Cause, Effects, Failure, fault_of, judge
from haltpoint_tool_worker.results.outcomes import Reading, read_failure
from haltpoint_tool_worker.results.progress import progress_of
from haltpoint_tool_worker.results.raised import read_exception
from haltpoint_tool_worker.running.job import Job
from haltpoint_tool_worker.running.links import reasons_for_links
from haltpoint_tool_worker.running.runner import Runner

_log = logs.get(__name__)


class Calls(Protocol):
    """What `ctx.call` does in one call of a tool."""

    async def __call__(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call the tool of that name. Raises ToolError."""
        ...

    async def close(self) -> None:
        """The call has ended: begin nothing more, and stop what it had begun."""
        ...


@value
class ToolCall:
    """A call that may run: the tool, its parsed arguments (with the context), and for how many seconds.

    `text` are the arguments as JSON; `changed`: hooks have written them. `records` say which hooks ran. `calls` is what
    its context calls other tools by. `asks`: hooks, origins or a person have to be asked before it may run. After an
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
    calls: Calls | None = None
    asks: bool = False
    no_effect: tuple[type[BaseException], ...] = ()
    shown: Shown = Shown()
    approved: str = ""
    effect: Effect | None = None


@value
class Refusal:
    """A call that does not run: its result, and the hooks that ran, the one that refused it last; of a question, what
    the tool's preview says.
    """

    reading: Reading
    records: tuple[HookRecord, ...] = ()
    text: str = ""
    changed: bool = False
    shown: Shown = Shown()


_CHANGED: Final = "This is no longer what was approved: {}."
_DESTRUCTIVE: Final = "{} is destructive: it runs only when you approve this very call."

CallsOf = Callable[[Job, Tool, float], Calls]
"""What `ctx.call` does in a call that has so many seconds."""


class Admission:
    """For all calls of a worker."""

    def __init__(
        self, registry: Registry, receipt_store: ReceiptStore, runner: Runner, calls_of: CallsOf, effects: EffectKeys
    ) -> None:
        self._effects = effects
        self._calls_of = calls_of
        self._registry = registry
        self._receipt_store = receipt_store
        self._runner = runner

    def look(self, job: Job, now_ms: int, caller: ToolSpec | None = None) -> ToolCall | Refusal:
        """The call, or why it is refused, as far as that can be told at once. `caller` is the tool that calls it."""
        request, tool = job.request, self._registry.find(job.request.tool)
        if tool is None:
            return _refused(ErrorType.NOT_FOUND, f"this worker has no tool called {request.tool!r}", recoverable=False)
        job.repeatable = request.repeatable and request.tool in self._registry.repeatable
        if caller is not None and tool.spec.effect_key is not None:
            alone = f"{request.tool} has an effect_key, so it needs a step of its own: a tool cannot call it"
            return _refused(ErrorType.BLOCKED, alone)
        if caller is not None and (words := beyond(caller, tool.spec)):
            return _refused(ErrorType.BLOCKED, words)
        if tool.spec.internal and (caller is None) != bool(tool.spec.undoes):
            words = f"{request.tool} is internal: only the runtime and other tools may call it"
            return _refused(ErrorType.BLOCKED, words, by=builtin.INTERNAL)
        seconds = min(request.timeout, (request.deadline - now_ms) / 1000)
        if seconds <= 0:
            return _refused(ErrorType.TIMEOUT, "the deadline had passed before it could begin")
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
        watched = watched or spec.effect_key is not None
        asks = watched or (request.unasked is None and (bool(spec.provenance) or any(spec.targets.values())))
        no_effect = self._registry.no_effect.get(request.tool, ())
        call = ToolCall(tool, arguments, seconds, text, hook_chain, asks=asks, no_effect=no_effect)
        plain = tool.inputs.context is None and not tool.inputs.confirms
        return call if asks or plain else self._with_context(job, call)  # who asks first makes the context then

    async def ask(self, job: Job, call: ToolCall) -> ToolCall | Refusal:
        """The call as its hooks leave it, or why it is refused. Raises redis-py's errors."""
        tool, request = call.tool, job.request
        run = HookRun(tool, job, call.text, call.arguments)
        for hook in call.hook_chain.pre if call.hook_chain is not None else ():
            context = self._context(job, tool)
            run.take(await ask(self._runner, hook, job, self._left(job), run.call(), context))
            if run.refusal is not None:
                return Refusal(run.refusal, tuple(run.records))
        if tool.spec.provenance and request.unasked is None and (made_up := await self._made_up(job, tool, run)):
            records = (*run.records, builtin.refused_by(builtin.PROVENANCE))
            return Refusal(_reading(ErrorType.BLOCKED, f"{request.tool} was not called: {made_up}"), records)
        links = reasons_for_links(tool.spec, from_json(run.text)) if request.unasked is None else ()
        reasons, approved, shown = (*(request.reasons or ()), *links), "", Shown()
        if run.changed:
            if words := barred(request, tool.spec, run.text):
                told = f"{request.tool} was not called: {words}"
                return Refusal(_reading(ErrorType.BLOCKED, told), tuple(run.records))
            reasons += repeated(request, tool.spec, run.text)
        rule = self._rule(job, tool, run)
        if rule is not None and rule.does is Verdict.REFUSE:
            refused = _reading(ErrorType.BLOCKED, f"{request.tool} was not called: {rule.words}")
            return Refusal(refused, (*run.records, builtin.refused_by(builtin.APPROVALS)))
        if rule is not None and rule.does is Verdict.ASK:
            reasons = (Reason(kind=ReasonKind.RULE, words=rule.words), *reasons)
        if tool.spec.destructive and tool.spec.plan is None:  # of a skill with steps each call is asked about itself
            words = _DESTRUCTIVE.format(request.tool)
            reasons = (Reason(kind=ReasonKind.DESTRUCTIVE, words=words), *reasons)
        effect = None
        if tool.spec.effect_key is not None:
            asked = bool(run.asked or reasons or request.approval is not None)
            found = await self._effects.look(job, tool.spec, run.text, asked=asked)
            if isinstance(found, Reading):
                return Refusal(found, tuple(run.records))
            effect, reasons = found, (*found.reasons, *reasons)
        if run.asked or reasons or request.approval is not None:
            context = self._context(job, tool)
            seconds = min(request.timeout, self._left(job))
            taken = await take_preview(self._runner, job, tool, run.text, context, seconds)
            if isinstance(taken, Reading):
                return Refusal(taken, tuple(run.records))
            shown = taken if effect is None else effect.bind(taken)
            approved = digest_of(request.action_id, request.tool, from_json(run.text), shown.digest)
            if request.approval is None or request.approval.digest != approved:
                reasons = reasons if request.approval is None else (*reasons, _changed(tool, run))
                question = run.question(reasons, shown.text, rule)
                return Refusal(question, tuple(run.records), run.text, run.changed, shown)
            run.approved()
        seconds = min(request.timeout, self._left(job))
        if seconds <= 0:
            words = "the deadline had passed before it could begin"
            return Refusal(_reading(ErrorType.TIMEOUT, words), tuple(run.records))
        arguments = run.parsed
        if tool.spec.undoes:
            undone = await call_to_undo(self._receipt_store, job, tool, run.parsed)
            if isinstance(undone, Reading):
                return Refusal(undone, tuple(run.records))
            arguments = undone
        call = replace(
            call,
            arguments=arguments,
            seconds=seconds,
            text=run.text,
            changed=run.changed,
            records=tuple(run.records),
            shown=shown,
            approved=approved,
            effect=effect,
        )
        return self._with_context(job, call)

    async def reconcile(self, job: Job) -> Reading:
        """Whether the call happened, by its tool's word (E5)."""
        tool = self._registry.find(job.request.tool)
        if tool is None or tool.reconcile is None:
            return unknown(job.request.tool, "its worker can no longer be asked whether it happened")
        if tool.spec.effect_key is not None:
            job.effect = OwnEffect(effect_of(tool.spec, job.request.tenant, job.arguments).digest)
        return await reconciled(self._runner, job, tool, self._context(job, tool), self._left(job))

    async def review(self, job: Job, call: ToolCall, reading: Reading) -> tuple[Reading, tuple[HookRecord, ...]]:
        """The result as the post-hooks leave it, and all hooks that ran for the call."""
        review = Review(call.tool, job, reading, records=list(call.records))
        for hook in call.hook_chain.post if call.hook_chain is not None else ():
            if review.over:
                break
            context = self._context(job, call.tool)
            review.take(await ask(self._runner, hook, job, self._left(job), _hook_call(call), review.result(), context))
        return review.reading, tuple(review.records)

    def _rule(self, job: Job, tool: Tool, run: HookRun) -> ApprovalRule | None:
        """The rule of the policy file that counts for the call as it would run. One that only reports is logged."""
        request, rules = job.request, self._registry.rules.get(job.request.tool)
        if rules is None:
            return None
        sources = written_over(request.sources or {}, job.arguments, run.text, SourceKind.HOOK)
        given = request.tenant, from_json(run.text), sources
        rule, job.would_ask = rule_for(rules, tool.spec, *given, authors=job.nested)
        if job.would_ask:
            _log.info("a rule that only reports applies to this call", rule=job.would_ask, tool=request.tool)
        return rule

    async def _made_up(self, job: Job, tool: Tool, run: HookRun) -> str | None:
        """The words about the first value that has no origin in the receipts that the order names, or None.

        They name the hooks that have changed the arguments: the model may have done as it should.
        """
        request = job.request
        actions = await self._receipt_store.receipts(job.ref.partition, request.action_id, request.origins or ())
        proposed = ProposedCall(tool=request.tool, arguments=from_json(run.text))
        own, words = authors_own(job), words_of_the_goal(job)
        found = without_origin(proposed, tool.spec, request.context, actions, words, own)
        if found is None:
            return None
        changed = [record.name for record in run.records if record.verdict is HookVerdict.MODIFY]
        since = f" that it has since {', '.join(changed)} changed the arguments" if changed else ""
        fix = "; declare the parameter of its caller with FromResult too" if job.nested else ""
        return (
            f"its {found[0]} must come from {told(found[1])}, and no result of this chain holds the value{since}{fix}"
        )

    def _left(self, job: Job) -> float:
        return job.request.deadline / 1000 - time.time()

    def _with_context(self, job: Job, call: ToolCall) -> ToolCall:
        """The call with what no plan and no model sets: `confirmed`, and the context."""
        name = call.tool.inputs.context
        if call.tool.inputs.confirms:
            call.arguments[CONFIRMED] = bool(call.approved)
        if name is None:
            return call
        calls = self._calls_of(job, call.tool, call.seconds)
        call.arguments[name] = self._context(job, call.tool, calls, context=job.request.context)
        return replace(call, calls=calls)

    def _context(
        self, job: Job, tool: Tool, calls: Calls | None = None, *, context: dict[str, Any] | None = None
    ) -> Ctx[Any]:
        """The context of a call; a hook gets one of its own, so that it cannot change the tool's."""
        request = job.request
        if job.progress is None:  # a nested call has its caller's
            job.progress = progress_of(self._receipt_store, request.action_id)
        return Ctx(
            deps=self._registry.deps_of(tool),
            tool=request.tool,
            action_id=request.action_id,
            attempt=request.attempt - request.limited,
            tenant=request.tenant,
            user=request.user,
            context=deepcopy(request.context) if context is None else context,
            confirmed=request.approval is not None,
            private=deepcopy(request.private),
            deadline_ms=request.deadline,
            call=calls,
            progress=job.progress,
            stopped=job.stopped,
        )


def _changed(tool: Tool, run: HookRun) -> Reason:
    what = "a hook changed the arguments" if run.changed else f"the preview of {tool.name} says something else now"
    return Reason(kind=ReasonKind.CHANGED, words=_CHANGED.format(what))


def _hook_call(call: ToolCall) -> HookCall:
    return HookCall(call.tool.spec.name, from_json(call.text), call.tool.spec)


def _reading(kind: ErrorType, words: str, *, recoverable: bool | None = None) -> Reading:
    return read_failure(Failure(fault_of(kind, words, recoverable=recoverable), Cause.NO_EFFECT))


def _refused(kind: ErrorType, words: str, *, by: str | None = None, recoverable: bool | None = None) -> Refusal:
    records = () if by is None else (builtin.refused_by(by),)
    return Refusal(_reading(kind, words, recoverable=recoverable), records)
