"""One ledger of effects (CONTRACT C14): what a chain has done, asked and been told before, known again by signature.

The ledger is that of the root chain. Its own actions are in it by their receipts; what was done inside of its skills is
kept beside them, an entry of text each (`Work.effects`): other chains have those receipts. A literal plan may hold
the same call twice, so nothing is asked about a child's own plan: the caller looks into it before the child begins.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from haltpoint.chain import human_tool, policy
from haltpoint.chain.children import keep_effects
from haltpoint.chain.outputs import Record, Settle
from haltpoint.chain.provenance import denied
from haltpoint.chain.references import read_json, references, write_json
from haltpoint.chain.signatures import signature_of
from haltpoint.chain.state import Action
from haltpoint.chain.templates import MOST_LEVELS, fill
from haltpoint.chain.work import Work
from haltpoint.contracts.base import action_of, value
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.plans import Call
from haltpoint.contracts.policy import Treatment
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.tasks import Mode
from haltpoint.contracts.thoughts import Correction, Violation
from haltpoint.contracts.tools import ErrorType, Metadata, Outcome, ToolSpec

_DENIED: Final = "denied"
_MARKS: Final = {False: "done", True: "doubt"}
"""How an entry ends: `<signature> <ms> <action id> <mark>`."""

FRESH: Final = 10_000
"""How long (ms) a read-only call's receipt answers an equal call of its step."""


@value
class Done:
    """An effect of the chain: its tool and action, when (ms; 0: nobody knows), and whether it is in doubt."""

    tool: str
    action_id: str
    at: int
    doubt: bool

    def __str__(self) -> str:
        at = f" at {datetime.fromtimestamp(self.at / 1000, UTC):%Y-%m-%d %H:%M} UTC" if self.at else ""
        end = "may have taken effect" if self.doubt else "succeeded"
        return f"The same call of {self.tool} was made{at} ({self.action_id}) and {end}."


# ---- what a model is told instead ------------------------------------------------------------------------------------


def decided_before(work: Work, call: Call, spec: ToolSpec) -> Correction | None:
    """A call that a person denied (E4), also one that a skill would make, and a question that one has answered (I4) are
    not repeated in this chain.
    """
    text = None
    if any(map(denied, work.actions.values())) or any(map(_was_denied, work.effects)):
        for made, tool in _made_by(work, call, spec):
            if any(map(denied, _equal(work, made, tool))) or any(map(_was_denied, _inside(work, made, tool))):
                text = f"A person denied exactly this call of {made.tool}. Do not propose it again."
    if any(map(_given_up, _equal(work, call, spec))):
        text = f"A person said that exactly this call of {call.tool} failed and is not made again. Go on without it."
    if call.tool == human_tool.NAME and any(map(_succeeded, _equal(work, call, spec))):
        text = "A person has answered exactly this question; the answer is among the results. Go on with it."
    return None if text is None else Correction(violation=Violation.NOT_ALLOWED, tool=call.tool, message=text)


def repeat_fault(work: Work, index: int, call: Call, spec: ToolSpec, mode: Mode) -> Correction | None:
    """The third equal call in a row that would bring the same receipt (`stuck`); in strict mode an effect for the
    second time, where the policy refuses that.
    """
    exempt = spec.polls if spec.read_only else spec.repeats
    if not exempt and _in_a_row(work, index, call, spec):
        text = (
            f"{call.tool} was called twice in a row with these arguments and brought the same result. "
            "Use that result, call something else, or change the arguments."
        )
        return Correction(violation=Violation.STUCK, tool=call.tool, message=text)
    done = effect_before(work, call, spec) if mode is Mode.STRICT else None
    if done is None or Treatment.REFUSE not in (_rule(work, call.tool), _rule(work, done.tool)):
        return None
    if answered_by(work, index, call, spec, mode) is not None:
        return None
    text = f"{done} It may not be made again."
    return Correction(violation=Violation.NOT_ALLOWED, tool=call.tool, message=text)


def repeat_reasons(work: Work, call: Call, spec: ToolSpec, mode: Mode) -> tuple[Reason, ...]:
    """Why a person decides before an effect is had again."""
    done = effect_before(work, call, spec) if mode is Mode.STRICT else None
    return () if done is None else (Reason(kind=ReasonKind.REPEAT, words=f"{done} Make it again?"),)


# ---- what was done before --------------------------------------------------------------------------------------------


def effect_before(work: Work, call: Call, spec: ToolSpec) -> Done | None:
    """The effect that this call, or one that it makes as a skill, has had in this chain; None when it may run."""
    for made, tool in _made_by(work, call, spec):
        if not (tool.read_only or tool.repeats or _rule(work, made.tool) is Treatment.ALLOW):
            own = (_done(action) for action in _equal(work, made, tool))
            inside = (_entry(made.tool, entry) for entry in _inside(work, made, tool))
            found = [done for done in (*own, *inside) if done is not None]
            if found:
                return max(found, key=lambda done: (done.at, done.action_id))
    return None


def note_effect(work: Work, action: Action) -> None:
    """Keep what a child's own action has done, or that it was denied, for its caller's ledger."""
    spec = work.world.tools.get(action.tool)
    if action_of(work.chain.id) is None or spec is None or action.outcome is None:
        return
    done, metadata = _done(action), action.outcome.metadata
    mark = _DENIED if denied(action) else "" if done is None or spec.read_only or spec.repeats else _MARKS[done.doubt]
    if mark:
        sign = signature_of(spec, metadata.arguments or action.arguments)
        keep_effects(work, f"{sign} {metadata.started_at} {action.id} {mark}")


