"""The promises under random events: repeats, late and foreign messages, answers of all kinds, jumps of the clock."""

from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec import structs

from haltpoint.chain.checks import human_tool
from haltpoint.chain.model.limits import Policy, mode
from haltpoint.chain.model.outputs import Ask, Decision, Dispatch, Record, Think
from haltpoint.chain.model.state import Chain, next_due
from haltpoint.chain.model.statuses import WAITING, ActionStatus, StepStatus
from haltpoint.chain.replay import fold
from haltpoint.contracts.facts import FINAL_FACTS
from haltpoint.contracts.people.humans import Answer, Choice, RequestKind
from haltpoint.contracts.policy import Pattern
from haltpoint.contracts.results import (
    Clarification,
    Confirmation,
    ErrorInfo,
    ErrorType,
    NextAction,
    Option,
    Outcome,
    Target,
)
from haltpoint.contracts.tools import END_STEP, ToolSpec
from haltpoint.contracts.work.bounds import Bounds
from haltpoint.contracts.work.plans import OnFailure, Plan, ProposedCall, Siblings, Step, StepType, ValidationMode
from haltpoint.contracts.work.tasks import Budget, Mode, Style, Task
from haltpoint.contracts.work.thoughts import Proposal, Usage
from tests.support.forgetting import forget
from tests.unit.chain.story import Story

TO = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
TOOLS = (
    ToolSpec(name="find", read_only=True),
    ToolSpec(name="send", parameters=TO, provenance={"to": ("find.id",)}),
    ToolSpec(name="save", idempotent=True),
    ToolSpec(name="drop", destructive=True),
    ToolSpec(name="secret", internal=True),
    human_tool.SPEC,
)
PATTERN = Pattern(id="save", pattern="save", tools=("save",))
POLICY = Policy(max_turns=4, actions_per_turn=2, max_actions=8, max_chain_turns=10, strikes=2, patterns=(PATTERN,))
CLAIM = "I have sent the message."
BROKEN = '{"tool": "send", "argu'

# ---- what may be said -----------------------------------------------------------------------------------------------

_OPTIONS = (Option(id="u1", title="One", value={"id": "u1"}), Option(id="u2", title="Two", value="no object"))
_CLARIFICATION = Clarification(type="person", question="Which?", options=_OPTIONS)
_CONFIRMATION = Confirmation(action="save", target=Target(id="x"), message="Sure?")


def _error(kind: ErrorType, recoverable: bool, retry_after: float | None = None) -> Outcome:
    fault = ErrorInfo(kind, "no", recoverable=recoverable, retry_after=retry_after)
    return Outcome(success=False, next_action=NextAction.ERROR, error=fault)


