"""A random chain and random events for it: what is under way ends in any order and any way, and
much of it comes twice.

Each event is drawn from what is under way just then, so a walk gets far: to several questions,
rests and approvals.
"""

import json
from collections.abc import Iterator
from random import Random
from typing import Final

from msgspec.structs import replace

from haltpoint.chain.checks.core_tools import HUMAN_SPEC
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.outputs import Dispatch, StartChild
from haltpoint.chain.model.state import Action, Chain, next_due
from haltpoint.chain.model.statuses import ActionStatus
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import JsonObject, child_report_id
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.events import ToolCompleted
from haltpoint.contracts.people.answerers import Answerers, OnTimeout
from haltpoint.contracts.people.humans import Choice, Question, RequestKind
from haltpoint.contracts.policy import Treatment
from haltpoint.contracts.results import (
    ErrorInfo,
    ErrorType,
    Metadata,
    Outcome,
)
from haltpoint.contracts.tools import ASK_HUMAN, Recovery, Retry
from haltpoint.contracts.work.bounds import Bounds
from haltpoint.contracts.work.plans import OnFailure, Plan, ProposedCall, Step, StepType
from haltpoint.contracts.work.tasks import Budget, Mode, Style, Task
from haltpoint.contracts.work.thoughts import Proposal, ThoughtKind
from tests.support.builders import (
    COMPLETE,
    OK,
    asks,
    call,
    confirms,
    failed,
    fails_with,
    owing,
    plan,
    spec,
    tool_step,
    writing,
)
from tests.unit.chain.story import Story

TO: Final = {"type": "object", "properties": {"to": {"type": "string"}}}
ID: Final = {"type": "object", "properties": {"id": {"type": "string"}}}
RETRY: Final = Recovery(retry=Retry(attempts=3, first=1.0, most=5.0))
SENDS: Final = plan(tool_step("x", call("send", to="ann")))
TOOLS: Final = (
    spec("read", recovery=RETRY),
    spec("look"),
    spec("find", may_clarify=True),
    writing("send", parameters=TO),
    writing("save", idempotent=True, recovery=RETRY),
    writing("pay", recovery=Recovery(reconciles=True), parameters=TO, targets=("to",)),
    writing("drop", destructive=True),
    writing("give", parameters=ID, provenance={"id": ("read.id",)}),
    writing("skill", plan=SENDS),
    writing("watched", hooks=("h",), plan=SENDS),
    spec("reader", plan=plan(tool_step("x", call("read")))),
    HUMAN_SPEC,
)
OTHERS: Final = (
    writing("book", parameters=TO),
    writing("text", parameters=TO),
)
SPECS: Final = {tool.name: tool for tool in (*TOOLS, *OTHERS)}
TROUBLED: Final = ("book", "text", "send", "read", "look")
"""The tools of chains in which messages are lost, tools go away, and budgets are small."""

QUICK: Final = ("read", "look", "find")
"""Tools that may run side by side in one step."""

SAID: Final = {
    RequestKind.CLARIFICATION: (
        {"decision": Choice.SELECT},
        {"decision": Choice.NONE, "text": "no"},
    ),
    RequestKind.CONFIRMATION: (
        {"decision": Choice.APPROVE},
        {"decision": Choice.APPROVE},
        {"decision": Choice.REJECT, "text": "no"},
        {"decision": Choice.APPROVE, "arguments": {"to": "zed"}},
    ),
    RequestKind.INPUT: ({"decision": Choice.ANSWER, "text": "words"},),
    RequestKind.ESCALATION: (
        {"decision": Choice.RETRY},
        {"decision": Choice.CONTINUE},
        {"decision": Choice.REPHRASE, "text": "send it"},
        {"decision": Choice.MANUAL, "text": "words", "value": {"id": "u1"}},
    ),
    RequestKind.LEAVE_OUT: (
        {"decision": Choice.ACCEPT},
        {"decision": Choice.INSIST, "text": "do it"},
    ),
    RequestKind.IN_DOUBT: (
        {"decision": Choice.HAPPENED},
        {"decision": Choice.NOT_HAPPENED},
        {"decision": Choice.FAILED},
    ),
}
READINGS: Final = (
    None,
    Bounds(optional_tools=("send", "save", "pay")),
    Bounds(required_tools=("send",), conditions=("at most two",)),
    Bounds(ask_before=("send", "skill")),
)


