"""What a thought is about, as one value: no prompt needs Redis any more. And the question to the
model, as another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from msgspec import Struct

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.results import ErrorType, Outcome
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.agents import Agent
from haltpoint.contracts.work.plans import Plan, Step, ValidationMode
from haltpoint.contracts.work.tasks import Mode, Task
from haltpoint_planner.own_messages import Own


class Receipt(Struct, frozen=True):
    """One earlier call and its result, as it counts: completed by a person's answer where there was
    one.
    """

    step_id: str
    tool: str
    arguments: str
    outcome: Outcome
    data: str
    deeds: tuple[str, ...] = ()
    """What it did; of a skill what the calls in its chain did (F1)."""
    number: int = 0
    """Its action's number in the step."""

    @property
    def is_denied(self) -> bool:
        """Whether a person has said no to it."""
        error = self.outcome.error
        return error is not None and error.error_type is ErrorType.DENIED


@dataclass(frozen=True)
class Context:
    """All that a prompt is made of."""

    request: ThoughtRequest
    task: Task
    plan: Plan | None = None
    receipts: tuple[Receipt, ...] = ()
    findings: tuple[tuple[str, str], ...] = ()
    """Ids and words of the steps that ended with words."""
    done_before: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The deeds of the conversation's earlier chains."""
    previous: str = ""
    """The model's own words of the last time in this turn, when they were refused."""
    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    """Those that the model may see for this thought."""
    known: Mapping[str, ToolSpec] = field(default_factory=dict)
    """All that there are."""
    bounds_known: bool = False
    """What the goal asks of tools was read (C12)."""
    agent: Agent | None = None
    """The one that works on the task, if it names one."""
    owned: Mapping[str, Own] = field(default_factory=dict)
    """The provider's own messages, by the local ids of their thoughts."""
    by: str = ""
    """The model that is asked, as it is named with what it has said."""
    room: int = 32_000
    """Tokens that the prompt may have."""

    @cached_property
    def step(self) -> Step | None:
        """The step that the thought is for; None for plans and answers."""
        steps = self.plan.steps if self.plan else ()
        return next((step for step in steps if step.id == self.request.step_id), None)

    @property
    def own(self) -> list[Receipt]:
        """The receipts of the step."""
        return [each for each in self.receipts if each.step_id == self.request.step_id]

    @property
    def last_number(self) -> int:
        """The number of the step's last action; 0 before the first."""
        return max((receipt.number for receipt in self.own), default=0)

    @property
    def has_just_failed(self) -> bool:
        """Whether the last call of the step has ended in an error of its tool."""
        return any(each.outcome.error and not each.is_denied for each in self.own[-1:])

    @property
    def is_verbose(self) -> bool:
        """Whether prompt and reply are in the log."""
        return self.agent is not None and self.agent.verbose

    @property
    def is_strict(self) -> bool:
        """Whether a call that is due can be forced: in no other mode it is."""
        own = None if self.step is None else self.step.tool_validation_mode
        return self.task.mode is Mode.STRICT or own is ValidationMode.STRICT

    @property
    def missing(self) -> tuple[str, ...]:
        """The tools of the promises that are due in the step (C3)."""
        return tuple(dict.fromkeys(chain.from_iterable(self.request.due)))


@dataclass(frozen=True, slots=True)
class Question:
    """One question to a model, in the words of its kind."""

    system: str
    """How to go about it."""
    task: str
    """What it is about."""
    last: str
    """What is asked for, at the end; behind it the goal is said once more."""
    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    """Those that may be called."""
    is_due: bool = False
    """One of them has to be (C10), in a strict step."""
    schema: JsonObject | None = None
    """The form of the words where nothing can be called; None: they are free."""
    is_first: bool = False
    """No result is shown for it, and nothing is asked at the end unless a reply was wrong, and then
    without the goal (C12).
    """
