"""May it run? All that is checked between an order and its tool, before an action is claimed.

An order is no proof of anything but that somebody could write to the stream; whether it is the
action's current one the claim finds out, for tools with effects. So the worker asks once more what
the chain has asked: internal tools are refused, a destructive one needs a person's yes, arguments
are parsed, and values of models need an origin (H3).
"""

import asyncio
import time
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from pydantic_core import from_json

from haltpoint.chain.checks.answer import deed_of
from haltpoint.contracts.base import MAX_ARGUMENTS
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import CONFIRMED, UNDO
from haltpoint.contracts.views.chains import ProgressView
from haltpoint.runtime.store.limits.effects import OwnEffect
from haltpoint.runtime.store.receipts import ReceiptStore
from haltpoint.tools import Ctx, Tool
from haltpoint.tools.reconcile import NOT_HAPPENED, Happened
from haltpoint_tool_worker.admission.calls import ToolCall, blocked_by
from haltpoint_tool_worker.admission.effects import effect_of
from haltpoint_tool_worker.admission.hearing import Hearing
from haltpoint_tool_worker.admission.judges import ask_person, call_to_undo, check_origins
from haltpoint_tool_worker.admission.preview import SECONDS
from haltpoint_tool_worker.admission.rules import obey
from haltpoint_tool_worker.admission.shared import Shared
from haltpoint_tool_worker.registry import NO_DEPS, Registry
from haltpoint_tool_worker.results.classify import misfit, read_exception
from haltpoint_tool_worker.results.outcomes import read_result
from haltpoint_tool_worker.results.reading import Reading, RefusedError, as_recorded, failed
from haltpoint_tool_worker.results.redaction import clean
from haltpoint_tool_worker.running.job import Job
from haltpoint_tool_worker.running.runner import Raised, Returned

INTERNAL: Final = "builtin:internal"
"""Refuses a tool that no plan and no model may call."""
ARGUMENTS: Final = "builtin:arguments"
"""Refuses arguments that do not fit the tool's parameters."""
_LATE: Final = "the deadline had passed before it could begin"
_PAUSE: Final = 1.0
"""Seconds between two reports of how far one action is; what comes earlier is dropped."""
_TEXT: Final = 200
"""Characters of such a report."""