MISSING: Final = ProposedCall(
    tool="look", arguments={"n": {"$from": "a.data.missing"}}, optional=True
)
WIDE: Final[JsonObject] = {"goal": "send it", "parallel": 5}


def _each(*tools: str) -> Plan:
    """Steps a, b, c, each of which has to call one of these tools."""
    return Plan(steps=tuple(owing(name, tool) for name, tool in zip("abc", tools, strict=True)))


def _behind(name: str, *calls: ProposedCall) -> Step:
    """A literal step behind step a."""
    required = tuple(sorted({one.tool for one in calls if not one.optional}))
    return Step(id=name, dependencies=("a",), required_tools=required, actions=calls)


LEFT_OUT: Final = plan(
    tool_step("a", call("find")),
    _behind("b", MISSING, call("read"), call("look")),
    _behind("c", MISSING, MISSING, call("read")),
)
THEMES: Final[tuple[tuple[Task, Plan | None, Policy, str], ...]] = (
    (Task(**WIDE), _each("skill", "find", "find"), Policy(), "asks"),
    (Task(**WIDE), _each("look", "read", "give"), Policy(strikes=1, actions_per_turn=2), "denied"),
    (Task(plan=LEFT_OUT, **WIDE), None, Policy(), "fails"),
    (Task(**WIDE), _each("pay", "read", "pay"), Policy(strikes=9), "lists"),
)
"""Tasks with drafted plans in which what is rare alone comes together: a person is asked about a
skill while other steps ask, too; a step is before a person while another one fails the chain; calls
run behind those that were left out; a card lists several calls.
"""


ASKED: Final = plan(tool_step("a", call("send", to="ann"), on_failure=OnFailure.CONTINUE))
TROUBLES: Final[tuple[tuple[Task, Plan | None, Policy, str], ...]] = (
    (Task(plan=ASKED, **WIDE), None, Policy(), "asks"),
    (Task(budget=Budget(turns=3), **WIDE), _each("send", "read", "look"), Policy(), "words"),
)
"""The same for chains in trouble: a person asked about a call whose tool goes away; words in place
of calls, beside a call, until no turn is left.
"""


def random_tools(r: Random) -> tuple[str, ...]:
    """The tools of one chain: with few of them what needs two of a kind happens often."""
    few = tuple(r.sample([one.name for one in TOOLS], r.choice([2, 3, 4])))
    return r.choice(
        [few, few, tuple(one.name for one in TOOLS), ("skill", "find"), ("give", "read", "look")]
    )


def random_call(r: Random, tools: tuple[str, ...]) -> ProposedCall:
    """A call of any of the tools; equal ones are common."""
    name = r.choice(tools)
    if name == ASK_HUMAN:
        return call(name, question=r.choice(["What?", "Who?"]), **r.choice([{}, {"default": "u1"}]))
    if SPECS[name].parameters is TO:
        return call(name, to=r.choice(["ann", "bo", "cid"]))
    if name == "give":
        return call(name, id=r.choice(["u1", "u2"]))
    return call(name, **({"n": r.randrange(4)} if r.random() < 0.8 else {}))


def random_policy(r: Random) -> Policy:
    """Few turns and strikes, so that their ends are reached."""
    return Policy(
        max_turns=r.choice([2, 4]),
        actions_per_turn=r.choice([1, 2, 5]),
        strikes=r.choice([1, 1, 3]),
        unasked_effects=r.choice([Treatment.ALLOW, Treatment.ASK]),
        max_actions=r.choice([6, 50]),
    )


