"""A decision while it is being made: the chain as it will be, and what has been said so far."""

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any, Final, Self

from msgspec import field
from msgspec.structs import replace

from haltpoint.chain.model import limits
from haltpoint.chain.model.limits import World
from haltpoint.chain.model.needs import is_needed
from haltpoint.chain.model.outputs import Decision, Output
from haltpoint.chain.model.state import Action, Chain, OpenProposal, StepRun, is_submitters
from haltpoint.chain.model.statuses import ActionStatus, ChainStatus, PlanOrigin, StepStatus
from haltpoint.contracts.base import JsonObject, thought_id
from haltpoint.contracts.facts import Fact, FactType
from haltpoint.contracts.people.phrases import Phrases
from haltpoint.contracts.reasons import Grant, Heard
from haltpoint.contracts.results import Metadata, NextAction, Outcome, Spent
from haltpoint.contracts.work.known import KnownReceipt
from haltpoint.contracts.work.plans import Step
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, Proposal, Usage

_NOTHING: Final = OpenProposal(Proposal())
_place: Final = attrgetter("step", "number")
_values: Final = attrgetter(*Chain.__struct_fields__)


class Work(Chain, kw_only=True, gc=False):
    """The one mutable thing of the core: a copy of the chain that lives for one call of `decide`.

    Handlers write down what becomes of the chain; `decision` makes a value of it. A handler that
    writes nothing has ignored the event.
    """

    chain: Chain
    """The chain before the event."""
    body: str
    """What came beside the message: the data of a result, as JSON text."""
    world: World
    now: int
    """The time of the decision in ms."""
    steps: tuple[Step, ...]
    """Those of the plan."""
    run: list[StepRun]
    """How far each step has come by now."""
    changed: set[int] = field(default_factory=set)
    """The indexes of the steps that have moved since."""
    outputs: list[Output] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    words: str | None = None
    """The text with which a reasoning step ended."""
    is_literal: bool
    """Whether it carries out a plan that brings all its calls."""
    is_open: bool
    """Whether it has one open-ended step."""

    @classmethod
    def on(cls, chain: Chain, body: str, world: World, now: int) -> Self:
        """The work on one event."""
        steps = () if chain.plan is None else chain.plan.steps
        return cls(
            *_values(chain),
            chain=chain,
            body=body,
            world=world,
            now=now,
            steps=steps,
            run=list(chain.runs),
            is_literal=chain.origin is PlanOrigin.LITERAL,
            is_open=chain.origin is PlanOrigin.REACT,
        )

    # ---- reading

    def mode(self, index: int | None) -> Mode:
        """How far the model is held to its word in a step; None: before and after all steps."""
        return limits.mode(self.task, None if index is None else self.steps[index])

    def action_id(self, index: int, number: int) -> str:
        """The id of a step's action: see `base.action_id`."""
        return f"{self.id}.{self.steps[index].id}.{number}"

    @property
    def phrases(self) -> Phrases:
        """The runtime's own words (F1)."""
        return self.world.policy.phrases

    @property
    def receipts(self) -> Mapping[str, Action]:
        """The actions whose receipts the chain knows: its own, and those that others made known."""
        others = (*self.task.handed.known, *self.below.known)
        return {**{receipt.action_id: _known(receipt) for receipt in others}, **self.actions}

    def spent_in_all(self) -> Spent:
        """What the chain has used, with what its agents have."""
        return limits.added(self.spent, self.below.spent)

    @property
    def active(self) -> list[int]:
        """The steps that have begun and have something to do or to wait for."""
        return [index for index in self.live if self.run[index].status is not StepStatus.READY]

    def proposal(self, index: int) -> Proposal:
        """What a step acts on; nothing where it waits for it."""
        return self.proposals.get(index, _NOTHING).proposal

    def refused(self, index: int) -> Mapping[int, Correction]:
        """The faults of the calls of its proposal that are refused, by their place."""
        return self.proposals.get(index, _NOTHING).refused

    def under_way(self) -> int:
        """How many calls and thoughts are under way (C8); what a person is asked about keeps its
        place.
        """
        runs = [self.run[index] for index in self.live]
        thoughts = [run for run in runs if run.thinking and not run.here]
        actions = sum(len(run.pending) for run in runs)
        return actions + len(thoughts) + (self.thought is not None)

    def acted_on(self, index: int) -> str:
        """The id of the thought whose proposal a step is acting on, or has acted on last."""
        run = self.run[index]
        return thought_id(self.id, self.steps[index].id, run.turn, run.attempt)

    def awaits(self, index: int, thought: str) -> bool:
        """Whether a step waits for this thought. Where a case is open, a person decides in its
        place (D3).
        """
        run = self.run[index]
        if not run.thinking or run.here or run.status is not StepStatus.IN_PROGRESS:
            return False
        step = self.steps[index]
        return thought == thought_id(self.id, step.id, run.turn + 1, run.attempt)

    # ---- writing

    def tell(self, fact: FactType, index: int | None = None, **details: Any) -> None:
        """Add a line to the chain's log, about a step or about the chain: with the details that
        are known, not None.
        """
        if index is not None:
            details = {"step_id": self.steps[index].id, **details}
        known = {name: detail for name, detail in details.items() if detail is not None}
        self.facts.append(Fact(fact, known))

    def tell_action(self, fact: FactType, action: Action, **details: Any) -> None:
        """Add a line about an action."""
        self.tell(fact, action.step, action_id=action.id, tool=action.tool, **details)

    def edit(self, index: int) -> StepRun:
        """How far a step has come, to be changed: a copy of this decision's own."""
        if index not in self.changed:
            self.changed.add(index)
            self.run[index] = replace(self.run[index])
        return self.run[index]

    def move(self, index: int, status: StepStatus) -> None:
        """Begin a step anew, in this state."""
        self.run[index] = StepRun(status)
        self.changed.add(index)
        if status is StepStatus.READY:
            self.live = tuple(sorted((*self.live, index)))

    def leave(self, index: int, status: StepStatus) -> None:
        """End a step. What of it is under way still is (C8); what rests is not sent again."""
        run = self.edit(index)
        run.status = status
        run.thinking = run.here = run.freed = False
        for name in [self.action_id(index, number) for number in run.pending]:
            if self.rests(name):
                rest = self.resting[name]
                self.keep(self.actions[name].done(rest.outcome, rest.data))
        self.clear(index)
        self.let_go(index)

    def let_go(self, index: int) -> None:
        """Take a step that is over and waits for nothing out of those that are live."""
        run = self.run[index]
        if run.status.done and not run.pending:
            self.live = tuple(other for other in self.live if other != index)

    def next_action(self, index: int, tool: str, arguments: str) -> Action:
        """The step's next action, with its arguments as JSON text. Of a literal plan its number is
        the place of its call, whatever was left out before.
        """
        run = self.run[index]
        before = run.taken if self.is_literal else run.actions
        number = before + 1
        return Action(self.action_id(index, number), index, number, tool, arguments)

    def continues(self, index: int, tool: str) -> bool:
        """Whether a call counts as one with the last call of the same turn (C7): it is one of the
        same tool, or both only read.
        """
        run = self.run[index]
        reads = self.world.only_reads
        before = self.actions.get(self.action_id(index, run.actions))
        if before is None or not run.in_turn:
            return False
        return before.tool == tool or (reads(before.tool) and reads(tool))

    def begin(self, action: Action) -> None:
        """Begin the step's next action, in the order of the plan: one more of its calls is under
        way.
        """
        run = self.edit(action.step)
        if not (self.is_literal or self.continues(action.step, action.tool)):
            run.in_turn += 1
        run.actions = action.number
        run.taken += 1
        run.pending = (*run.pending, action.number)
        self.keep(action)
        in_order = sorted(self.actions.values(), key=_place)
        self.actions = {kept.id: kept for kept in in_order}

    def actions_of(self, index: int) -> list[Action]:
        """The actions of a step, in their order."""
        return [action for action in self.actions.values() if action.step == index]

    def rests(self, name: str) -> bool:
        """Whether an action waits until it is sent again."""
        rest = self.resting.get(name)
        return rest is not None and rest.until > 0

    def keep(self, action: Action) -> None:
        """Put an action, or what became of it, in its place."""
        self.actions = {**self.actions, action.id: action}
        if action.status is ActionStatus.DONE:
            self.resting = without(self.resting, action.id)
            self.approvals = without(self.approvals, action.id)
            run = self.edit(action.step)
            run.pending = tuple(number for number in run.pending if number != action.number)
            self.let_go(action.step)

    def clear(self, index: int) -> None:
        """Let go of a step's proposal."""
        self.proposals = without(self.proposals, index)

    def hear(self, heard: Heard, granted: Iterable[Grant] = (), *, corrected: bool) -> None:
        """Keep the weightiest of what persons have said, their yeses, and whether the model was
        corrected since.
        """
        people = self.people
        heard = max(people.heard, heard)
        grants = tuple(dict.fromkeys((*people.granted, *granted)))
        self.people = replace(people, heard=heard, granted=grants, corrected=corrected)

    def spend(self, usage: Usage) -> None:
        """Count what a thought has cost."""
        tokens = usage.input_tokens + usage.output_tokens
        spent = Spent(tokens=tokens, cost=usage.cost)
        self.spent = limits.added(self.spent, spent)

    def finish(self, status: ChainStatus, fact: FactType, details: JsonObject) -> None:
        """The chain has come to its one final state: nothing is needed of it any more but what it
        says.
        """
        self.status = status
        self.actions = {}
        self.proposals = {}
        self.resting = {}
        self.approvals = {}
        self.requests = self.dropped = ()
        self.resume = self.thought = None
        self.tell(fact, **details)

    # ---- the value

    def decision(self) -> Decision:
        """What was written down, as a value; the chain before the event where nothing was."""
        is_written = self.facts or self.outputs or self.changed
        if not is_written and _values(self) == _values(self.chain):
            return Decision(self.chain)
        self.runs = tuple(self.run)
        self.updated_at = self.now
        if is_submitters(self):  # of the actions in memory those that a load finds
            own = self.actions.values()
            kept = [action for action in own if is_needed(self, action.step, action.number)]
            self.actions = {action.id: action for action in kept}
        return Decision(
            Chain(*_values(self)), tuple(self.outputs), tuple(self.facts), tuple(self.changed)
        )


def without(kept: dict[Any, Any], key: Any) -> dict[Any, Any]:
    """The same without one key."""
    return {other: value for other, value in kept.items() if other != key}


def _known(receipt: KnownReceipt) -> Action:
    """A receipt of another chain, as one of no step; a person's has no mark of a worker."""
    is_tools = receipt.by is None
    name = receipt.action_id if is_tools else ""
    marks = Metadata(action_id=name, by=receipt.by or "")
    outcome = Outcome(success=True, next_action=NextAction.CONTINUE, metadata=marks)
    action = Action(receipt.action_id, -1, 0, receipt.tool, receipt.arguments)
    return action.done(outcome, receipt.data)
