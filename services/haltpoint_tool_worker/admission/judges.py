"""The judges of a call about which hooks, origins or a person have to be asked, in their order.

Each may refuse the call, or give a reason to ask a person about it, to whom all reasons are put as
one question. What they judge is the call as it would run: its hooks come first.
"""

from typing import Final

from pydantic_core import from_json

from haltpoint.chain.checks.knowledge import Known, documents_of, given_whole, origins_in_words
from haltpoint.chain.checks.values import Marked, made_up, marked_values
from haltpoint.contracts.people.approvals import digest_of
from haltpoint.contracts.reasons import Reason, ReasonKind, Source, SourceKind
from haltpoint.contracts.results import HookVerdict
from haltpoint.runtime.store.receipts import ReceiptStore
from haltpoint_tool_worker.admission.approval import question
from haltpoint_tool_worker.admission.calls import ToolCall
from haltpoint_tool_worker.admission.effects import EffectKeys
from haltpoint_tool_worker.admission.preview import take_preview
from haltpoint_tool_worker.admission.undoing import call_to_undo
from haltpoint_tool_worker.hooks import builtin
from haltpoint_tool_worker.results.outcomes import RefusedError, not_called
from haltpoint_tool_worker.running.runner import Runner

_CHANGED: Final = "This is no longer what was approved: {}."


class Judges:
    """For all calls of a worker."""

    def __init__(self, receipt_store: ReceiptStore, runner: Runner, effects: EffectKeys) -> None:
        self._receipt_store = receipt_store
        self._runner = runner
        self._effects = effects

    async def judge(self, call: ToolCall) -> None:
        """Raises RefusedError, and redis-py's errors."""
        await self._hooks(call)
        await self._origins(call)
        await self._effect(call)
        await self._person(call)
        await self._undo(call)

    async def _hooks(self, call: ToolCall) -> None:
        for by in call.hooks.pre:
            await call.ask(by, call.call(), call.context())
            if call.refusal is not None:
                raise RefusedError(call.refusal)

    async def _origins(self, call: ToolCall) -> None:
        """Whether every value has an origin, by the receipts that the order names (H3). Which are
        the user's or a person's words the order says.
        """
        spec, request = call.tool.spec, call.job.request
        if request.origins is None:
            return
        receipts = await self._receipt_store.receipts(request.action_id, request.origins)
        marked = marked_values(spec, call.proposed)
        said = [value.value for value in marked if _is_said(call, value)]
        context = given_whole(SourceKind.CONTEXT, request.context)
        typed = given_whole(SourceKind.PERSON, said)
        known = Known([], [context, typed, *documents_of(receipts.values(), {})])
        place = made_up(known, spec, from_json(call.text))
        if place is None:
            return
        origin = origins_in_words(spec.provenance[place])
        words = f"its {place} must come from {origin}, and no result of this chain holds the value"
        records = call.job.records
        changed = [hook.name for hook in records if hook.verdict is HookVerdict.MODIFY]
        if changed:
            words += f" that it has since {', '.join(changed)} changed the arguments"
        records.append(builtin.refused_by(builtin.PROVENANCE))
        raise RefusedError(not_called(spec.name, words))

    async def _effect(self, call: ToolCall) -> None:
        spec = call.tool.spec
        if spec.recovery.effect_key is not None:
            effect = await self._effects.look(call.job, spec, call.text, asked=call.asks)
            call.effect = effect
            call.reasons = (*effect.reasons, *call.reasons)

    async def _person(self, call: ToolCall) -> None:
        """Whether a person has approved this very call, where one has to be asked."""
        if not call.asks:
            return
        request = call.job.request
        shown = await take_preview(self._runner, call.job, call.tool, call.text, call.context())
        call.shown = shown if call.effect is None else call.effect.bind(shown)
        arguments = from_json(call.text)
        call.approved = digest_of(request.action_id, request.tool, arguments, call.shown.digest)
        if request.approval is None:
            raise RefusedError(question(call))
        if request.approval.digest != call.approved:
            call.reasons = (*call.reasons, _changed(call))
            raise RefusedError(question(call))

    async def _undo(self, call: ToolCall) -> None:
        """What an undo gets (E7)."""
        if call.tool.spec.undoes:
            call.parsed = await call_to_undo(self._receipt_store, call.job, call.tool, call.parsed)


def _is_said(call: ToolCall, marked: Marked) -> bool:
    source = (call.job.request.sources or {}).get(marked.place, Source(SourceKind.MODEL))
    return source.source in (SourceKind.GOAL, SourceKind.PERSON)


def _changed(call: ToolCall) -> Reason:
    change = "a hook changed the arguments"
    if not call.changed:
        change = f"the preview of {call.tool.name} says something else now"
    return Reason(kind=ReasonKind.CHANGED, words=_CHANGED.format(change))
