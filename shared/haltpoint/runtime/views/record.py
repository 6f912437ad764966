"""All that is kept about one chain, as it is read for people: of this all views of it are made."""

from collections.abc import Mapping
from dataclasses import field
from textwrap import shorten
from typing import Final

from haltpoint.chain.model.state import Chain, StepRun, goal_of
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import value
from haltpoint.contracts.people.phrases import Phrases
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.views.chains import ModelRestView, WaitingView
from haltpoint.contracts.work.plans import Step
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.log_lines import LogLine
from haltpoint.runtime.store.rows import StoredAction, StoredRequest, StoredThought

_LONGEST: Final = 120
"""Characters of the names of steps in a title."""


def title_of(chain: Chain) -> str:
    """What people call a chain: its goal, or the steps of a plan that has none."""
    plan = chain.task.plan
    goal = goal_of(chain)
    if goal or plan is None:
        return goal
    names = ", ".join(step.label or step.id for step in plan.steps)
    return shorten(names, _LONGEST, placeholder=" …")


@value
class ChainRecord:
    """All that is kept about a chain. `actions`, `requests`, `thoughts` are by id; missing ones are
    absent.
    """

    chain: Chain
    """Its head, task, plan, runs and end, without its actions, requests and proposals."""
    log: tuple[LogLine, ...] = ()
    actions: Mapping[str, StoredAction] = field(default_factory=dict)
    requests: Mapping[str, StoredRequest] = field(default_factory=dict)
    thoughts: Mapping[str, StoredThought] = field(default_factory=dict)

    specs: Mapping[str, ToolSpec] = field(default_factory=dict)
    """The tools of its actions and questions, as far as workers declare them now."""

    waiting: WaitingView | None = None

    rests: tuple[ModelRestView, ...] = ()
    """Of the thoughts that wait for their model."""

    children: Mapping[str, "ChainRecord"] = field(default_factory=dict)
    """The chains that carried out skills and agents."""

    phrases: Phrases = field(default_factory=Phrases)
    """The runtime's own words."""

    @property
    def id(self) -> str:
        """The chain's id."""
        return self.chain.id

    @property
    def task(self) -> Task:
        """The task as it was submitted."""
        return self.chain.task

    @property
    def steps(self) -> tuple[tuple[Step, StepRun], ...]:
        """The steps of the plan with their runs; none before there is a plan, or while it is being
        written.
        """
        steps = self.chain.plan.steps if self.chain.plan else ()
        return tuple(zip(steps, self.chain.runs, strict=False))

    def spec(self, tool: str) -> ToolSpec:
        """The tool of this name; all that is known of one that no worker declares is its name."""
        return self.specs.get(tool) or ToolSpec(name=tool)

    def words(self, thought: str) -> str:
        """The model's own words in a thought."""
        stored = self.thoughts.get(thought)
        return stored.raw if stored else ""

    @property
    def status(self) -> ChainStatus:
        """The chain's state."""
        return self.chain.status