def _literal_step(r: Random, tools: tuple[str, ...], common: JsonObject) -> Step:
    calls = [
        replace(random_call(r, tools), optional=r.random() < 0.2) for _ in range(r.randrange(1, 4))
    ]
    if common["dependencies"] and r.random() < 0.5:
        wanted = {"n": {"$from": f"{common['dependencies'][0]}.data.{r.choice(['id', 'missing'])}"}}
        calls.insert(
            r.randrange(len(calls) + 1), ProposedCall(tool="look", arguments=wanted, optional=True)
        )
    required = tuple(sorted({one.tool for one in calls if not one.optional}))
    kind = StepType.TOOL if required else StepType.REASONING
    return Step(actions=tuple(calls), required_tools=required, step_type=kind, **common)


def random_steps(r: Random, tools: tuple[str, ...], *, literal: bool) -> Plan:
    """Up to six steps, most of which wait for none."""
    ids = "abcdef"[: r.randrange(1, 7)]
    steps: list[Step] = []
    for number, name in enumerate(ids):
        common: JsonObject = {
            "id": name,
            "dependencies": tuple(one for one in ids[:number] if r.random() < 0.2),
            "on_failure": r.choice(list(OnFailure)),
        }
        if literal:
            more = {
                "parallel": r.choice([None, None, 1, 3]),
            }
            steps.append(_literal_step(r, tools, common | more))
        else:
            wanted = tuple(sorted({random_call(r, tools).tool for _ in range(r.randrange(1, 3))}))
            open_ended = r.random() < 0.4
            steps.append(
                Step(
                    **common,
                    **({"allowed_tools": QUICK} if open_ended else {"required_tools": wanted}),
                )
            )
    return Plan(steps=tuple(steps))


def random_trouble(r: Random) -> JsonObject:
    """A small budget."""
    turns, actions = r.choice([(None, None), (2, None), (3, None), (None, 3)])
    return {"budget": Budget(turns=turns, actions=actions)}


def random_task(r: Random, tools: tuple[str, ...], more: JsonObject) -> Task:
    """A literal plan, or a goal that a model plans for, or an open-ended one."""
    kind = r.choice(["literal", "drafted", "drafted", "react"])
    how: JsonObject = {
        "parallel": r.choice([None, 2, 3, 5, 5]),
        "mode": r.choice([Mode.STRICT, Mode.STRICT, Mode.ADVISORY, Mode.OFF]),
        **more,
    }
    if kind == "literal":
        return Task(goal="send it", plan=random_steps(r, tools, literal=True), **how)
    return Task(goal="send it", style=Style.REACT if kind == "react" else Style.PLAN, **how)