OUTCOMES = st.sampled_from(
    [
        *[Outcome(success=True, next_action=NextAction.CONTINUE)] * 6,
        Outcome(success=True, next_action=NextAction.COMPLETE),
        *[Outcome(success=True, next_action=NextAction.CLARIFICATION_NEEDED, clarification=_CLARIFICATION)] * 3,
        *[Outcome(success=True, next_action=NextAction.CONFIRMATION_NEEDED, confirmation=_CONFIRMATION)] * 2,
        _error(ErrorType.NOT_FOUND, True),
        _error(ErrorType.PERMISSION, False),
        *[_error(ErrorType.IN_DOUBT, False)] * 2,
        *[_error(ErrorType.RATE_LIMIT, True, retry_after=1.0)] * 2,
    ]
)
DATA = st.sampled_from(["{}", '{"id": "u1"}', '{"id": 7}', "not json"])
FORM = {"type": "object", "properties": {"id": {"type": "string"}}}
QUESTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"options": ["one"], "timeout": 2},
    {"timeout": 2, "default": "u1"},
    {"schema": FORM},
    {"schema": {"$ref": "#"}},
)
CALLS = st.lists(
    st.sampled_from(
        [
            ProposedCall(tool="find"),
            ProposedCall(tool="send", arguments={"to": "u1"}),
            ProposedCall(tool="send", arguments={"to": "made_up"}),
            ProposedCall(tool="send"),
            ProposedCall(tool="save"),
            ProposedCall(tool="drop"),
            ProposedCall(tool="nope"),
            ProposedCall(tool="secret"),
            ProposedCall(tool=END_STEP, arguments={"outcome": "impossible", "reason": "I cannot."}),
            ProposedCall(tool=END_STEP, arguments={"outcome": "not_needed", "reason": "It is there."}),
            ProposedCall(tool=END_STEP),
            *[ProposedCall(tool=human_tool.NAME, arguments={"question": "Which?", **more}) for more in QUESTIONS],
        ]
    ),
    max_size=3,
)
PROPOSALS = st.builds(
    Proposal,
    content=st.sampled_from(["", "words", CLAIM]),
    calls=CALLS.map(tuple),
    repaired=st.sampled_from([False] * 5 + [True]),
) | st.builds(Proposal, content=st.just(BROKEN), calls=CALLS.map(tuple), faults=st.just(("a call names no tool",)))
USAGES = st.builds(Usage, input_tokens=st.integers(0, 30))
EFFECTS = ("send", "save")
READINGS = st.sampled_from(
    [
        None,
        Bounds(),
        Bounds(required_tools=EFFECTS),
        Bounds(optional_tools=EFFECTS, conditions=("only if it is free",)),
        Bounds(required_tools=EFFECTS, ask_before=EFFECTS),
        Bounds(forbidden=EFFECTS),
        Bounds(required_tools=("no_such_tool",)),
    ]
)
ANSWERS = st.builds(
    Answer,
    kind=st.sampled_from(RequestKind),
    decision=st.sampled_from([*Choice, Choice.SELECT, Choice.APPROVE, Choice.NOT_HAPPENED, Choice.HAPPENED]),
    option_id=st.sampled_from(["u1", "u2", "made_up"]),
    text=st.sampled_from(["", "u9"]),
    value=st.sampled_from([None, {"id": "u1"}]),
)


@st.composite
def plans(draw: st.DrawFn, *, literal: bool) -> Plan:
    steps: list[Step] = []
    for number in range(draw(st.integers(1, 6))):
        before = [step.id for step in steps]
        waits: tuple[str, ...] = ()
        if before:
            waits = tuple(draw(st.lists(st.sampled_from(before), unique=True, max_size=3)))
        tools = ["find", "save", human_tool.NAME]
        some = st.lists(st.sampled_from(tools), unique=True, min_size=int(literal), max_size=2)
        names: tuple[str, ...] = tuple(draw(some))
        refers = bool(waits) and draw(st.booleans())
        target: Any = {"$from": f"{waits[0]}.data.id"} if refers else "u1"
        told = {human_tool.NAME: {"question": "Which?"}}
        first = (ProposedCall(tool=name, arguments=told.get(name, {})) for name in names)
        calls = (*first, ProposedCall(tool="send", arguments={"to": target}))
        more: dict[str, Any] = {"required_tools": names} if names else {"step_type": StepType.REASONING}
        steps.append(
            Step(
                id=f"s{number}",
                dependencies=waits,
                actions=calls if literal else (),
                on_failure=draw(st.sampled_from(OnFailure)),
                tool_validation_mode=draw(st.none() | st.sampled_from(ValidationMode)),
                **more,
            )
        )
    return Plan(steps=tuple(steps))


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    budget = Budget(
        turns=draw(st.none() | st.integers(1, 6)),
        actions=draw(st.none() | st.integers(1, 6)),
        tokens=draw(st.none() | st.integers(50, 200)),
        seconds=draw(st.none() | st.integers(1, 100)),
    )
    plan = draw(st.none() | plans(literal=True))
    how = draw(st.sampled_from([Mode.STRICT, Mode.STRICT, Mode.ADVISORY, Mode.OFF]))
    goal = draw(st.sampled_from(["do it", "save it"]))
    wide = draw(st.sampled_from([None, None, 2, 3, 5]))
    more: dict[str, Any] = {"parallel": wide, "siblings": draw(st.sampled_from(Siblings))}
    return Task(goal=goal, plan=plan, style=draw(st.sampled_from(Style)), budget=budget, mode=how, **more)


