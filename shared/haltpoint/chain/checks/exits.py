"""How a step honestly ends without its calls, and what that leaves out (CONTRACT C11)."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from haltpoint.chain.checks.agents import called_by_another
from haltpoint.chain.checks.goal import condition_of, intent_of, with_effects
from haltpoint.chain.checks.templates import with_those_inside
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import PlanOrigin, StepStatus
from haltpoint.chain.model.work import Work
from haltpoint.chain.words.patterns import fitting
from haltpoint.contracts.answers import NotDone, WhyNot
from haltpoint.contracts.results import ErrorInfo
from haltpoint.contracts.work.intent import IntentOrigin
from haltpoint.contracts.work.tasks import Mode

_FORM: Final = '{"next_step_decision": "fail", "content": "<why>"}'


def unkept(work: Work, index: int) -> tuple[tuple[str, ...], ...]:
    """The promises of a step that no successful receipt in it keeps yet (C3)."""
    kept = work.run[index].receipts
    return tuple(names for bit, names in enumerate(work.graph.promises[index]) if not kept >> bit & 1)


def last_error(work: Work, index: int) -> tuple[Action, ErrorInfo] | None:
    """Of the last result of each tool of a step the newest that is an error, with it; that of an agent only if no tool
    has one.
    """
    newest = {one.tool: one for one in work.actions.values() if one.step == index}
    errors = [(one, one.error) for one in newest.values() if one.error is not None]
    return max(errors, key=lambda one: (one[0].told.spent is None, one[0].number), default=None)


def skippable(work: Work, index: int) -> bool:
    """Whether the model may end a step without another call: for an error, because its effect is not needed, or because
    the agent that it is does not take the task. Then no call is forced (C10). Where only lookups are missing, the next
    one is forced all the same: it does no harm, and small models rather give up.
    """
    missing = [name for names in unkept(work, index) for name in names]
    if all(work.world.spec(name).read_only for name in missing):
        return bool(missing) and last_error(work, index) is not None
    return last_error(work, index) is not None or bool(way_out(work, index))


def not_needed(work: Work, index: int, why: str) -> bool:
    """Whether a model may give up a step of a drafted plan for a reason: the step is `excused`, or one that it depends
    on has failed.
    """
    possible = bool(why.strip()) and _may_be_left(work, index)
    return possible and (excused(work, index) or _after_failure(work, index))


def excused(work: Work, index: int) -> bool:
    """Whether the effect of a step may turn out not to be needed: the goal makes it conditional, or a reading is here
    that may show it; and where nothing is counted.
    """
    shown = has_reading(work) and not _after_failure(work, index)
    return shown or work.mode(index) is Mode.OFF or _is_conditional(work, index)


def way_out(work: Work, index: int) -> str:
    """How a model says that a step is not needed; empty where it must be carried out, or nothing can show that. An
    agent that was called may refuse it.
    """
    left = _may_be_left(work, index)
    if left and has_reading(work):
        return f"If a result shows that it is not needed, answer {_FORM}."
    if called_by_another(work):
        return f"If it is not needed, or not your work, answer {_FORM}."
    alone = _is_conditional(work, index) or _after_failure(work, index)
    return f"If it is not needed, answer {_FORM}." if left and alone else ""


def has_reading(work: Work) -> bool:
    """Whether a tool without effects, or a person, has said something: it may show that an effect is not needed."""
    readings = (one for one in work.actions.values() if one.satisfies and not one.in_models_words)
    return any(not with_effects(work.world.spec(reading.tool)) for reading in readings)


def conditional(work: Work, names: Iterable[str]) -> bool:
    """Whether the goal asks under a condition for what each of these tools does."""
    asked = intent_of(work).effects_asked
    return all(condition_of(asked, work.world.spec(name), work.world.tools) for name in names)


def leave_out(work: Work, names: Iterable[str], reason: str) -> None:
    """Keep why these tools are not needed."""
    hear_left_out(work, dict.fromkeys(with_those_inside(names, work.world.tools), (reason,)))


def hear_left_out(work: Work, reasons: dict[str, tuple[str, ...]]) -> None:
    """Add what was left out in this chain, or in that of an agent."""
    if reasons:
        intent = intent_of(work)
        both = {name: intent.not_needed.get(name, ()) + said for name, said in reasons.items()}
        work.intent = replace(intent, not_needed={**intent.not_needed, **both})


def explained(work: Work, effects: Sequence[NotDone]) -> tuple[NotDone, ...]:
    """The effects that were not done, with the reasons for which steps were left out: one for each, and first for those
    that have a condition. What a later step promises may still be done.
    """
    left, later = {name: list(said) for name, said in intent_of(work).not_needed.items()}, set[str]()
    for step, run in zip(work.steps, work.run, strict=True) if left else ():
        later |= set() if run.status.done else with_those_inside(step.promised_tools, work.world.tools)
    found = dict(enumerate(effects))
    for place, effect in sorted(found.items(), key=lambda one: not one[1].message):
        if name := next((one for one in effect.tools if left.get(one) and one not in later), None):
            found[place] = replace(effect, why=WhyNot.NOT_NEEDED, message=left[name].pop(0))
    return tuple(found.values())


def _may_be_left(work: Work, index: int) -> bool:
    """Whether something is missing in a step of a drafted plan, and no pattern requires it without a condition (C2)."""
    missing = [name for names in unkept(work, index) for name in names]
    bound = work.mode(index) is Mode.STRICT and not _after_failure(work, index)
    held = bound and any(not conditional(work, (name,)) for name in _required(work, missing))
    return work.origin is PlanOrigin.DRAFTED and bool(missing) and not held


def _is_conditional(work: Work, index: int) -> bool:
    missing = [name for names in unkept(work, index) for name in names]
    return conditional(work, missing)


def _after_failure(work: Work, index: int) -> bool:
    return any(work.run[before].status is StepStatus.FAILED for before in work.graph.dependencies[index])


def _required(work: Work, names: Iterable[str]) -> set[str]:
    """Those of these tools, and of the tools inside of them, that a pattern has found to be asked for."""
    patterns = (one for one in intent_of(work).effects_asked if one.origin is IntentOrigin.PATTERN)
    globs = [glob for one in patterns for glob in one.tools]
    return set(fitting(globs, with_those_inside(names, work.world.tools)))
