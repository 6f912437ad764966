"""How people are asked (CONTRACT B3): the chain stops at once, and an answer frees the step that
asked. A question of the model in words is one to a person, as askHuman would put it (C11).
"""

import re
from typing import Any, Final

from msgspec import structs

from haltpoint.chain.checks import ledger
from haltpoint.chain.checks.agents import hand_on_fault
from haltpoint.chain.checks.knowledge import users_goal
from haltpoint.chain.model.outputs import Record, Withdraw
from haltpoint.chain.model.state import WAITING, Action
from haltpoint.chain.model.statuses import ActionStatus, StepStatus
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.calling import drop_held
from haltpoint.contracts.base import Strings, request_id
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.answerers import OnTimeout
from haltpoint.contracts.people.humans import Question, RequestKind
from haltpoint.contracts.results import Option
from haltpoint.contracts.work.routing import ROUTE

QUESTION: Final = re.compile(r"[?？؟][\s\"'”’»)*_]*\Z")
"""The end of a text whose last sentence is a question."""


def question(
    work: Work,
    kind: RequestKind,
    index: int | None,
    text: str,
    *,
    seconds: float | None = None,
    **shown: Any,
) -> Question:
    """The chain's next question, about a step (None: about the plan). `shown` is what people see
    beside it. `seconds` until it expires: the policy's at most, never past the chain's deadline.
    """
    most = work.world.policy.request_timeout
    patience = min(seconds or most, most)
    return Question(
        request_id=request_id(work.id, work.asked + 1),
        kind=kind,
        question=text,
        step_id="" if index is None else work.steps[index].id,
        path=work.task.path,
        asked_at=work.now,
        deadline=min(work.deadline, work.now + int(patience * 1000)),
        **shown,
    )


def ask_about_call(
    work: Work, kind: RequestKind, action: Action, text: str, **shown: Any
) -> Question:
    """The question of a call to a person: their answer will be its receipt, or has it run."""
    work.keep(structs.replace(action, status=ActionStatus.ASKING))
    shown.setdefault("arguments", action.ran)
    return question(
        work,
        kind,
        action.step,
        text,
        action_id=action.id,
        tool=action.tool,
        sources=action.told.sources,
        **shown,
    )


def ask_in_place(
    work: Work, kind: RequestKind, action: Action, text: str, **shown: Any
) -> Question:
    """The question of a call that goes to no worker."""
    work.begin(action)
    asked = ask_about_call(work, kind, action, text, **shown)
    work.outputs.append(Record(work.actions[action.id]))
    return asked


def ask_human(work: Work, action: Action, arguments: dict[str, Any]) -> Question:
    """A call of askHuman (I4)."""
    work.tell_action(FactType.ACTION_DISPATCHED, action)
    words = arguments.get("options", ())
    options = [Option(str(number), str(title)) for number, title in enumerate(words, 1)]
    return ask_in_place(
        work,
        RequestKind.INPUT,
        action,
        arguments["question"],
        options=tuple(options),
        form=arguments.get("schema"),
        seconds=arguments.get("timeout"),
        priority=arguments.get("priority"),
    )


def takers(work: Work) -> Strings:
    """The agents that may get the task."""
    spec = work.world.tools.get(ROUTE)
    if spec is None or hand_on_fault(work, ROUTE) is not None:
        return ()
    return tuple(spec.parameters["properties"]["target_agent"]["enum"])


def ask_who(work: Work, index: int, why: str) -> Question:
    """The question to a person who works on the task, which a supervisor has not decided."""
    names = takers(work)
    agents = [agent for agent in work.world.agents.choices if agent.name in names]
    options = tuple([Option(agent.name, agent.name, agent.description) for agent in agents])
    text = f"{why.rstrip('.')}. Who works on this: {users_goal(work)}"
    kind = RequestKind.CLARIFICATION
    return question(work, kind, index, text, options=options, strikes=work.row.case)


def ask_next(work: Work, request: Question) -> Question:
    """A question that got no answer, put to the group that its rule names next, for as long as
    before (G4).
    """
    group = (request.answerers.escalate_to,)
    patience = request.deadline - request.asked_at
    return structs.replace(
        request,
        request_id=request_id(work.id, work.asked + 1),
        answerers=structs.replace(
            request.answerers, to=group, on_timeout=OnTimeout.FAIL, escalate_to=""
        ),
        asked_at=work.now,
        deadline=min(work.deadline, work.now + patience),
    )


def ask(work: Work, request: Question) -> None:
    """Open a request and stop the chain, which keeps the state before it. A waiting state is the
    oldest request's. The calls of a model that are held behind it are dropped (B3), but for those
    that a card lists.
    """
    if not work.requests:
        work.resume = work.status
        work.status = WAITING[request.kind]
    work.requests = (*work.requests, request)
    work.asked += 1
    for freed in work.active:  # a new question stops all steps, also those that were answered
        if work.run[freed].freed:
            work.edit(freed).freed = False
    index = work.graph.index.get(request.step_id)
    if index is not None:
        work.edit(index).status = StepStatus.WAITING
        if not work.is_literal and work.run[index].taken >= work.run[index].listed:
            drop_held(work, index, "a person was asked first")
    work.outputs.append(request)
    work.tell(
        FactType.REQUEST_OPENED,
        index,
        action_id=request.action_id or None,
        request_id=request.request_id,
        kind=request.kind.value,
    )


def close(work: Work, request: Question, fact: FactType, **told: Any) -> None:
    """A question is open no more: it was answered, it has expired, or it is taken back."""
    work.requests = tuple(other for other in work.requests if other is not request)
    work.tell(fact, request_id=request.request_id, **told)


def free(work: Work, request: Question) -> None:
    """Free the step of a closed question when it asks nothing else (B3)."""
    index = work.graph.index.get(request.step_id)
    asks = {asked.step_id for asked in work.requests}
    if index is not None and request.step_id not in asks:
        run = work.edit(index)
        run.status = StepStatus.IN_PROGRESS
        run.thinking = False
        run.freed = True
    resume(work, index, request_id=request.request_id)


def resume(work: Work, index: int | None = None, **told: Any) -> None:
    """When no question is open, the chain takes up the state before them, unless it fails."""
    if work.requests:
        work.status = WAITING[work.requests[0].kind]
    elif work.resume is not None and work.failing is None:
        work.status = work.resume
        work.resume = None
        work.tell(FactType.CHAIN_RESUMED, index, **told)


def withdraw_one(work: Work, request: Question, reason: str) -> None:
    """Ask no more."""
    work.outputs.append(Withdraw(request.request_id, reason))
    close(work, request, FactType.REQUEST_WITHDRAWN, reason=reason)


def withdraw(work: Work, reason: str, step_id: str = "") -> None:
    """Take back the questions of a step that is over, or all; what they were about never runs."""
    for request in work.requests:
        if step_id in ("", request.step_id):
            withdraw_one(work, request, reason)
            action = work.actions.get(request.action_id)
            if action is not None:
                ledger.settle(work, action)
                work.keep(structs.replace(action, status=ActionStatus.DONE))