class Walk:
    """The events of one chain. A `mood` makes one kind of outcome common, so that several steps ask
    or rest at once.
    """

    def __init__(self, seed: int) -> None:
        self.r = Random(seed)
        self.troubled = seed % 4 == 1
        self.tools = TROUBLED if self.troubled else random_tools(self.r)
        task = random_task(self.r, self.tools, random_trouble(self.r) if self.troubled else {})
        policy = random_policy(self.r)
        self.drafted: Plan | None = None
        self.mood = self.r.choice(["fine", "asks", "rests", "fails"])
        if seed % 4 == 0:
            task, self.drafted, policy, self.mood = self.r.choice(THEMES)
        elif seed % 8 == 1:
            task, self.drafted, policy, self.mood = self.r.choice(TROUBLES)
        self.story = Story(task, *TOOLS, *(OTHERS if self.troubled else ()), policy=policy)
        self.repeat = False
        """Whether the last event had come before, or is of a call that has ended."""
        self.lost: set[str] = set()
        """The calls that never end: their message is lost."""
        self.gone = False
        """Whether tools have gone away meanwhile."""
        self._orders: dict[str, Dispatch | StartChild] = {}
        self._thoughts: dict[str, ThoughtRequest] = {}

    @property
    def chain(self) -> Chain:
        """The chain by now."""
        return self.story.chain

    def under_way(self) -> Iterator[Action | ThoughtRequest | Question]:
        """What may end next: calls that a worker or a child has, thoughts that are awaited, and
        questions.
        """
        for action in self.chain.actions.values():
            rest = self.chain.resting.get(action.id)
            away = action.id in self.lost or (rest is not None and rest.until)
            if action.status is ActionStatus.DISPATCHED and not away:
                yield action
        work = Work.on(self.chain, "", self.story.world, self.story.now)
        for name, thought in self._thoughts.items():
            if name == work.thought or any(work.awaits(index, name) for index in work.active):
                yield thought
        yield from self.chain.requests

    def step(self) -> None:
        """One event."""
        r, found, self.repeat = self.r, list(self.under_way()), False
        dice = r.random()
        if not self.story.log:
            self.story.submit(read=False)
        elif dice < 0.07:
            received, _ = r.choice(self.story.log)
            self.repeat = True
            self.story.hear(received.message, received.body)
        elif dice < 0.08:
            self.story.cancel()
        elif dice < 0.11 and self.chain.requests:
            expired = r.choice(self.chain.requests)
            self.story.due(
                expired.request_id,
                at=max(self.story.now, expired.deadline + 1),
            )
        elif dice < 0.14 and (
            ended := [one.action for one in self._orders.values() if self._has_ended(one.action)]
        ):
            late = r.choice(ended)
            outcome = self._outcome(late)
            doubts = [
                one.action_id for one in self.chain.requests if one.kind is RequestKind.IN_DOUBT
            ]
            is_doubt = outcome.error and outcome.error.error_type is ErrorType.IN_DOUBT
            self.repeat = late.id not in doubts or bool(is_doubt)  # else it settles the doubt
            self.story.result(outcome, '{"id": "late"}', late)
        elif not found or (self.chain.resting and dice < 0.3):
            self.story.due(at=max(self.story.now, next_due(self.chain)))
        elif (
            self.troubled
            and dice < 0.34
            and (calls := [one for one in found if isinstance(one, Action)])
        ):
            self._lose(r.choice(calls))
        else:
            match r.choice(found):
                case Action() as action:
                    self._result(action)
                case ThoughtRequest() as thought:
                    self._reply(thought)
                case Question() as request:
                    self._answer(request)
        for output in self.story.last.outputs if not self.repeat else ():
            if isinstance(output, Dispatch | StartChild):
                self._orders[output.action.id] = output
            elif isinstance(output, ThoughtRequest):
                self._thoughts[output.thought_id] = output

    def _has_ended(self, action: Action) -> bool:
        now = self.chain.actions.get(action.id)
        return now is None or now.status is not ActionStatus.DISPATCHED

    def _lose(self, action: Action) -> None:
        self.lost.add(action.id)
        order = f"{action.id}/{action.attempt}"
        self.story.lose(
            child_report_id(action.id) if action.child else self.r.choice([order, f"{order}/done"])
        )

    def _result(self, action: Action) -> None:
        if action.child:
            done = ToolCompleted.Data(
                action_id=action.id, outcome=self.r.choice([OK, OK, failed()])
            )
            report = ToolCompleted(
                id=child_report_id(action.id), source="t", subject=self.chain.id, data=done
            )
            self.story.hear(report, '{"id":"u1"}')
            return
        outcome = self._outcome(action)
        admitted = SPECS[action.tool].plan is not None and outcome is OK
        self.story.result(
            outcome, json.dumps({"arguments": {}} if admitted else {"id": "u1"}), action
        )

    def _outcome(self, action: Action) -> Outcome:
        r, tool, order = self.r, SPECS[action.tool], self._orders[action.id]
        if isinstance(order, Dispatch) and order.reconcile:
            unknown = failed(ErrorType.IN_DOUBT)
            did_not = fails_with(ErrorInfo(ErrorType.IN_DOUBT, "it did not", no_effect=True))
            return replace(r.choice([OK, did_not, unknown]), metadata=Metadata(reconciled=True))
        passing = r.choice([ErrorType.RATE_LIMIT, ErrorType.SERVER])
        again = fails_with(ErrorInfo(passing, "it broke"), again=True)
        doubt = failed(ErrorType.IN_DOUBT if not tool.read_only else ErrorType.NOT_FOUND)
        answerers = Answerers(on_timeout=r.choice(list(OnTimeout)), escalate_to="board")
        reasons = order.reasons if isinstance(order, Dispatch) else ()
        sure = confirms(digest="d" * 12, answerers=answerers, reasons=reasons)
        questions = [asks("x", "y"), sure]
        usual = [
            OK,
            OK,
            OK,
            OK,
            COMPLETE,
            *questions,
            again,
            doubt,
            failed(),
        ]
        moods = {
            "fine": [OK] * 5,
            "asks": questions * 6,
            "rests": [again, doubt] * 6,
            "fails": [failed()] * 5,
        }
        moods["lists"] = [sure] * 6 if reasons else [OK] * 5
        moods["denied"], moods["words"] = [failed(ErrorType.PERMISSION)] * 20, []
        if self.troubled and action.tool == "text" and r.random() < 0.6:
            down = ErrorInfo(ErrorType.SERVER, "it is down", no_effect=True)
            return replace(failed(ErrorType.SERVER), error=down, metadata=Metadata(again=True))
        return r.choice([*usual, *moods[self.mood]])

    def _reply(self, thought: ThoughtRequest) -> None:
        r, story = self.r, self.story
        if r.random() < 0.02:
            story.no_thought(thought.thought_id, thought.kind)
        elif thought.kind is ThoughtKind.PLAN:
            drafted, read = random_steps(r, self.tools, literal=False), r.choice(READINGS)
            if self.drafted is not None:
                drafted, read = self.drafted, READINGS[-1]
            story.draft(drafted, bounds=read, thought=thought)
        elif thought.kind is ThoughtKind.BOUNDS:
            story.hear_bounds(thought.thought_id, r.choice(READINGS))
        elif thought.kind is ThoughtKind.ANSWER:
            story.say(r.choice(["done", "I have sent it.", ""]), thought=thought)
        else:
            story.take(self._proposal(thought), thought=thought)

    def _proposal(self, thought: ThoughtRequest) -> Proposal:
        r, dice = self.r, self.r.random()
        if self.drafted is not None and dice < 0.8:
            if self.mood == "words" and dice < 0.4:
                return Proposal(content="It is done.")
            step = self.chain.graph.index[thought.step_id or ""]
            tools = self.drafted.steps[step].required_tools
            several = r.randrange(2, 5) if self.mood == "lists" else 1
            return Proposal(calls=tuple(random_call(r, tools) for _ in range(several)))
        if dice < 0.4:
            return Proposal(calls=tuple(random_call(r, QUICK) for _ in range(r.randrange(1, 6))))
        if dice < 0.8:
            return Proposal(
                calls=tuple(random_call(r, self.tools) for _ in range(r.randrange(1, 4)))
            )
        if dice < 0.86:
            return Proposal(content=r.choice(["It is done.", "What now?"]))
        if dice < 0.9:
            return Proposal(calls=(call("end_step", outcome="impossible", reason="I give up."),))
        return Proposal(calls=(call("nonsense"), random_call(r, self.tools)))

    def _answer(self, request: Question) -> None:
        if self.troubled and request.tool and self.r.random() < 0.3:
            self.gone = True
            self.story.without(request.tool)
        said = self.r.choice(SAID[request.kind])
        option = (
            request.options[0].id
            if request.options and request.kind is RequestKind.CLARIFICATION
            else None
        )
        self.story.answer(request.kind, option=option, request=request.request_id, **said)
