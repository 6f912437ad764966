"""A decision while it is being made: the chain as it will be, and what has been said so far."""

from dataclasses import fields
from operator import attrgetter
from typing import Any, Final

from haltpoint.chain import policy
from haltpoint.chain.outputs import Decision, Output
from haltpoint.chain.state import Action, Chain, ChainStatus, StepRun
from haltpoint.chain.world import World
from haltpoint.contracts.facts import Fact, FactType
from haltpoint.contracts.plans import Step
from haltpoint.contracts.tasks import Mode
from haltpoint.contracts.thoughts import Proposal, Usage

_values: Final = attrgetter(*(one.name for one in fields(Chain)[6:]))
"""The fields of a chain that decisions change; `Work` has them under the same names."""


class Work:
    """The one mutable thing of the core; it lives for one call of `decide` and is never shared.

    Handlers write down what becomes of the chain; `decision` makes a value of it. A handler that writes nothing has
    ignored the event. `ended` is the step that has just come to its end, so that the next one can be started; `nearest`
    the lowest step that became ready by it; `words` the text with which a reasoning step ended. `given` is an action
    whose receipt is here without a run, since an earlier one answers it (C14), and is taken next. `cited`: the answer
    cites a successful receipt.
    """

    __slots__ = (
        "actions", "actions_used", "answer", "asked", "case", "chain", "cited", "digests", "effects", "ended", "error",
        "facts", "given", "goal", "granted", "graph", "inside", "intent", "nearest", "now", "origin", "other_model",
        "outputs", "plan", "plan_attempts", "proposals", "questions", "requests", "resume", "runs", "status", "steps",
        "strikes", "thought", "tokens", "turns", "unfulfilled", "unproven", "words", "world",
    )  # fmt: skip

    def __init__(self, chain: Chain, world: World, now: int) -> None:
        self.chain = chain
        self.world = world
        self.now = now
        self.status = chain.status
        self.origin = chain.origin
        self.plan = chain.plan
        self.steps: tuple[Step, ...] = () if chain.plan is None else chain.plan.steps
        self.graph = chain.graph
        self.digests = chain.digests
        self.runs: dict[int, StepRun] = {}
        self.actions = chain.actions
        self.proposals = chain.proposals
        self.requests = chain.requests
        self.turns = chain.turns
        self.actions_used = chain.actions_used
        self.tokens = chain.tokens
        self.resume = chain.resume
        self.asked = chain.asked
        self.plan_attempts = chain.plan_attempts
        self.thought = chain.thought
        self.strikes = chain.strikes
        self.case = chain.case
        self.goal = chain.goal
        self.inside = chain.inside
        self.intent = chain.intent
        self.effects = chain.effects
        self.questions = chain.questions
        self.granted = chain.granted
        self.other_model = chain.other_model
        self.answer = chain.answer
        self.unproven = chain.unproven
        self.unfulfilled = chain.unfulfilled
        self.error = chain.error
        self.outputs: list[Output] = []
        self.facts: list[Fact] = []
        self.ended: int | None = None
        self.nearest = 0
        self.words: str | None = None
        self.cited = False
        self.given: Action | None = None

    # ---- reading

    def run(self, index: int) -> StepRun:
        """How far a step has come by now."""
        run = self.runs.get(index)
        return self.chain.steps[index] if run is None else run

    def mode(self, index: int | None) -> Mode:
        """How far the model is held to its word in a step; None: before and after all steps."""
        return policy.mode(self.chain.task, None if index is None else self.steps[index])

    # ---- writing

    def tell(self, fact: FactType, **details: Any) -> None:
        """Add a line to the chain's log."""
        self.facts.append(Fact(fact, details))

    def tell_action(self, fact: FactType, action: Action, **details: Any) -> None:
        """Add a line about an action."""
        about = {"step_id": self.steps[action.step].id, "action_id": action.id, "n": action.number, "tool": action.tool}
        self.facts.append(Fact(fact, {**about, **details}))

    def move(self, index: int, run: StepRun) -> None:
        """Say how far a step has come."""
        self.runs[index] = run

    def keep(self, action: Action) -> None:
        """Put an action, or what became of it, in its place."""
        if self.actions is self.chain.actions:
            self.actions = dict(self.actions)
        self.actions[action.id] = action

    def drop(self, action_id: str) -> None:
        """Let go of an action that no later decision needs."""
        if action_id in self.actions:
            if self.actions is self.chain.actions:
                self.actions = dict(self.actions)
            del self.actions[action_id]

    def note(self, index: int, proposal: Proposal) -> None:
        """Keep the proposal that a step acts on."""
        self.proposals = {**self.proposals, index: proposal}

    def clear(self, index: int) -> None:
        """Let go of a step's proposal."""
        if index in self.proposals:
            self.proposals = {number: kept for number, kept in self.proposals.items() if number != index}

    def spend(self, usage: Usage) -> None:
        """Count what a thought has cost."""
        self.tokens += usage.input_tokens + usage.output_tokens

    def end(self, status: ChainStatus, fact: FactType, details: dict[str, Any]) -> None:
        """The chain has come to its one final state: nothing is needed of it any more but what it says."""
        self.status = status
        if status is not ChainStatus.COMPLETED:  # words that were to be looked at once more are not delivered
            self.answer, self.unproven = None, ()
        self.actions = {}
        self.proposals = {}
        self.requests = ()
        self.resume = None
        self.thought = None
        self.tell(fact, **details)

    # ---- the value

    def decision(self) -> Decision:
        """What was written down, as a value; the very same chain when nothing was."""
        if not self.facts and not self.outputs:
            return Decision(self.chain)
        steps = list(self.chain.steps) if self.chain.steps else [StepRun()] * len(self.runs)
        for index, run in self.runs.items():
            steps[index] = run
        was = self.chain
        chain = Chain(was.id, was.task, was.created_at, self.now, was.deadline, tuple(steps), *_values(self))
        return Decision(chain, tuple(self.outputs), tuple(self.facts), tuple(self.runs))
