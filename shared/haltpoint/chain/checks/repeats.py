"""One ledger of effects (CONTRACT C14): what a chain has done, asked and been told before, known again by signature.

The ledger is that of the root chain. Its own actions are in it by their receipts; what was done inside of its skills
is kept beside them, an entry of text each (`Work.effects`). Nothing is asked about a
child's own plan, which may hold the same call twice: the caller looks into it before the child begins.
"""

from datetime import UTC, datetime
from typing import Final

import msgspec

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.checked import CheckedCall, ledger_entry, signature_of
from haltpoint.chain.checks.sources import denied
from haltpoint.chain.model import limits
from haltpoint.chain.model.outputs import Record, Resolve
from haltpoint.chain.model.references import read_json
from haltpoint.chain.model.schemas import compiled
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import ActionStatus, PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import action_of, value
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.policy import Treatment
from haltpoint.contracts.results import ErrorType, Metadata, Outcome
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, Violation

_DENIED, _FAILED, _IN_DOUBT, _DONE = "denied", "failed", "in_doubt", "done"
"""How an entry ends: see `ledger_entry`."""

MOST_KEPT: Final = 500
"""Effects of skills that a chain keeps, the last ones: what a child reports has to fit into one message."""

FRESH: Final = 10_000
"""How long (ms) a read-only call's receipt answers an equal call of its step."""


@value
class Done:
    """What became of an equal call: its tool and action, when (ms; 0: unknown), and its mark, empty for nothing."""

    tool: str
    action_id: str
    at: int
    mark: str

    def __str__(self) -> str:
        at = f" at {datetime.fromtimestamp(self.at / 1000, UTC):%Y-%m-%d %H:%M} UTC" if self.at else ""
        end = "may have taken effect" if self.mark == _IN_DOUBT else "succeeded"
        return f"The same call of {self.tool} was made{at} ({self.action_id}) and {end}."


def decided_before(checked: CheckedCall) -> Correction | None:
    """A call that a person denied (E4), also one that a skill would make, and a question that has its answer (I4) are
    not repeated in this chain.
    """
    tool, text = checked.spec.name, ""
    for made in (checked, *checked.nested):
        name, marks = made.spec.name, {done.mark for done in _before(made)}
        if _DENIED in marks:
            text = f"A person denied exactly this call of {name}. Do not propose it again."
        elif _FAILED in marks:
            text = f"A person said that exactly this call of {name} failed. Do not make it again; continue without it."
    answered = [one for one in checked.equal if one.satisfies] if tool == human_tool.NAME else ()
    if answered:
        text = "A person has answered exactly this question; the answer is among the results. Continue with it."
        if all(one.in_models_words for one in answered):
            text = "Exactly this question got no answer in time; its default is among the results. Continue with it."
    return Correction(violation=Violation.NOT_ALLOWED, tool=tool, message=text) if text else None


def denied_calls(work: Work) -> tuple[str, ...]:
    """The signatures of the calls that a person denied in this chain."""
    tools = work.world.tools
    if not (work.asked or work.effects or work.world.tree):  # nothing to compare with
        return ()
    refused = (one for one in work.receipts.values() if denied(one) and one.tool in tools)
    own = (signature_of(compiled(tools[one.tool]), one.ran) for one in refused)
    inside = (entry.partition(" ")[0] for entry in work.ledger if entry.endswith(_DENIED))
    return (*own, *inside)


def done_calls(work: Work, action: Action, spec: ToolSpec) -> dict[str, str]:
    """What a tool with hooks has done in other actions, in words by the signatures of its calls."""
    bound = work.origin is not PlanOrigin.LITERAL and work.mode(action.step, action.tool) is Mode.STRICT
    if not (bound and spec.hooks) or spec.repeats or _rule(work, spec.name) is Treatment.ALLOW:
        return {}
    others = (one for one in work.receipts.values() if one.id != action.id and one.outcome)
    done = {signature_of(compiled(spec), one.ran): _became(one) for one in others if one.tool == spec.name}
    return {name: f"{one} Make it again?" for name, one in done.items() if one.mark in (_DONE, _IN_DOUBT)}


def repeat_fault(checked: CheckedCall) -> Correction | None:
    """The third equal call in a row that would bring the same receipt (`stuck`); in strict mode an effect for the
    second time, where the policy refuses that.
    """
    spec, last = checked.spec, checked.work.run[checked.index].actions
    own = (one for one in checked.equal if one.id in checked.work.actions)
    row = [one for one in own if one.step == checked.index and one.number > last - 2]
    receipts = [(one.outcome and msgspec.structs.replace(one.outcome, metadata=Metadata()), one.data) for one in row]
    same = len(receipts) == 2 and receipts[0] == receipts[1]
    if same and not (spec.polls if spec.read_only else spec.repeats):
        text = (
            f"{spec.name} was called twice in a row with these arguments and brought the same result. "
            "Use that result, call something else, or change the arguments."
        )
        return Correction(violation=Violation.STUCK, tool=spec.name, message=text)
    done = effect_before(checked) if checked.mode is Mode.STRICT else None
    rules = () if done is None else (_rule(checked.work, spec.name), _rule(checked.work, done.tool))
    if Treatment.REFUSE not in rules or answered_by(checked) is not None:
        return None
    return Correction(violation=Violation.NOT_ALLOWED, tool=spec.name, message=f"{done} It must not be made again.")


