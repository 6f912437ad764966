"""The judges of a call about which hooks, origins or a person have to be asked, in their order.

Each may refuse the call, or give a reason to ask a person about it, to whom all reasons are put as
one question. What they judge is the call as it would run: its hooks come first.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from pydantic_core import from_json

from haltpoint.chain.checks.knowledge import Known, documents, origins_in_words
from haltpoint.chain.checks.values import made_up, marked_values
from haltpoint.contracts.people.approvals import digest_of
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.results import HookVerdict
from haltpoint.runtime.store.receipts import ReceiptStore
from haltpoint_tool_worker.admission.approval import question
from haltpoint_tool_worker.admission.calls import Refusal, ToolCall
from haltpoint_tool_worker.admission.effects import EffectKeys
from haltpoint_tool_worker.admission.preview import take_preview
from haltpoint_tool_worker.admission.undoing import call_to_undo
from haltpoint_tool_worker.hooks import builtin
from haltpoint_tool_worker.results.outcomes import Reading, not_called
from haltpoint_tool_worker.running.runner import Runner

_CHANGED: Final = "This is no longer what was approved: {}."


class Judges:
    """For all calls of a worker."""

    def __init__(self, receipt_store: ReceiptStore, runner: Runner, effects: EffectKeys) -> None:
        self._receipt_store = receipt_store
        self._runner = runner
        self._effects = effects
        self._judges: tuple[Callable[[ToolCall], Awaitable[Refusal | None]], ...] = (
            self._hooks,
            self._origins,
            self._effect,
            self._person,
            self._undo,
        )

    async def judge(self, call: ToolCall) -> Refusal | None:
        """Why the call is refused, if it is. Raises redis-py's errors."""
        for judge in self._judges:
            refusal = await judge(call)
            if refusal is not None:
                return refusal
        return None

    async def _hooks(self, call: ToolCall) -> Refusal | None:
        for by in call.hooks.pre:
            await call.ask(by, call.call(), call.context())
            if call.refusal is not None:
                return call.refused(call.refusal)
        return None

    async def _origins(self, call: ToolCall) -> Refusal | None:
        """Whether the values that a hook has written have an origin (H3): the chain has looked at
        those of the order.
        """
        spec = call.tool.spec
        if not call.changed:
            return None
        proposed = [marked.value for marked in marked_values(spec, call.proposed)]
        known = Known([], documents(call.job.request.context, proposed))
        place = made_up(known, spec, from_json(call.text))
        if place is None:
            return None
        origin = origins_in_words(spec.provenance[place])
        changed = [hook.name for hook in call.records if hook.verdict is HookVerdict.MODIFY]
        call.records.append(builtin.refused_by(builtin.PROVENANCE))
        words = f"its {place} must come from {origin}, and {', '.join(changed)} changed it"
        return call.refused(not_called(spec.name, words))

    async def _effect(self, call: ToolCall) -> Refusal | None:
        spec = call.tool.spec
        if spec.recovery.effect_key is None:
            return None
        effect = await self._effects.look(call.job, spec, call.text, asked=call.asks)
        if isinstance(effect, Reading):
            return call.refused(effect)
        call.effect = effect
        call.reasons = (*effect.reasons, *call.reasons)
        return None

    async def _person(self, call: ToolCall) -> Refusal | None:
        """Whether a person has approved this very call, where one has to be asked."""
        if not call.asks:
            return None
        request = call.job.request
        context = call.context()
        shown = await take_preview(self._runner, call.job, call.tool, call.text, context)
        if isinstance(shown, Reading):
            return call.refused(shown)
        call.shown = shown if call.effect is None else call.effect.bind(shown)
        arguments = from_json(call.text)
        call.approved = digest_of(request.action_id, request.tool, arguments, call.shown.digest)
        if request.approval is not None and request.approval.digest == call.approved:
            return None
        if request.approval is not None:
            call.reasons = (*call.reasons, _changed(call))
        return call.refused(question(call))

    async def _undo(self, call: ToolCall) -> Refusal | None:
        """What an undo gets (E7)."""
        if not call.tool.spec.undoes:
            return None
        undone = await call_to_undo(self._receipt_store, call.job, call.tool, call.parsed)
        if isinstance(undone, Reading):
            return call.refused(undone)
        call.parsed = undone
        return None


def _changed(call: ToolCall) -> Reason:
    change = "a hook changed the arguments"
    if not call.changed:
        change = f"the preview of {call.tool.name} says something else now"
    return Reason(kind=ReasonKind.CHANGED, words=_CHANGED.format(change))