# ---- the machine ----------------------------------------------------------------------------------------------------


class Chains(RuleBasedStateMachine):
    """One chain, and everybody who may say something about it, at any time, in any order."""

    @initialize(task=tasks())
    def accept(self, task: Task) -> None:
        self.story = Story(task, *TOOLS, policy=POLICY)
        self.dispatches: list[Dispatch] = []
        self.asked_for_input: set[str] = set()
        self.thinks: list[Think] = []
        self.finals: list[str] = []
        self.answered: list[str] = []
        self.hear(self.story.submit, read=False)

    @property
    def chain(self) -> Chain:
        return self.story.chain

    def hear(self, tell: Callable[..., Decision], *args: Any, **more: Any) -> None:
        before = self.chain
        self.check(before, tell(*args, **more))

    def check(self, before: Chain, decision: Decision) -> None:
        after = decision.chain
        sent = [output for output in decision.outputs if isinstance(output, Dispatch)]
        asked = [output for output in decision.outputs if isinstance(output, Think)]
        if after is before:
            assert decision == Decision(before)
        if before.status.final:
            assert decision == Decision(before)
        assert len(sent) + len(asked) <= (after.task.parallel or 1)
        if self.story.now >= before.deadline or (after.error is not None and not after.status.final):
            assert not sent
            assert not asked
        self.check_stop(before, decision)
        for dispatch in sent:
            earlier = [one.action for one in self.dispatches if one.action.id == dispatch.action.id]
            assert dispatch.again == bool(earlier)
            assert all(dispatch.action == structs.replace(one, attempt=dispatch.action.attempt) for one in earlier)
            assert not dispatch.spec.internal
        if asked and after.task.mode is Mode.STRICT:  # whoever has too many strikes is before a person
            assert after.strikes < POLICY.strikes
            assert all(run.strikes < POLICY.strikes for run in after.runs if run.thinking)
        if asked and after.task.mode is Mode.STRICT:
            assert after.strikes < POLICY.strikes  # at the limit a person is asked, and nobody else (D2, D3)
        assert BROKEN not in (after.answer or ""), "what nobody can read is no answer (C6)"
        assert not {think.thought_id for think in asked} & {think.thought_id for think in self.thinks}
        changed = {
            index for index, run in enumerate(after.runs) if index >= len(before.runs) or run != before.runs[index]
        }
        assert changed <= set(decision.touched)
        self.asked_for_input |= {
            one.action.id
            for one in decision.outputs
            if isinstance(one, Record) and one.action.status is ActionStatus.ASKING
        }
        self.dispatches += sent
        self.thinks += asked
        self.finals += [fact.type for fact in decision.facts if fact.type in FINAL_FACTS]
        self.answered += [fact.details["request_id"] for fact in decision.facts if fact.type == "request.answered"]

    def check_stop(self, before: Chain, decision: Decision) -> None:
        """From a question on nothing is sent but for steps whose own question was answered (B3)."""
        after = decision.chain
        stopped = {one.number for one in before.requests} & {one.number for one in after.requests}
        free = {one.step for one in before.requests if one not in after.requests}
        free |= {index for chain in (before, after) for index, run in enumerate(chain.runs) if run.freed}
        for output in decision.outputs:
            if isinstance(output, Ask):
                stopped.add(output.request.number)
            elif isinstance(output, Dispatch | Think) and stopped:
                step = output.action.step if isinstance(output, Dispatch) else after.graph.index[output.step_id or ""]
                assert step in free

    # ---- who may say what

    @rule(outcome=OUTCOMES, data=DATA)
    def the_worker_reports(self, outcome: Outcome, data: str) -> None:
        if self.dispatches:
            self.report(self.dispatches[-1], outcome, data)

    @rule(outcome=OUTCOMES, data=DATA, pick=st.integers(0, 20))
    def the_first_worker_reports(self, outcome: Outcome, data: str, pick: int) -> None:
        running = [one for one in self.dispatches if one.action.id in self.chain.actions]
        if running:
            self.report(running[pick % len(running)], outcome, data)

    @rule(outcome=OUTCOMES, pick=st.integers(0, 20))
    def a_late_worker_reports(self, outcome: Outcome, pick: int) -> None:
        if self.dispatches:
            self.report(self.dispatches[pick % len(self.dispatches)], outcome, "{}")

    def report(self, dispatch: Dispatch, outcome: Outcome, data: str) -> None:
        self.hear(self.story.result, outcome, data, dispatch.action)

    @rule(proposal=PROPOSALS, usage=USAGES, back=st.sampled_from([0, 0, 0, 1, 2]))
    def the_model_proposes(self, proposal: Proposal, usage: Usage, back: int) -> None:
        if len(self.thinks) > back:
            self.hear(self.story.take, proposal, usage, self.thinks[-1 - back])

    @rule(bounds=READINGS, usage=USAGES)
    def the_model_reads_the_goal(self, bounds: Bounds | None, usage: Usage) -> None:
        if self.thinks:
            self.hear(self.story.hear_bounds, self.thinks[-1].thought_id, bounds, usage)

    @rule(plan=st.none() | plans(literal=False), bounds=READINGS, usage=USAGES)
    def the_model_plans(self, plan: Plan | None, bounds: Bounds | None, usage: Usage) -> None:
        if self.thinks:
            self.hear(self.story.draft, plan, bounds=bounds, usage=usage)

    @rule(usage=USAGES, text=st.sampled_from(["done", "", CLAIM, BROKEN]), called=st.sampled_from([(), (), ("send",)]))
    def the_model_answers(self, usage: Usage, text: str, called: tuple[str, ...]) -> None:
        if self.thinks:
            faults = ("a call names no tool",) if text == BROKEN else ()
            self.hear(self.story.say, text, *called, faults=faults, usage=usage)

    @rule(pick=st.integers(0, 30))
    def the_model_is_away(self, pick: int) -> None:
        if self.thinks and pick < len(self.thinks):
            thought = self.thinks[-1 - pick]
            self.hear(self.story.no_thought, thought.thought_id, thought.kind)

    @rule(answer=ANSWERS, back=st.sampled_from([0, 0, 0, 1]))
    def somebody_answers(self, answer: Answer, back: int) -> None:
        if self.chain.requests:
            answer = msgspec.structs.replace(answer, kind=self.chain.requests[0].kind)
        before = self.chain
        self.hear(self.story.give, answer, f"c.r{self.chain.asked - back}")
        if answer.decision is Choice.REPHRASE and not answer.text.strip():
            assert self.chain is before

    @rule(seconds=st.sampled_from([0, 0, 1, 5]), expired=st.sampled_from([(), (), ("c.r1",)]))
    def time_passes(self, seconds: int, expired: tuple[str, ...]) -> None:
        self.hear(self.story.due, *expired, at=self.story.now + seconds * 1000)

    @rule(really=st.sampled_from([False] * 15 + [True]))
    def somebody_cancels(self, really: bool) -> None:
        if really:
            self.hear(self.story.cancel)

    @rule(really=st.sampled_from([False] * 7 + [True]), pick=st.integers(0, 20), end=st.sampled_from(["", "/reply"]))
    def a_message_is_lost(self, really: bool, pick: int, end: str) -> None:
        """Only what the chain waits for ends it: a thought or an order of before does not."""
        before = self.chain
        waits = {self.chain.thought, *(think.thought_id for think in self.thinks if self.is_awaited(think))}
        earlier = [think.thought_id + end for think in self.thinks if think.thought_id not in waits]
        acting = {one.id for one in self.chain.actions.values() if one.status is ActionStatus.DISPATCHED}
        done = [one.action for one in self.dispatches if one.action.id not in acting]
        earlier += [f"{one.id}/{one.attempt}/done" for one in done] + ["garbage"]
        self.hear(self.story.lose, earlier[pick % len(earlier)])
        assert self.chain is before
        if really and self.dispatches:
            action = self.dispatches[-1].action
            rest = self.chain.resting.get(action.id)
            waits_for_it = self.chain.actions.get(action.id) == action and (rest is None or not rest.until)
            self.hear(self.story.lose, f"{action.id}/{action.attempt}/done")
            assert self.chain.status.final or not waits_for_it

    def is_awaited(self, think: Think) -> bool:
        index = self.chain.graph.index.get(think.step_id or "")
        if index is None or self.chain.status.final:
            return False
        run = self.chain.runs[index]
        asked = run.thinking and not run.here and run.status is StepStatus.IN_PROGRESS
        return asked and (think.turn, think.attempt) == (run.turn + 1, run.attempt)

    @rule(pick=st.integers(0, 200))
    def anything_comes_again(self, pick: int) -> None:
        received, _ = self.story.log[pick % len(self.story.log)]
        self.hear(self.story.hear, received.message, received.body)

    # ---- what always holds

    @invariant()
    def one_final_state_and_one_final_fact(self) -> None:
        chain = self.chain if hasattr(self, "story") else None
        if chain is not None:
            assert len(self.finals) == int(chain.status.final)
            assert (next_due(chain) == 0) == chain.status.final
            assert next_due(chain) <= chain.deadline

    @invariant()
    def a_live_chain_waits_for_something_and_for_no_more_than_its_cap(self) -> None:
        chain = self.chain if hasattr(self, "story") else None
        if chain is None or chain.status.final:
            return
        running = [action for action in chain.actions.values() if action.status is ActionStatus.DISPATCHED]
        asking = [action for action in chain.actions.values() if action.status is ActionStatus.ASKING]
        thinking = [run for run in chain.runs if run.thinking and not run.here]
        own = chain.thought is not None
        assert len(running) + own + len(chain.requests) + sum(run.status is not StepStatus.WAITING for run in thinking)
        assert len(running) + len(asking) + len(thinking) + own <= (chain.task.parallel or 1)
        assert (chain.status in WAITING.values()) == bool(chain.requests) == (chain.resume is not None)
        if chain.requests:
            assert chain.status is WAITING[chain.requests[0].kind]
        assert len(asking) <= len(chain.requests)

    @invariant()
    def nothing_is_used_up_twice_or_overshot(self) -> None:
        chain = self.chain if hasattr(self, "story") else None
        if chain is None:
            return
        budget = chain.task.budget
        dispatched = {dispatch.action.id for dispatch in self.dispatches}
        assert not dispatched & self.asked_for_input
        assert chain.actions_used == len(dispatched | self.asked_for_input)
        assert chain.turns == sum(think.step_id is not None for think in self.thinks)
        assert chain.turns <= min(budget.turns or 99, POLICY.max_chain_turns)
        assert chain.actions_used <= (budget.actions or 99)
        assert len(self.answered) == len(set(self.answered))
        assert all(run.proposals <= POLICY.max_turns for run in chain.runs)

    @invariant()
    def a_completed_tool_step_has_its_receipts_and_no_more_is_remembered_than_needed(self) -> None:
        chain = self.chain if hasattr(self, "story") else None
        if chain is None or chain.plan is None:
            return
        assert forget(chain) == chain
        for step, run in zip(chain.plan.steps, chain.runs, strict=True):
            if run.status is StepStatus.COMPLETED:
                kept = run.receipts == (1 << len(step.required_tools)) - 1
                assert kept or mode(chain.task, step) is not Mode.STRICT
                assert kept or run.unkept or mode(chain.task, step) is Mode.OFF
            assert not run.unkept or mode(chain.task, step) is Mode.ADVISORY

    def teardown(self) -> None:
        chain = self.chain if hasattr(self, "story") else None
        if chain is not None:
            first, log, world = self.story.first, self.story.log, self.story.world
            assert fold(first, log, world) == chain
            everything_twice = [entry for entry in log for _ in range(2)]
            assert fold(first, everything_twice, world) == chain
            self.hear(self.story.due, at=chain.deadline)
            assert self.chain.status.final


Chains.TestCase.settings = settings(
    max_examples=200, stateful_step_count=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestChains = Chains.TestCase