def _given_up(action: Action) -> bool:
    """Whether a person said of a call in doubt that it failed, and is not to run again (E5)."""
    outcome = action.outcome
    return outcome is not None and outcome.error is not None and bool(outcome.metadata.by) and not denied(action)


def _done(action: Action) -> Done | None:
    outcome = action.outcome
    if outcome is None or outcome.metadata.repeats or action.tool == human_tool.NAME:
        return None
    doubt = outcome.error is not None and outcome.error.error_type is ErrorType.IN_DOUBT
    return Done(action.tool, action.id, outcome.metadata.started_at, doubt) if doubt or outcome.satisfies else None


def _entry(tool: str, text: str) -> Done | None:
    _, at, name, mark = text.split(" ")
    return None if mark == _DENIED else Done(tool, name, int(at), mark == _MARKS[True])


def _was_denied(entry: str) -> bool:
    return entry.endswith(_DENIED)


def _rule(work: Work, tool: str) -> Treatment:
    return policy.treatment(work.world.policy.repeated_effects, tool)


# ---- receipts that answer an equal call ------------------------------------------------------------------------------


def answered_by(work: Work, index: int, call: Call, spec: ToolSpec, mode: Mode) -> Action | None:
    """The earlier action whose receipt is this call's too: nothing runs.

    What a person chose is not looked up again (B4). In strict mode an idempotent tool gives back what it did, and a
    read-only one what it has just read in this step, unless something with effects came between.
    """
    equal = [action for action in _equal(work, call, spec) if _succeeded(action)]
    found = [action for action in equal if _chosen(action)]
    if mode is Mode.STRICT and spec.read_only and not spec.polls:
        found += (action for action in equal if action.step == index and _fresh(work, action))
    elif mode is Mode.STRICT and spec.idempotent and effect_before(work, call, spec) is not None:
        found += equal
    return max(found, key=lambda action: action.id, default=None)


def give_back(work: Work, index: int, earlier: Action) -> Action:
    """Write the call down as an action of its own with the receipt of the earlier one. It costs none of the budget."""
    outcome = earlier.outcome
    assert outcome is not None  # noqa: S101 - it answers because it has succeeded
    cached = outcome.metadata.model_copy(update={"cached": True, "repeats": earlier.id, "whole": 0})
    action = work.next_action(index, earlier.tool, earlier.arguments)
    action = action.done(outcome.model_copy(update={"metadata": cached}), earlier.data)
    work.take(action)
    work.outputs += (Record(action), Settle(action))
    work.tell_action(FactType.ACTION_COMPLETED, action, next_action=outcome.next_action.value, cached=earlier.id)
    return action


def _succeeded(action: Action) -> bool:
    outcome = action.outcome
    return outcome is not None and outcome.satisfies and not outcome.metadata.repeats


def _chosen(action: Action) -> bool:
    return action.outcome is not None and bool(action.outcome.metadata.by) and "selected" in read_json(action.data)


def _fresh(work: Work, action: Action) -> bool:
    """Whether its receipt is young, and nothing with effects was called in its step since."""
    told = Metadata() if action.outcome is None else action.outcome.metadata
    since = (each for each in work.actions.values() if each.step == action.step and each.number > action.number)
    specs = (work.world.tools.get(each.tool) for each in since)
    harmless = all(spec is not None and (spec.read_only or spec.name == human_tool.NAME) for spec in specs)
    return harmless and work.now - told.started_at - told.duration_ms < FRESH


# ---- equal calls -----------------------------------------------------------------------------------------------------


def _equal(work: Work, call: Call, spec: ToolSpec) -> Iterator[Action]:
    """The actions that made the same call, as it was proposed or as hooks had it run."""
    sign = None
    for action in work.actions.values():
        if action.tool == call.tool:
            sign = sign or signature_of(spec, write_json(call.arguments))
            ran = None if action.outcome is None else action.outcome.metadata.arguments
            texts = (action.arguments,) if ran is None else (action.arguments, ran)
            if any(signature_of(spec, text) == sign for text in texts):
                yield action


def _inside(work: Work, call: Call, spec: ToolSpec) -> Iterator[str]:
    """The entries of equal calls inside of the chain's skills."""
    sign = signature_of(spec, write_json(call.arguments)) if work.effects else ""
    return (entry for entry in work.effects if entry.startswith(sign))


def _made_by(work: Work, call: Call, spec: ToolSpec, levels: int = MOST_LEVELS) -> Iterator[tuple[Call, ToolSpec]]:
    """The call, and those that a skill makes of it by its template; one that takes an earlier result is not known."""
    yield call, spec
    steps = () if spec.plan is None or not levels else fill(spec.plan, call.arguments).steps
    for inner in (one for step in steps for one in step.actions):
        tool = work.world.tools.get(inner.tool)
        if tool is not None and next(references(inner.arguments), None) is None:
            yield from _made_by(work, inner, tool, levels - 1)


def _in_a_row(work: Work, index: int, call: Call, spec: ToolSpec) -> bool:
    """Whether the last two actions of the step made the same call and have the same receipt."""
    last = work.run(index).actions
    row = [action for action in _equal(work, call, spec) if action.step == index and action.number > last - 2]
    return len(row) == 2 and _told(row[0]) == _told(row[1])


def _told(action: Action) -> tuple[Outcome | None, str]:
    outcome = action.outcome
    return outcome and outcome.model_copy(update={"metadata": Metadata()}), action.data
