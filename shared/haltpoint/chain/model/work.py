"""A decision while it is being made: the chain as it will be, and what has been said so far."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any, Final, Self

from msgspec import field, structs

from haltpoint.chain.model import limits
from haltpoint.chain.model.limits import World
from haltpoint.chain.model.needs import kept_actions
from haltpoint.chain.model.outputs import Decision, Output
from haltpoint.chain.model.state import Action, Chain, StepRun
from haltpoint.chain.model.statuses import ActionStatus, ChainStatus, PlanOrigin, StepStatus
from haltpoint.contracts.base import thought_id
from haltpoint.contracts.facts import Fact, FactType
from haltpoint.contracts.people.phrases import Phrases
from haltpoint.contracts.reasons import Heard
from haltpoint.contracts.results import Metadata, NextAction, Outcome, Spent
from haltpoint.contracts.work.known import KnownReceipt
from haltpoint.contracts.work.plans import Step
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, Proposal, Usage

NOTHING: Final = Proposal()
_values: Final = attrgetter(*Chain.__struct_fields__)


class Work(Chain, kw_only=True, gc=False):
    """The one mutable thing of the core: a copy of the chain that lives for one call of `decide`.

    Handlers write down what becomes of the chain; `decision` makes a value of it. A handler that writes nothing has
    ignored the event. `chain` is the chain before the event; `run` says how far each step has come by now, `changed`
    are those that have moved since. `words` is the text with which a reasoning step ended. `woken`: the chain's
    timer went off; `expired` are the numbers of the questions whose time is over.
    """

    chain: Chain
    body: str
    world: World
    now: int
    steps: tuple[Step, ...]
    run: list[StepRun]
    changed: set[int] = field(default_factory=set)
    outputs: list[Output] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    words: str | None = None
    expired: Collection[int] = ()
    woken: bool = False

    @classmethod
    def on(cls, chain: Chain, body: str, world: World, now: int) -> Self:
        """The work on one event, beside whose message came `body`."""
        steps = () if chain.plan is None else chain.plan.steps
        return cls(*_values(chain), chain=chain, body=body, world=world, now=now, steps=steps, run=list(chain.runs))

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
        """The actions whose receipts the chain knows: its own, and those that other chains of its root made known."""
        others = {receipt.action_id: _known(receipt) for receipt in (*self.task.handed.known, *self.below.known)}
        return {**others, **self.actions} if others else self.actions

    def spent_in_all(self) -> Spent:
        """What the chain has used, with what its agents have."""
        return limits.added(self.spent, self.below.spent)

    @property
    def active(self) -> list[int]:
        """The steps that have begun and have something to do or to wait for."""
        return [index for index in self.live if self.run[index].status is not StepStatus.READY]

    @property
    def ready(self) -> list[int]:
        """The steps that may begin."""
        return [index for index in self.live if self.run[index].status is StepStatus.READY]

    def proposal(self, index: int) -> Proposal:
        """What a step acts on; nothing where it waits for it."""
        kept = self.proposals.get(index)
        return NOTHING if kept is None else kept.proposal

    def refused(self, index: int) -> Mapping[int, Correction]:
        """The faults of the calls of its proposal that are refused, by their place."""
        kept = self.proposals.get(index)
        return {} if kept is None else kept.refused

    def under_way(self) -> int:
        """How many calls and thoughts are under way (C8). What a person is asked about keeps its place meanwhile."""
        count = int(self.thought is not None)
        for index in self.active:
            run = self.run[index]
            count += len(run.pending) + (run.thinking and not run.here)
        return count

    def awaited(self, index: int, turns: int = 1) -> str:
        """The id of the thought that a step asks for, or waits for; so many turns after the one that it acts on."""
        run = self.run[index]
        return thought_id(self.id, self.steps[index].id, run.turn + turns, run.attempt)

    def awaits(self, index: int, thought: str) -> bool:
        """Whether a step waits for this thought. Where a case is open, a person decides in its place (D3)."""
        run = self.run[index]
        asked = run.thinking and not run.here and run.status is StepStatus.IN_PROGRESS
        return asked and thought == self.awaited(index)

    def acted_on(self, index: int) -> str:
        """The id of the thought whose proposal a step is acting on, or has acted on last."""
        return self.awaited(index, 0)

    # ---- writing

    def tell(self, fact: FactType, index: int | None = None, **details: Any) -> None:
        """Add a line to the chain's log, about a step or about the chain."""
        self.facts.append(Fact(fact, details if index is None else {"step_id": self.steps[index].id, **details}))

    def tell_action(self, fact: FactType, action: Action, **details: Any) -> None:
        """Add a line about an action."""
        about = {"step_id": self.steps[action.step].id, "action_id": action.id, "n": action.number, "tool": action.tool}
        self.facts.append(Fact(fact, {**about, **details}))

    def edit(self, index: int) -> StepRun:
        """How far a step has come, to be changed: a copy of this decision's own."""
        if index not in self.changed:
            self.changed.add(index)
            self.run[index] = structs.replace(self.run[index])
        return self.run[index]

    def move(self, index: int, status: StepStatus) -> None:
        """Begin a step anew, in this state."""
        self.run[index] = StepRun(status)
        self.changed.add(index)
        if status is StepStatus.READY:
            self.live = tuple(sorted((*self.live, index)))

    def leave(self, index: int, status: StepStatus) -> None:
        """End a step. What of it is under way still is (C8)."""
        run = self.edit(index)
        run.status, run.thinking, run.here, run.freed = status, False, False, False
        for name, rest in self.resting.items():
            if rest.until and (action := self.actions[name]).step == index:  # it is not sent again
                self.keep(structs.replace(action, status=ActionStatus.DONE, outcome=rest.outcome, data=rest.data))
        if index in self.proposals:
            self.clear(index)
        self.let_go(index)

    def let_go(self, index: int) -> None:
        """Take a step that is over and waits for nothing out of those that are live."""
        if not self.run[index].pending:
            self.live = tuple([one for one in self.live if one != index])

    def begin_turn(self, index: int) -> None:
        """Act on the proposal that a step has waited for: nothing of it was taken or refused yet."""
        run = self.edit(index)
        run.turn, run.thinking, run.taken, run.in_turn, run.struck = run.turn + 1, False, 0, 0, False

    def next_action(self, index: int, tool: str, arguments: str) -> Action:
        """The step's next action, with its arguments as JSON text. Of a literal plan its number is the place of its
        call, whatever was left out before.
        """
        run = self.run[index]
        number = 1 + (run.taken if self.origin is PlanOrigin.LITERAL else run.actions)
        return Action(self.action_id(index, number), index, number, tool, arguments)

    def continues(self, index: int, tool: str) -> bool:
        """Whether a call counts as one with the last call of the same turn (C7): it is one of the same tool, or both
        are among the leading calls that only read and do not ask.
        """
        run = self.run[index]
        before = self.actions.get(self.action_id(index, run.actions)) if run.in_turn else None
        if before is None:
            return False
        both = (self.world.spec(before.tool), self.world.spec(tool))
        reading = all(spec.read_only and not spec.may_clarify for spec in both)
        return before.tool == tool or (reading and run.in_turn == 1)

    def begin(self, action: Action) -> None:
        """Begin the step's next action: one more of its calls is under way. Calls side by side count as one."""
        run = self.edit(action.step)
        run.in_turn += not (run.pending or self.continues(action.step, action.tool))
        run.actions, run.taken = action.number, run.taken + 1
        run.pending = (*run.pending, action.number)
        self.keep(action)

    def keep(self, action: Action) -> None:
        """Put an action, or what became of it, in its place: they are in the order of the plan, not of arrival."""
        if self.actions is self.chain.actions:
            self.actions = dict(self.actions)
        last = next(reversed(self.actions.values()), action)
        self.actions[action.id] = action
        if action.step < last.step:
            self.actions = dict(sorted(self.actions.items(), key=lambda one: (one[1].step, one[1].number)))
        if action.status is ActionStatus.DONE:
            if action.id in self.resting:
                self.resting = {name: rest for name, rest in self.resting.items() if name != action.id}
            if action.id in self.approvals:
                self.approvals = {name: one for name, one in self.approvals.items() if name != action.id}
            run = self.edit(action.step)
            run.pending = tuple([number for number in run.pending if number != action.number])
            if run.status.done:
                self.let_go(action.step)

    def clear(self, index: int) -> None:
        """Let go of a step's proposal."""
        if index in self.proposals:
            self.proposals = {number: kept for number, kept in self.proposals.items() if number != index}

    def refuse(self, index: int, place: int, fault: Correction) -> None:
        """Keep the verdict on a call of a step's proposal."""
        kept = self.proposals[index]
        kept = replace(kept, refused={**kept.refused, place: fault})
        self.proposals = {**self.proposals, index: kept}

    def hear(self, heard: Heard) -> None:
        """Keep the weightiest of what persons have said."""
        self.people = structs.replace(self.people, heard=max(self.people.heard, heard))

    def spend(self, usage: Usage) -> None:
        """Count what a thought has cost."""
        tokens = self.spent.tokens + usage.input_tokens + usage.output_tokens
        self.spent = structs.replace(self.spent, tokens=tokens, cost=self.spent.cost + usage.cost)

    def finish(self, status: ChainStatus, fact: FactType, details: dict[str, Any]) -> None:
        """The chain has come to its one final state: nothing is needed of it any more but what it says."""
        self.status = status
        self.actions, self.proposals, self.requests = {}, {}, ()
        self.dropped = ()
        self.resting, self.approvals = {}, {}
        self.resume = self.thought = None
        self.tell(fact, **details)

    # ---- the value

    def has_changed(self) -> bool:
        """Whether anything was written down."""
        return bool(self.facts or self.outputs or self.changed or self.expired) or _values(self) != _values(self.chain)

    def decision(self) -> Decision:
        """What was written down, as a value."""
        self.runs, self.updated_at = tuple(self.run), self.now
        self.actions = kept_actions(self)
        return Decision(Chain(*_values(self)), tuple(self.outputs), tuple(self.facts), tuple(self.changed))


def _known(receipt: KnownReceipt) -> Action:
    """A receipt of another chain, as one of no step; a person's has no mark of a worker."""
    by_tool = receipt.by is None
    marks = Metadata(action_id=receipt.action_id if by_tool else "", by=receipt.by or "")
    outcome = Outcome(success=True, next_action=NextAction.CONTINUE, metadata=marks)
    return Action(
        id=receipt.action_id,
        step=-1,
        number=0,
        tool=receipt.tool,
        arguments=receipt.arguments,
        status=ActionStatus.DONE,
        outcome=outcome,
        data=receipt.data,
    )
