"""A chain driven by hand: each line of a test is one event, and what must always hold is checked at
each.
"""

from dataclasses import replace
from typing import Any

from haltpoint.chain.checks.core_tools import END_SPEC
from haltpoint.chain.decide import decide
from haltpoint.chain.model.limits import Policy, World, deadline_of
from haltpoint.chain.model.needs import needed_actions, needed_thoughts
from haltpoint.chain.model.outputs import Decision, Dispatch, Resolve
from haltpoint.chain.model.state import Action, Chain, ChainError, next_due
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.doors import door
from haltpoint.contracts.events import (
    ActionProposed,
    AnswerDrafted,
    BoundsDrafted,
    HumanAnswered,
    MessageLost,
    PlanDrafted,
    Received,
    TaskCancelled,
    TaskSubmitted,
    ThoughtFailed,
    TimerDue,
    ToExecutor,
    ToolCompleted,
)
from haltpoint.contracts.facts import FINAL_FACTS
from haltpoint.contracts.people.humans import Answer, Choice, Question, RequestKind
from haltpoint.contracts.reasons import Reason
from haltpoint.contracts.results import ErrorType, Outcome
from haltpoint.contracts.tools import END_STEP, ToolSpec
from haltpoint.contracts.work.bounds import Bounds
from haltpoint.contracts.work.plans import Plan, ProposedCall, Step
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import Proposal, ThoughtKind, Usage, Violation
from tests.pictures.states import ARROWS, place
from tests.support.builders import OK, asks, call, failed, owing, spec, writing
from tests.support.forgetting import forget

START = 1_000_000

TO = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
LOOKUP = spec("lookup")
SEND = writing("send", parameters=TO, provenance={"to": ("lookup.id",)})
SAVE = writing("save")
FIND = owing("find", "lookup")
"""The tools of most stories, and the step that looks something up."""

Thought = ThoughtRequest | int | None
"""Which thought a reply is for: one that was asked for, its number, or the last."""


