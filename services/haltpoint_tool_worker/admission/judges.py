"""The judges of a call about which hooks, origins or a person have to be asked, in their order.

Each may refuse the call, or give a reason to ask a person about it, to whom all reasons are put as
one question. What they judge is the call as it would run: its hooks come first.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_core import from_json

from haltpoint.chain.checks.knowledge import Known, in_words
from haltpoint.chain.checks.values import made_up, marked_values
from haltpoint.chain.model.state import Action
from haltpoint.contracts.people.approvals import digest_of
from haltpoint.contracts.reasons import Reason, ReasonKind, SourceKind
from haltpoint.contracts.results import HookVerdict
from haltpoint.runtime.store.receipts import ReceiptStore
from haltpoint.tools import Ctx
from haltpoint.tools.hooks import Hook
from haltpoint_tool_worker.admission.approval import question
from haltpoint_tool_worker.admission.calls import Refusal
from haltpoint_tool_worker.admission.effects import Effect, EffectKeys
from haltpoint_tool_worker.admission.preview import Shown, take_preview
from haltpoint_tool_worker.admission.undoing import call_to_undo
from haltpoint_tool_worker.hooks import builtin
from haltpoint_tool_worker.hooks.run import PreHooks
from haltpoint_tool_worker.results.outcomes import Reading, not_called
from haltpoint_tool_worker.running.runner import Runner

_CHANGED: Final = "This is no longer what was approved: {}."
_DESTRUCTIVE: Final = "{} is destructive: it runs only when you approve this very call."


@dataclass(slots=True)
class Case(PreHooks):
    """A call before its judges, as its hooks make it."""

    hooks: tuple[Hook, ...] = field(kw_only=True)
    context: Callable[[], Ctx[Any]] = field(kw_only=True)
    """Makes a context for a hook or a preview."""
    reasons: tuple[Reason, ...] = ()
    """Why a person is asked."""
    effect: Effect | None = None
    """The effect that happens once."""
    shown: Shown = field(default_factory=Shown)
    approved: str = ""
    """The digest of the call that a person has approved."""

    @property
    def asks(self) -> bool:
        """Whether a person is asked about the call, or was."""
        return bool(self.questions or self.reasons or self.job.request.approval is not None)

    def refused(self, reading: Reading) -> Refusal:
        """The refusal, with the hooks that ran."""
        return Refusal(reading, tuple(self.records))


class Judges:
    """For all calls of a worker."""

    def __init__(self, receipt_store: ReceiptStore, runner: Runner, effects: EffectKeys) -> None:
        self._receipt_store = receipt_store
        self._runner = runner
        self._effects = effects
        self._judges: tuple[Callable[[Case], Awaitable[Refusal | None]], ...] = (
            self._hooks,
            self._origins,
            self._chain,
            self._destructive,
            self._effect,
            self._person,
            self._undo,
        )

    async def judge(self, case: Case) -> Refusal | None:
        """Why the call is refused, if it is. Raises redis-py's errors."""
        for judge in self._judges:
            refusal = await judge(case)
            if refusal is not None:
                return refusal
        return None

    async def _hooks(self, case: Case) -> Refusal | None:
        for by in case.hooks:
            await case.ask(by, case.call(), case.context())
            if case.refusal is not None:
                return case.refused(case.refusal)
        return None

    async def _origins(self, case: Case) -> Refusal | None:
        """Whether every value has an origin in the receipts that the order names (H3)."""
        spec, request = case.tool.spec, case.job.request
        if request.unasked is not None or not spec.provenance:
            return None
        receipts = await self._receipt_store.receipts(request.action_id, request.origins or ())
        place = made_up(_known(case, receipts), spec, from_json(case.text))
        if place is None:
            return None
        origin = in_words(spec.provenance[place])
        words = f"its {place} must come from {origin}, and no result of this chain holds the value"
        changed = [hook.name for hook in case.records if hook.verdict is HookVerdict.MODIFY]
        if changed:
            words += f" that it has since {', '.join(changed)} changed the arguments"
        case.records.append(builtin.refused_by(builtin.PROVENANCE))
        return case.refused(not_called(spec.name, words))

    async def _chain(self, case: Case) -> Refusal | None:
        """The reasons that the chain's own judges have sent with the order."""
        case.reasons = case.job.request.reasons or ()
        return None

    async def _destructive(self, case: Case) -> Refusal | None:
        """A destructive tool asks (G1); of a skill with steps each call is asked about itself."""
        spec = case.tool.spec
        if spec.destructive and spec.plan is None:
            words = _DESTRUCTIVE.format(spec.name)
            reason = Reason(kind=ReasonKind.DESTRUCTIVE, words=words)
            case.reasons = (reason, *case.reasons)
        return None

    async def _effect(self, case: Case) -> Refusal | None:
        spec = case.tool.spec
        if spec.recovery.effect_key is None:
            return None
        effect = await self._effects.look(case.job, spec, case.text, asked=case.asks)
        if isinstance(effect, Reading):
            return case.refused(effect)
        case.effect = effect
        case.reasons = (*effect.reasons, *case.reasons)
        return None

    async def _person(self, case: Case) -> Refusal | None:
        """Whether a person has approved this very call, where one has to be asked."""
        if not case.asks:
            return None
        request = case.job.request
        context = case.context()
        shown = await take_preview(self._runner, case.job, case.tool, case.text, context)
        if isinstance(shown, Reading):
            return case.refused(shown)
        case.shown = shown if case.effect is None else case.effect.bind(shown)
        arguments = from_json(case.text)
        case.approved = digest_of(request.action_id, request.tool, arguments, case.shown.digest)
        if request.approval is not None and request.approval.digest == case.approved:
            return None
        if request.approval is not None:
            case.reasons = (*case.reasons, _changed(case))
        asked = case.text if case.changed else None
        card = question(case, case.reasons, case.shown, case.approved)
        return Refusal(card, tuple(case.records), asked)

    async def _undo(self, case: Case) -> Refusal | None:
        """What an undo gets (E7)."""
        if not case.tool.spec.undoes:
            return None
        undone = await call_to_undo(self._receipt_store, case.job, case.tool, case.parsed)
        if isinstance(undone, Reading):
            return case.refused(undone)
        case.parsed = undone
        return None


def _known(case: Case, receipts: Mapping[str, Action]) -> Known:
    """What is known of the values of a call: by its order, those in the user's words and those that
    a person wrote.
    """
    sources = case.job.request.sources or {}
    values: dict[SourceKind, list[Any]] = {SourceKind.GOAL: [], SourceKind.PERSON: []}
    for marked in marked_values(case.tool.spec, case.proposed):
        source = sources.get(marked.place)
        if source is not None:
            values.setdefault(source.source, []).append(marked.value)
    words = [str(value) for value in values[SourceKind.GOAL]]
    return Known(words, receipts, case.job.request.context, values[SourceKind.PERSON])


def _changed(case: Case) -> Reason:
    change = "a hook changed the arguments"
    if not case.changed:
        change = f"the preview of {case.tool.name} says something else now"
    return Reason(kind=ReasonKind.CHANGED, words=_CHANGED.format(change))
