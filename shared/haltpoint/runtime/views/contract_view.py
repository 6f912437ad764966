"""The contract as a reader of a chain sees it: what was promised, which receipt kept it, where the word was broken.

Pure, like `chain_view`, of which this is a part: values in, views out.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import structs

from haltpoint.chain.model import limits
from haltpoint.chain.model.state import StepRun
from haltpoint.chain.model.statuses import PlanOrigin, StepStatus
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.views.steps import ActionView, PromiseView, StepView, ViolationView
from haltpoint.contracts.work.plans import Step
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import Strike
from haltpoint.runtime.views.log_view import Fact

MOST_SAID: Final = 2000
"""Characters of the model's own words that are shown with a violation; the whole lies with the thought."""


def violations(chain_id: str, facts: Iterable[Fact], raw: Mapping[str, str]) -> defaultdict[str, list[ViolationView]]:
    """Every violation by its place, each with the correction that was sent; `raw` are the model's words by thought."""
    found: defaultdict[str, list[ViolationView]] = defaultdict(list)
    for at, name, told in facts:
        if name == FactType.CONTRACT_VIOLATED.value:
            thought = str(told.get("thought_id", ""))
            place = str(told.get("step_id") or place_of(chain_id, thought))
            said = raw.get(thought, "")[:MOST_SAID] or told.get("said", "")
            view = {**told, "at": at, "place": place, "said": said}
            found[place].append(ViolationView.model_validate(view))
        elif name == FactType.CONTRACT_CORRECTED.value:
            _correct(found, at, told)
    return found


def _correct(found: defaultdict[str, list[ViolationView]], at: datetime, told: Mapping[str, Any]) -> None:
    """Add a correction to the violation that it answers; one that answers none gets a line of its own."""
    step, message = told.get("step_id"), str(told.get("message", ""))
    places = [str(step)] if step else ["plan", "answer"]
    for place in places:
        for index, view in reversed(tuple(enumerate(found[place]))):
            same = (view.violation, view.tool) == (told.get("violation"), told.get("tool"))
            if same and view.correction is None:
                found[place][index] = view.model_copy(update={"correction": message})
                return
    alone = {**told, "at": at, "place": places[0], "correction": message}
    found[places[0]].append(ViolationView.model_validate(alone))


def place_of(chain_id: str, thought: str) -> str:
    """What a thought is about: a step's id, `plan` or `answer`."""
    return thought.removeprefix(f"{chain_id}.").partition(".")[0]


def case_of(strikes: Sequence[Strike], raw: Mapping[str, str]) -> tuple[Strike, ...]:
    """A case with the model's own words, whole as far as they can be shown; a call is words too."""
    return tuple(structs.replace(one, said=raw.get(one.thought_id, "")[:MOST_SAID] or one.said) for one in strikes)


def promises(step: Step, actions: Sequence[ActionView]) -> tuple[PromiseView, ...]:
    """For each promise of the step the tool and the action that kept it (C3); of one that none has kept all tools."""
    kept: dict[str, str] = {}
    for action in actions:
        if action.receipt is not None and action.receipt.satisfies:
            kept.setdefault(action.tool, action.id)
    by = ((promise, next((tool for tool in promise if tool in kept), "")) for promise in step.promised)
    return tuple(PromiseView(tool=tool or " or ".join(promise), kept_by=kept.get(tool)) for promise, tool in by)


def validation(task: Task, step: Step, run: StepRun, origin: str) -> str | None:
    """How a step that is done kept its promise: passed, failed or skipped."""
    if not run.status.done:
        return None
    if run.status is StepStatus.FAILED:
        return "failed"
    if run.status is not StepStatus.COMPLETED:
        return "skipped"
    if origin == PlanOrigin.LITERAL:
        return "passed"
    return limits.validation(step, limits.mode(task, step), unkept=run.unkept)


def remarks(completed: bool, steps: Iterable[StepView], about_answer: Sequence[ViolationView]) -> list[str]:
    """Sentences about promises that were not kept (D4)."""
    said = [
        f"Step {step.id!r} continued without its required tools ({step.tool_validation_mode.value})."
        for step in steps
        if step.status == StepStatus.COMPLETED.value and step.validation_status == "failed"
    ]
    if completed and about_answer and about_answer[-1].correction is None:
        said.append("The model did not answer in plain text.")
    return said