@dataclass
class Admission:
    """For all calls of a worker."""

    registry: Registry
    receipt_store: ReceiptStore
    shared: Shared

    async def admit(self, job: Job) -> ToolCall:
        """The call as its hooks leave it. Raises RefusedError, and redis-py's errors."""
        call = job.call = self._look(job)
        # Each of these may refuse the call, or give a reason to ask a person about it, to whom all
        # reasons are put as one question. They judge it as it would run: its hooks come first.
        if call.hooks:
            await Hearing(call).before()
        if self.registry.rules:
            obey(call, self.registry.rules)
        if job.request.origins is not None:
            await check_origins(call, self.receipt_store)
        if call.tool.spec.recovery.effect_key is not None:
            await self.shared.look(call)
        if call.asks:
            await ask_person(call)
        if call.tool.spec.undoes:
            await call_to_undo(call, self.receipt_store)
        if job.time_left <= 0:
            raise RefusedError(failed(ErrorType.TIMEOUT, _LATE))
        # What no plan and no model sets.
        inputs = call.tool.inputs
        if inputs.confirms:
            call.parsed[CONFIRMED] = bool(call.approved)
        if inputs.context is not None:
            call.parsed[inputs.context] = call.context()
        return call

    async def reconcile(self, job: Job) -> Reading:
        """Whether the call happened, by its tool's word (E5): the result of one that did, an error
        without effect of one that did not; else it stays in doubt.
        """
        request, tool = job.request, job.tool
        if tool is None or tool.reconcile is None:
            return unknown(request.tool, "its worker can no longer be asked whether it happened")
        if tool.spec.recovery.effect_key is not None:
            job.effect = OwnEffect(effect_of(tool.spec, request.tenant, job.arguments).digest)
        arguments, context = from_json(job.arguments), self._context(job, tool)
        given = {"arguments": arguments, "key": request.action_id, "ctx": context}
        match await job.run(tool.reconcile, SECONDS, **tool.reconcile.taken(given)):
            case Returned(Happened(data)):
                reading = read_result(tool, data)
                if reading.outcome.satisfies:
                    return replace(reading, deed=deed_of(tool.spec, job.arguments, reading.data))
                why = "reconcile returned what is no result of the tool"
            case Returned(answer) if answer is NOT_HAPPENED:
                return failed(ErrorType.UNKNOWN, f"{tool.name} did not happen")
            case Returned(_):
                why = "reconcile could not tell whether it happened"
            case Raised(error):
                why = f"reconcile raised {read_exception(tool, error).fault.message}"
            case _:
                why = f"reconcile did not return within {SECONDS:g} s"
        return unknown(request.tool, why)

    def _look(self, job: Job) -> ToolCall:
        """The call, as far as it can be admitted at once. Raises RefusedError."""
        name, text, tool = job.request.tool, job.arguments, job.tool
        if tool is None:
            words = f"this worker has no tool called {name!r}"
            raise RefusedError(failed(ErrorType.NOT_FOUND, words, recoverable=False))
        spec = tool.spec
        if spec.internal and not spec.undoes:
            words = f"{name} is internal: no plan and no model may call it"
            raise blocked_by(job, INTERNAL, failed(ErrorType.BLOCKED, words))
        if len(text) > MAX_ARGUMENTS:
            words = f"the arguments have more than {MAX_ARGUMENTS} bytes"
            raise blocked_by(job, ARGUMENTS, failed(ErrorType.VALIDATION, words))
        try:
            parsed = tool.parse(text)
        except BaseException as error:  # noqa: BLE001 - also what a validator of the tool's author raises
            raise blocked_by(job, ARGUMENTS, misfit(error)) from None
        reasons = [*(job.request.reasons or ())]
        if spec.destructive and spec.plan is None:
            # A destructive tool asks (G1); of a skill with steps each call is asked about itself.
            asks = f"{name} is destructive: it runs only when you approve this very call."
            reasons.insert(0, Reason(ReasonKind.DESTRUCTIVE, asks))
        hooks = self.registry.hooks.get(name, ())
        return ToolCall(tool, job, text, parsed, hooks, partial(self._context, job, tool), reasons)

    def _context(self, job: Job, tool: Tool) -> Ctx[Any]:
        """The context of a call; a hook gets one of its own, so that it cannot change the
        tool's.
        """
        request = job.request
        approval = request.approval
        key = ""
        if tool.spec.undoes:  # the one key under which an action is undone, each time
            key = from_json(job.arguments)["action_id"] + UNDO
        return Ctx(
            deps=self.registry.deps.get(tool.name, NO_DEPS),
            tool=request.tool,
            action_id=request.action_id,
            key=key,
            attempt=request.attempt - request.limited,
            tenant=request.tenant,
            user=request.user,
            context=deepcopy(request.context),
            confirmed=approval is not None and approval.doubt is None,
            private=deepcopy(request.private),
            deadline_ms=request.deadline,
            progress=partial(self._report, asyncio.get_running_loop(), job),
            stopped=job.stopped,
        )

    def _report(
        self, loop: asyncio.AbstractEventLoop, job: Job, fraction: float, text: str
    ) -> None:
        """Show how far a call is, by a fraction and a text. From any thread."""
        now = time.monotonic()
        if now - job.told_at >= _PAUSE and not loop.is_closed():
            job.told_at = now
            shown = ProgressView(job.request.action_id, round(fraction, 4), clean(text, _TEXT))
            loop.call_soon_threadsafe(self.receipt_store.show_progress, shown)


def unknown(tool: str, why: str) -> Reading:
    """The call stays in doubt; `why` is for the person who is asked."""
    words = f"{tool} started and may have taken effect; {why}"
    return as_recorded(ErrorType.IN_DOUBT, words)