class Story:
    """One chain and all that happened to it. `now` may be set; events carry the ids that the real
    services use.
    """

    def __init__(self, task: Task, *tools: ToolSpec, policy: Policy | None = None) -> None:
        self.world = World({tool.name: tool for tool in (*tools, END_SPEC)}, policy or Policy())
        self.now = START
        deadline = deadline_of(task, self.world.policy, START)
        self.first = self.chain = Chain(
            "c", task, created_at=START, updated_at=START, deadline=deadline
        )
        self.log: list[tuple[Received, int]] = []
        self.decisions: list[Decision] = []
        self.proposals: dict[str, Proposal] = {}

    # ---- events

    def hear(self, message: ToExecutor, body: str = "") -> Decision:
        received = Received(message, body)
        decision = decide(self.chain, received, self.world, self.now)
        assert decide(forget(self.chain), received, self.world, self.now) == decision
        if isinstance(message, ActionProposed):
            self.proposals.setdefault(message.data.thought_id, message.data.proposal)
        self.is_what_a_fresh_load_gives(decision.chain)
        if decision.chain is self.chain:
            assert decision == Decision(self.chain)
        before, after = place(self.chain.status), place(decision.chain.status)
        assert before == after or (before, after) in ARROWS
        self.log.append((received, self.now))
        self.decisions.append(decision)
        self.chain = decision.chain
        return decision

    def is_what_a_fresh_load_gives(self, chain: Chain) -> None:
        """A load finds every action that is needed, and every proposal that has come for a thought
        that is needed.
        """
        assert chain == forget(chain)
        assert list(chain.actions) == list(needed_actions(chain))
        needed = needed_thoughts(chain).items()
        loaded = {
            index: self.proposals[thought] for index, thought in needed if thought in self.proposals
        }
        assert {index: kept.proposal for index, kept in chain.proposals.items()} == loaded

    def submit(self, *, read: bool = True) -> Decision:
        """`read`: the model reads from the goal of an open-ended task that every tool may be asked
        for.
        """
        self.hear(TaskSubmitted(id="c", source="test", subject="c", data=self.chain.task))
        if (
            read
            and self.chain.status is ChainStatus.PLANNING
            and self.thought.kind is ThoughtKind.BOUNDS
        ):
            self.read(Bounds(optional_tools=tuple(sorted(self.world.tools))))
            assert self.chain.status is not ChainStatus.PLANNING, (
                "it names more tools than a goal asks for"
            )
        return self.last

    def read(self, bounds: Bounds | None, usage: Usage | None = None) -> Decision:
        return self.hear_bounds(self.thought.thought_id, bounds, usage)

    def hear_bounds(
        self, thought_id: str, bounds: Bounds | None, usage: Usage | None = None
    ) -> Decision:
        data = BoundsDrafted.Data(thought_id=thought_id, bounds=bounds, usage=usage or Usage())
        return self.hear(BoundsDrafted(id="i", source="test", subject="c", data=data))

    def result(
        self, outcome: Outcome = OK, data: str = "{}", action: Action | None = None, of: str = ""
    ) -> Decision:
        """`of`: the id of the action, when it is not that of the last order."""
        action = action or (self.dispatched(of) if of else self.action)
        identity = f"{action.id}/{action.attempt}/done"
        data_ = ToolCompleted.Data(action_id=action.id, outcome=outcome)
        return self.hear(ToolCompleted(id=identity, source="test", subject="c", data=data_), data)

    def returns(self, data: str, of: str = "") -> Decision:
        """The action succeeds with this data."""
        return self.result(data=data, of=of)

    def fails(
        self, kind: ErrorType = ErrorType.SERVER, message: str = "it broke", of: str = ""
    ) -> Decision:
        return self.result(failed(kind, message), of=of)

    def asks(self, of: str) -> Decision:
        """The action's tool asks which of two things is meant."""
        return self.result(asks("x", "y"), of=of)

    def draft(
        self,
        plan: Plan | None,
        fault: str | None = None,
        *,
        bounds: Bounds | None = None,
        usage: Usage | None = None,
        thought: ThoughtRequest | None = None,
    ) -> Decision:
        name = (thought or self.thought).thought_id
        data = PlanDrafted.Data(
            thought_id=name, plan=plan, bounds=bounds, fault=fault, usage=usage or Usage()
        )
        return self.hear(PlanDrafted(id="p", source="test", subject="c", data=data))

    def plans(self, *steps: Step) -> Decision:
        """The model drafts a plan of these steps."""
        return self.draft(Plan(steps=steps))

    def propose(
        self,
        *calls: ProposedCall,
        content: str = "",
        usage: Usage | None = None,
        thought: Thought = None,
    ) -> Decision:
        return self.take(Proposal(content=content, calls=calls), usage, thought)

    def calls(self, tool: str, **arguments: Any) -> Decision:
        """The model calls one tool."""
        return self.propose(call(tool, **arguments))

    def writes(self, words: str) -> Decision:
        """The model writes words and calls nothing."""
        return self.propose(content=words)

    def end(self, reason: str = "It cannot be done.", outcome: str = "impossible") -> Decision:
        return self.propose(call(END_STEP, outcome=outcome, reason=reason))

    def take(
        self, proposal: Proposal, usage: Usage | None = None, thought: Thought = None
    ) -> Decision:
        thought = self.asked(thought)
        data = ActionProposed.Data(
            thought_id=thought.thought_id,
            step_id=thought.step_id or "",
            proposal=proposal,
            usage=usage or Usage(),
        )
        return self.hear(ActionProposed(id="a", source="test", subject="c", data=data))

    def say(
        self,
        text: str,
        *called: str,
        usage: Usage | None = None,
        thought: Thought = None,
    ) -> Decision:
        name = self.asked(thought).thought_id
        usage = usage or Usage(output_tokens=1)
        data = AnswerDrafted.Data(thought_id=name, text=text, called=called, usage=usage)
        return self.hear(AnswerDrafted(id="w", source="test", subject="c", data=data))

    def no_thought(
        self,
        thought_id: str | None = None,
        kind: ThoughtKind = ThoughtKind.ACT,
        code: str = "HP-301",
    ) -> Decision:
        name = thought_id or self.thought.thought_id
        data = ThoughtFailed.Data(
            thought_id=name, kind=kind, code=code, message="the model's server is away"
        )
        return self.hear(ThoughtFailed(id="f", source="test", subject="c", data=data))

    def answer(
        self,
        kind: RequestKind,
        decision: Choice = Choice.SELECT,
        *,
        option: str | None = None,
        request: str | None = None,
        at: int | None = None,
        by: str = "ann",
        **said: Any,
    ) -> Decision:
        """A person answers the last question, unless another is named."""
        name = request or f"{self.chain.id}.r{self.chain.asked}"
        answer = Answer(kind=kind, decision=decision, option_id=option, **said)
        data = HumanAnswered.Data(
            request_id=name, answer=answer, by=by, at=self.now if at is None else at
        )
        return self.hear(HumanAnswered(id=f"{name}/answer", source="test", subject="c", data=data))

    def tell(self, text: str) -> Decision:
        """A person answers in words what was asked in words."""
        return self.answer(RequestKind.INPUT, Choice.ANSWER, text=text)

    def pick(self, option: str, request: str | None = None) -> Decision:
        return self.answer(RequestKind.CLARIFICATION, option=option, request=request)

    def approve(self, **said: Any) -> Decision:
        return self.answer(RequestKind.CONFIRMATION, Choice.APPROVE, **said)

    def reject(self, text: str = "", **said: Any) -> Decision:
        return self.answer(RequestKind.CONFIRMATION, Choice.REJECT, text=text, **said)

    def rule(self, decision: Choice, **answer: Any) -> Decision:
        """A person decides a case."""
        return self.answer(RequestKind.ESCALATION, decision, **answer)

    def cancel(self, reason: str = "") -> Decision:
        data = TaskCancelled.Data(by="ann", reason=reason)
        return self.hear(TaskCancelled(id="c/cancel", source="test", subject="c", data=data))

    def due(self, *expired: str, at: int | None = None) -> Decision:
        self.now = self.now if at is None else at
        return self.hear(
            TimerDue(
                id="c/due",
                source="test",
                subject="c",
                data=TimerDue.Data(at=self.now, expired=expired),
            )
        )

    def wake(self) -> Decision:
        """The chain's next timer is due."""
        return self.due(at=next_due(self.chain))

    def expire(self) -> Decision:
        """The first open request has waited for as long as it may."""
        request = self.chain.requests[0]
        return self.due(request.request_id, at=request.deadline)

    def lose(self, message_id: str) -> Decision:
        data = MessageLost.Data(message_id=message_id, reason="bad_fields: nobody can read it")
        return self.hear(
            MessageLost(id=f"{message_id}/lost", source="test", subject="c", data=data)
        )

    # ---- what came of them

    @property
    def last(self) -> Decision:
        return self.decisions[-1]

    def _said(self, kind: type[Any]) -> list[Any]:
        return [
            output
            for decision in self.decisions
            for output in decision.outputs
            if isinstance(output, kind)
        ]

    def sends(self, *kinds: type[Any]) -> list[Any]:
        """What the last decision sends of these kinds."""
        return [output for output in self.last.outputs if isinstance(output, kinds)]

    @property
    def dispatches(self) -> list[Dispatch]:
        return self._said(Dispatch)

    @property
    def thoughts(self) -> list[ThoughtRequest]:
        return self._said(ThoughtRequest)

    @property
    def questions(self) -> list[Question]:
        return self._said(Question)

    @property
    def resolved(self) -> list[Resolve]:
        return self._said(Resolve)

    @property
    def receipt(self) -> Outcome:
        """The receipt that a person has completed last."""
        outcome = self.resolved[-1].action.outcome
        assert outcome is not None
        return outcome

    @property
    def order(self) -> Dispatch:
        return self.dispatches[-1]

    @property
    def action(self) -> Action:
        return self.order.action

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why a person is asked before the last order runs."""
        return self.order.reasons

    def dispatched(self, name: str) -> Action:
        """An action as it was last sent out."""
        return next(order.action for order in reversed(self.dispatches) if order.action.id == name)

    def asked(self, thought: Thought) -> ThoughtRequest:
        if isinstance(thought, int):
            return self.thoughts[thought]
        return thought or self.thought

    @property
    def thought(self) -> ThoughtRequest:
        return self.thoughts[-1]

    @property
    def tools_called(self) -> list[str]:
        return [dispatch.action.tool for dispatch in self.dispatches]

    def told(self, name: str) -> list[JsonObject]:
        """The details of every fact of this name so far."""
        return [fact.details for d in self.decisions for fact in d.facts if fact.type.value == name]

    def each(self, name: str, detail: str) -> list[Any]:
        """One detail of every fact of this name so far."""
        return [details[detail] for details in self.told(name)]

    @property
    def violations(self) -> list[str]:
        return self.each("contract.violated", "violation")

    @property
    def faults(self) -> list[Violation]:
        """What the model is told was wrong."""
        return [fault.violation for fault in self.thought.corrections]

    @property
    def correction(self) -> str:
        """What the model is told first about what was wrong."""
        return self.thought.corrections[0].message

    @property
    def status(self) -> str:
        return self.chain.status

    @property
    def error(self) -> ChainError:
        """Why the chain failed."""
        assert self.chain.end.error is not None
        return self.chain.end.error

    @property
    def reason(self) -> str:
        """The words of a tool's error that made the chain fail."""
        return self.error.message.split("): ", 1)[-1]

    @property
    def final_answer(self) -> str | None:
        return self.chain.end.answer

    @property
    def strikes(self) -> int:
        return self.chain.row.count

    @property
    def final_facts(self) -> list[str]:
        return [
            fact.type.value for d in self.decisions for fact in d.facts if fact.type in FINAL_FACTS
        ]

    @property
    def never_executed(self) -> list[tuple[str, str]]:
        return [(one["tool"], one["reason"]) for one in self.told("action.never_executed")]

    @property
    def statuses(self) -> dict[str, str]:
        steps = self.chain.plan.steps if self.chain.plan else ()
        return {step.id: run.status.value for step, run in zip(steps, self.chain.runs, strict=True)}

    def status_of(self, step_id: str) -> str:
        return self.chain.runs[self.chain.graph.index[step_id]].status

    def without(self, *tools: str) -> None:
        """These tools are no longer declared by anybody."""
        left = {name: tool for name, tool in self.world.tools.items() if name not in tools}
        self.world = replace(self.world, tools=left)


def submitted(
    task: Task, *tools: ToolSpec, policy: Policy | None = None, read: bool = True
) -> Story:
    story = Story(task, *tools, policy=policy)
    story.submit(read=read)
    return story


def with_plan(
    tools: tuple[ToolSpec, ...], /, *steps: Step, policy: Policy | None = None, **task: Any
) -> Story:
    """A chain with these tools whose model has drafted a plan of these steps, if there are any."""
    story = submitted(
        door(Task).validate_python({"goal": "tell John", **task}), *tools, policy=policy
    )
    if steps:
        story.plans(*steps)
    return story
