"""The judges of a call about which hooks, origins or a person have to be asked, in their order.

Each may refuse the call, or give a reason to ask a person about it, to whom all reasons are put as one question. What
they judge is the call as it would run: its hooks come first.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_core import from_json

from haltpoint.chain.checks.knowledge import Known, in_words
from haltpoint.chain.checks.values import made_up, marked_values
from haltpoint.chain.model.state import Action
from haltpoint.contracts.base import value
from haltpoint.contracts.people.approval_rules import ApprovalRule, Verdict
from haltpoint.contracts.people.approvals import digest_of
from haltpoint.contracts.reasons import Reason, ReasonKind, SourceKind
from haltpoint.contracts.results import ErrorType, HookRecord, HookVerdict
from haltpoint.runtime.observability import logs
from haltpoint.runtime.store.receipts import ReceiptStore
from haltpoint.tools import Ctx
from haltpoint_tool_worker.admission.effects import Effect, EffectKeys
from haltpoint_tool_worker.admission.preview import Shown, take_preview
from haltpoint_tool_worker.admission.rules import rule_for
from haltpoint_tool_worker.admission.undoing import call_to_undo
from haltpoint_tool_worker.hooks import builtin
from haltpoint_tool_worker.hooks.asking import ask
from haltpoint_tool_worker.hooks.before import HookRun
from haltpoint_tool_worker.hooks.loading import HookChain
from haltpoint_tool_worker.registry import Registry
from haltpoint_tool_worker.results.failures import Cause, Failure, fault_of
from haltpoint_tool_worker.results.outcomes import Reading, read_failure
from haltpoint_tool_worker.running.runner import Runner

_CHANGED: Final = "This is no longer what was approved: {}."
_DESTRUCTIVE: Final = "{} is destructive: it runs only when you approve this very call."

_log = logs.get(__name__)


@value
class Refusal:
    """A call that does not run: its result, and the hooks that ran, the one that refused it last; of a question, the
    arguments that it is about, and what the tool's preview says.
    """

    reading: Reading
    records: tuple[HookRecord, ...] = ()
    text: str = ""
    changed: bool = False
    shown: Shown = Shown()


@dataclass(slots=True)
class Case(HookRun):
    """A call before its judges, as its hooks make it; `context` makes a context for a hook or a preview.

    They add the `reasons` to ask a person, the `rule` of the policy file that asks, the `effect` that happens once,
    what the preview has `shown`, and the digest under which the call is `approved`.
    """

    hook_chain: HookChain | None = field(kw_only=True)
    context: Callable[[], Ctx[Any]] = field(kw_only=True)
    reasons: tuple[Reason, ...] = ()
    rule: ApprovalRule | None = None
    effect: Effect | None = None
    shown: Shown = field(default_factory=Shown)
    approved: str = ""

    @property
    def asks(self) -> bool:
        """Whether a person is asked about the call, or was."""
        return bool(self.asked or self.reasons or self.job.request.approval is not None)

    @property
    def seconds(self) -> float:
        """For how long it may run."""
        return min(self.job.request.timeout, self.job.time_left)

    def refused(self, reading: Reading, *by: str) -> Refusal:
        """The refusal, also `by` a built-in hook."""
        return Refusal(reading, (*self.records, *map(builtin.refused_by, by)))

    def blocked(self, words: str, *by: str) -> Refusal:
        """The refusal in words."""
        return self.refused(not_called(ErrorType.BLOCKED, f"{self.tool.name} was not called: {words}"), *by)


class Judges:
    """For all calls of a worker."""

    def __init__(self, registry: Registry, receipt_store: ReceiptStore, runner: Runner, effects: EffectKeys) -> None:
        self._registry = registry
        self._receipt_store = receipt_store
        self._runner = runner
        self._effects = effects
        self._judges: tuple[Callable[[Case], Awaitable[Refusal | None]], ...] = (
            self._hooks,
            self._origins,
            self._chain,
            self._policy,
            self._effect,
            self._person,
            self._undo,
        )

    async def judge(self, case: Case) -> Refusal | None:
        """Why the call is refused, if it is. Raises redis-py's errors."""
        for judge in self._judges:
            if (refusal := await judge(case)) is not None:
                return refusal
        return None

    async def _hooks(self, case: Case) -> Refusal | None:
        for hook in case.hook_chain.pre if case.hook_chain is not None else ():
            case.take(await ask(self._runner, hook, case.job, case.job.time_left, case.call(), case.context()))
            if case.refusal is not None:
                return case.refused(case.refusal)
        return None

    async def _origins(self, case: Case) -> Refusal | None:
        """Whether every value has an origin in the receipts that the order names (H3).

        The words name the hooks that have changed the arguments: the model may have done as it should.
        """
        job, spec, request = case.job, case.tool.spec, case.job.request
        if request.unasked is not None or not spec.provenance:
            return None
        receipts = await self._receipt_store.receipts(job.ref.partition, request.action_id, request.origins or ())
        place = made_up(_known(case, receipts), spec, from_json(case.text))
        if place is None:
            return None
        changed = [record.name for record in case.records if record.verdict is HookVerdict.MODIFY]
        since = f" that it has since {', '.join(changed)} changed the arguments" if changed else ""
        origin = in_words(spec.provenance[place])
        words = f"its {place} must come from {origin}, and no result of this chain holds the value{since}"
        return case.blocked(words, builtin.PROVENANCE)

    async def _chain(self, case: Case) -> Refusal | None:
        """The reasons that the chain's own judges have sent with the order."""
        case.reasons = (*(case.job.request.reasons or ()), *case.reasons)
        return None

    async def _policy(self, case: Case) -> Refusal | None:
        """The rule of the policy file that counts for the call as it would run, and that a destructive one asks. A rule
        that only reports is logged.
        """
        request, spec = case.job.request, case.tool.spec
        if (rules := self._registry.rules.get(spec.name)) is not None:
            given = request.tenant, from_json(case.text), case.sources
            rule, reported = rule_for(rules, spec, *given)
            if reported:
                _log.info("a rule that only reports applies to this call", rule=reported, tool=spec.name)
                case.records.append(builtin.reported_by(reported))
            if rule is not None and rule.does is Verdict.REFUSE:
                return case.blocked(rule.words, builtin.APPROVALS)
            if rule is not None and rule.does is Verdict.ASK:
                case.reasons = (Reason(kind=ReasonKind.RULE, words=rule.words), *case.reasons)
            case.rule = rule
        if spec.destructive and spec.plan is None:  # of a skill with steps each call is asked about itself
            words = _DESTRUCTIVE.format(spec.name)
            case.reasons = (Reason(kind=ReasonKind.DESTRUCTIVE, words=words), *case.reasons)
        return None

    async def _effect(self, case: Case) -> Refusal | None:
        if case.tool.spec.recovery.effect_key is None:
            return None
        found = await self._effects.look(case.job, case.tool.spec, case.text, asked=case.asks)
        if isinstance(found, Reading):
            return case.refused(found)
        case.effect, case.reasons = found, (*found.reasons, *case.reasons)
        return None

    async def _person(self, case: Case) -> Refusal | None:
        """Whether a person has approved this very call, where one has to be asked."""
        if not case.asks:
            return None
        request = case.job.request
        taken = await take_preview(self._runner, case.job, case.tool, case.text, case.context(), case.seconds)
        if isinstance(taken, Reading):
            return case.refused(taken)
        case.shown = taken if case.effect is None else case.effect.bind(taken)
        case.approved = digest_of(request.action_id, request.tool, from_json(case.text), case.shown.digest)
        if request.approval is None or request.approval.digest != case.approved:
            reasons = case.reasons if request.approval is None else (*case.reasons, _changed(case))
            question = case.question(reasons, case.shown.text, case.rule)
            return Refusal(question, tuple(case.records), case.text, case.changed, case.shown)
        case.approve()
        return None

    async def _undo(self, case: Case) -> Refusal | None:
        """What an undo gets (E7)."""
        if case.tool.spec.undoes:
            undone = await call_to_undo(self._receipt_store, case.job, case.tool, case.parsed)
            if isinstance(undone, Reading):
                return case.refused(undone)
            case.parsed = undone
        return None


def not_called(kind: ErrorType, words: str, *, recoverable: bool | None = None) -> Reading:
    """The result of a call that was refused: nothing has happened."""
    return read_failure(Failure(fault_of(kind, words, recoverable=recoverable), Cause.NO_EFFECT))


def _known(case: Case, receipts: Mapping[str, Action]) -> Known:
    """What is known of the values of a call: by its order, those in the user's words and those that a person wrote."""
    job, spec = case.job, case.tool.spec
    sources = job.request.sources or {}
    by_kind: dict[SourceKind, list[Any]] = {}
    for marked in marked_values(spec, from_json(job.arguments or "{}")):
        source = sources.get(marked.place)
        if source is not None:
            by_kind.setdefault(source.source, []).append(marked.value)
    words = [str(value) for value in by_kind.get(SourceKind.GOAL, ())]
    return Known(words, receipts, job.request.context, by_kind.get(SourceKind.PERSON, []))


def _changed(case: Case) -> Reason:
    preview = f"the preview of {case.tool.name} says something else now"
    return Reason(
        kind=ReasonKind.CHANGED,
        words=_CHANGED.format("a hook changed the arguments" if case.changed else preview),
    )
