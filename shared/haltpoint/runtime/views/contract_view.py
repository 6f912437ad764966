"""The contract as a reader of a chain sees it: promises, the receipts that kept them, and where the
word was broken.

Pure, like `chain_view`, of which this is a part: values in, views out.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.views.steps import ActionView, PromiseView, ViolationView
from haltpoint.contracts.work.plans import Step
from haltpoint.runtime.views.log_view import Fact
from haltpoint.runtime.views.request_view import MOST_SAID

Violations = Mapping[str, tuple[ViolationView, ...]]
"""By their place: a step's id, `plan` or `answer`."""

_Entries = defaultdict[str, list[JsonObject]]


def violations(chain_id: str, facts: Iterable[Fact], raw: Mapping[str, str]) -> Violations:
    """Every violation, each with the correction that was sent; `raw` are the model's words by
    thought.
    """
    found: _Entries = defaultdict(list)
    for at, name, details in facts:
        if name == FactType.CONTRACT_VIOLATED.value:
            thought = details.get("thought_id", "")
            place = details.get("step_id") or place_of(chain_id, thought)
            said = raw.get(thought, "")[:MOST_SAID] or details.get("said", "")
            found[place].append({**details, "at": at, "place": place, "said": said})
        elif name == FactType.CONTRACT_CORRECTED.value:
            _correct(found, {**details, "at": at})
    return {
        place: tuple(map(ViolationView.model_validate, entries)) for place, entries in found.items()
    }


def _correct(found: _Entries, details: JsonObject) -> None:
    """Add a correction to the violation that it answers; one that answers none gets a line of its
    own.
    """
    step = details.get("step_id")
    places = [step] if step else ["plan", "answer"]
    for place in places:
        for entry in reversed(found[place]):
            same = all(entry.get(name) == details.get(name) for name in ("violation", "tool"))
            if same and "correction" not in entry:
                entry["correction"] = details.get("message", "")
                return
    first = places[0]
    alone = {**details, "place": first, "correction": details.get("message", "")}
    found[first].append(alone)


def place_of(chain_id: str, thought: str) -> str:
    """What a thought is about: a step's id, `plan` or `answer`."""
    return thought.removeprefix(f"{chain_id}.").partition(".")[0]


def promises(step: Step, actions: Sequence[ActionView]) -> tuple[PromiseView, ...]:
    """For each promise of the step the tool and the action that kept it (C3); of one that none has
    kept all tools.
    """
    kept: dict[str, str] = {}
    for action in actions:
        if action.receipt is not None and action.receipt.satisfies:
            kept.setdefault(action.tool, action.id)
    views: list[PromiseView] = []
    for promise in step.promised:
        keepers = [tool for tool in promise if tool in kept]
        tool = keepers[0] if keepers else " or ".join(promise)
        views.append(PromiseView(tool=tool, kept_by=kept.get(tool)))
    return tuple(views)


def reasons(facts: Iterable[Fact]) -> dict[str, str]:
    """Why steps were skipped, or failed, by the id of the step."""
    ends = (FactType.STEP_SKIPPED, FactType.STEP_FAILED)
    return {details["step_id"]: details["reason"] for _, name, details in facts if name in ends}


def validations(facts: Iterable[Fact]) -> dict[str, str]:
    """How each step that is done kept its promise: passed, failed or skipped, by its id."""
    found: dict[str, str] = {}
    for _, name, details in facts:
        if name == FactType.STEP_COMPLETED.value:
            found[details["step_id"]] = details["validation_status"]
        elif name == FactType.STEP_FAILED.value:
            found[details["step_id"]] = "failed"
    return found
