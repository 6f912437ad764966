"""How a step ends without what it promised (CONTRACT C11): the built-in tool `end_step`, and who decides about it."""

from enum import StrEnum
from typing import Any

from haltpoint.chain.checks.promises import missing, missing_tools, of_task
from haltpoint.chain.model.references import read_json
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.contracts.reasons import Heard
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import BUILT_IN
from haltpoint.contracts.work.tasks import Mode


class Exit(StrEnum):
    """What becomes of a step that the model wants to end without what is due."""

    STRIKE = "strike"
    FAILED = "failed"
    SKIPPED = "skipped"
    ASK = "ask"


def exit_of(work: Work, index: int) -> Exit:
    """Who decides, in the order of the contract. Why the model wants to end the step makes no difference."""
    run = work.run[index]
    if run.insisted:
        return Exit.STRIKE
    if not missing(work, index):
        return Exit.SKIPPED
    if ends_in_error(work, index):
        return Exit.SKIPPED if work.origin is PlanOrigin.REACT else Exit.FAILED
    if _may_be_left(work, index) or work.mode(index) is not Mode.STRICT:
        return Exit.SKIPPED
    return Exit.ASK


def is_offered(work: Work, index: int, *, corrected: bool) -> bool:
    """Whether a request for a step offers `end_step`: an effect is due, or a lookup after an error or a correction."""
    due = missing_tools(work, index)
    if all(work.world.spec(name).read_only for name in due):
        return bool(due) and (corrected or ends_in_error(work, index))
    return True


def ends_in_error(work: Work, index: int) -> bool:
    """Whether the last receipt of a step is an error or a no."""
    return last_error(work, index) is not None


def last_error(work: Work, index: int) -> Action | None:
    """The last receipt of a step, if it is an error or a person's no. That a lookup found nothing is neither."""
    receipts = [action for action in work.actions.values() if action.step == index and is_receipt(action)]
    last = max(receipts, key=lambda action: action.number, default=None)
    if last is None or last.error is None or _is_reading(work, last):
        return None
    return last


def is_receipt(action: Action) -> bool:
    """Whether an action has a receipt of a tool: not one of the built-in ones that only speak."""
    return action.outcome is not None and action.tool not in BUILT_IN


def _may_be_left(work: Work, index: int) -> bool:
    """Whether a step may be left without asking a person: it is optional, a person has answered the model, or there is
    a reading, which a step that was not struck may have found reason in, or which found nothing.
    """
    if _is_optional(work, index) or work.heard is Heard.ANSWER:
        return True
    readings = _readings(work, index)
    empty = any(_is_empty(reading) for reading in readings)
    return bool(readings) and (not work.run[index].strikes or empty)


def _is_optional(work: Work, index: int) -> bool:
    """Whether a step is optional. What a plan says so does not hold for what goal, pattern or submitter require."""
    required = {name for bound in of_task(work) for name in bound.tools}
    return work.steps[index].optional and required.isdisjoint(missing_tools(work, index))


def _readings(work: Work, index: int) -> list[Action]:
    """The readings in a step and in those that it depends on."""
    before = {index, *_ancestors(work, index)}
    return [action for action in work.actions.values() if action.step in before and _is_reading(work, action)]


def _is_reading(work: Work, action: Action) -> bool:
    """Whether a receipt says what a read-only tool found, or that it found nothing. A person's no is no reading."""
    if not is_receipt(action) or not work.world.spec(action.tool).read_only:
        return False
    found_nothing = action.error is not None and action.error.error_type is ErrorType.NOT_FOUND
    return action.satisfies or (found_nothing and not action.told.by)


def _ancestors(work: Work, index: int) -> set[int]:
    """The steps that one depends on, directly or through others."""
    found = set[int]()
    waiting = list(work.graph.dependencies[index])
    for before in waiting:  # grows while it is walked
        if before not in found:
            found.add(before)
            waiting += work.graph.dependencies[before]
    return found


def _is_empty(action: Action) -> bool:
    """Whether a reading has found nothing: no value in its data but what the call itself said."""
    given = read_json(action.ran)
    own = list(given.values()) if isinstance(given, dict) else []
    return not action.satisfies or _has_nothing(read_json(action.data), own)


def _has_nothing(value: Any, own: list[Any]) -> bool:
    if isinstance(value, dict):
        return all(_has_nothing(part, own) for part in value.values())
    if isinstance(value, list):
        return all(_has_nothing(part, own) for part in value)
    return not value or value in own