def effect_before(checked: CheckedCall) -> Done | None:
    """The effect that this call, or one that it makes as a skill, has had in this chain; None when it may run."""
    for made in (checked, *checked.nested):
        had = [done for done in _before(made) if done.mark in (_DONE, _IN_DOUBT)]
        once = not (made.spec.read_only or made.spec.repeats)
        if had and once and _rule(made.work, made.spec.name) is not Treatment.ALLOW:
            return max(had, key=lambda done: (done.at, done.action_id))
    return None


def note_inside(work: Work, outcome: Outcome) -> None:
    """Keep which tools succeeded in a child that is over, whatever came of it (F1)."""
    keep_effects(work, *outcome.metadata.effects)
    if more := set(outcome.metadata.nested_successes).difference(work.nested_successes):
        work.nested_successes = tuple(sorted(more.union(work.nested_successes)))


def keep_effects(work: Work, *entries: str) -> None:
    """Keep what was done in a child that is over, or what a child has done itself, for the ledger of its root (C14).

    The submitter of a literal plan has no ledger: such a root keeps none.
    """
    if entries and (work.origin is not PlanOrigin.LITERAL or action_of(work.id) is not None):
        work.effects = (*work.effects, *entries)[-MOST_KEPT:]


def note_effect(work: Work, action: Action) -> None:
    """Keep for the caller of a child that an action of it has succeeded (F1), and for its ledger what it has done, or
    that it was denied; of one that has no receipt and may run on, that it is in doubt.
    """
    if action_of(work.id) is None:
        return
    mark = _became(action).mark
    if action.satisfies:
        work.nested_successes = tuple(sorted({*work.nested_successes, action.tool}))
    spec = work.world.tools.get(action.tool)
    if spec is not None and mark and (mark in (_DENIED, _FAILED) or not (spec.read_only or spec.repeats)):
        keep_effects(work, ledger_entry(spec, action.ran, action.told.started_at, action.id, mark))


def _before(made: CheckedCall) -> list[Done]:
    """What became of equal calls of the chain, and inside of its skills."""
    entries = (entry.split(" ") for entry in made.work.ledger if entry.startswith(made.signature))
    inside = (Done(made.spec.name, name, int(at), mark) for _, at, name, mark in entries)
    return [*map(_became, made.equal), *inside]


def _became(action: Action) -> Done:
    """What became of an action. One without a receipt may run on."""
    if denied(action):
        mark = _DENIED
    elif action.told.repeats or action.tool == human_tool.NAME:
        mark = ""
    elif action.outcome is None or (action.error is not None and action.error.error_type is ErrorType.IN_DOUBT):
        mark = _IN_DOUBT
    elif action.error is not None:
        mark = _FAILED if action.told.by else ""
    else:
        mark = _DONE if action.satisfies else ""
    return Done(action.tool, action.id, action.told.started_at, mark)


def _rule(work: Work, tool: str) -> Treatment:
    return limits.treatment(work.world.policy.repeated_effects, tool)


def answered_by(checked: CheckedCall) -> Action | None:
    """The earlier action whose receipt is this call's too: nothing runs. What a person chose is not looked up again
    (B4). In strict mode an idempotent tool gives back what it did, and a read-only one what it has just read in this
    step; neither where something with effects came between.
    """
    spec, strict = checked.spec, checked.mode is Mode.STRICT
    equal = [one for one in checked.equal if one.satisfies and not one.told.repeats]
    found = [one for one in equal if one.told.by and "selected" in read_json(one.data)]
    if strict and spec.read_only and not spec.polls:
        found += (one for one in equal if _fresh(checked, one) and _undisturbed(checked.work, one))
    elif strict and spec.idempotent and effect_before(checked) is not None:
        found += (one for one in equal if _undisturbed(checked.work, one))
    return max(found, key=lambda action: action.id, default=None)


def give_back(work: Work, index: int, earlier: Action) -> Action:
    """Write the call down as an action of its own with the receipt of the earlier one. It costs none of the budget."""
    outcome = earlier.outcome
    assert outcome is not None  # noqa: S101 - it answers because it has succeeded
    cached = msgspec.structs.replace(outcome.metadata, cached=True, repeats=earlier.id, whole=0)
    receipt = msgspec.structs.replace(outcome, metadata=cached)
    action = work.next_action(index, earlier.tool, earlier.arguments)
    action = msgspec.structs.replace(action, status=ActionStatus.DONE, outcome=receipt, data=earlier.data)
    work.begin(action)
    work.outputs += (Record(action), Resolve(action))
    work.tell_action(FactType.ACTION_COMPLETED, action, next_action=outcome.next_action.value, cached=earlier.id)
    return action


def _fresh(checked: CheckedCall, action: Action) -> bool:
    """Whether a receipt is one of this step, and young."""
    work, ran = checked.work, action.told
    own = action.step == checked.index and action.id in work.actions
    return own and work.now - ran.started_at - ran.duration_ms < FRESH


def _undisturbed(work: Work, action: Action) -> bool:
    """Whether nothing with effects was called since an action, nor runs in another step."""
    ran = action.told

    def came_later(each: Action) -> bool:
        if each.step == action.step:
            return each.number > action.number
        return not each.told.started_at or each.told.started_at + each.told.duration_ms >= ran.started_at

    others = (each for each in work.actions.values() if each.id != action.id and not each.told.cached)
    specs = (work.world.spec(each.tool) for each in filter(came_later, others))
    return all(spec.read_only or spec.name == human_tool.NAME for spec in specs)
