"""How people are asked (CONTRACT B3): the chain stops at once, and an answer frees the step that
asked. A question of the model in words is one to a person, as askHuman would put it (C11).
"""

import re
from typing import Any, Final

from msgspec import structs

from haltpoint.chain.checks import ledger
from haltpoint.chain.model.outputs import Record, Withdraw
from haltpoint.chain.model.state import WAITING, Action
from haltpoint.chain.model.statuses import ActionStatus, StepStatus
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import request_id
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import Question, RequestKind
from haltpoint.contracts.results import Option

LONGEST_QUESTION: Final = 4000
"""Characters of a question; of longer words the end is asked."""

_QUESTION: Final = re.compile(r"[?？؟][\s\"'”’»)*_]*\Z")


def question(
    work: Work,
    kind: RequestKind,
    index: int | None,
    text: str,
    action: Action | None = None,
    *,
    tool: str = "",
    seconds: float | None = None,
    **shown: Any,
) -> Question:
    """The chain's next question, about a step (None: about the plan). `action` waits for the
    answer; `shown` is what people see beside it. `seconds` until it expires: the policy's at most,
    never past the chain's deadline.
    """
    patience = work.world.policy.request_timeout
    if seconds is not None:
        patience = min(patience, seconds)
    return Question(
        request_id=request_id(work.id, work.asked + 1),
        kind=kind,
        question=text,
        step_id="" if index is None else work.steps[index].id,
        action_id="" if action is None else action.id,
        tool=tool if action is None else action.tool,
        path=work.task.path,
        asked_at=work.now,
        deadline=min(work.deadline, work.now + int(patience * 1000)),
        **shown,
    )


def ask_about_call(
    work: Work, kind: RequestKind, action: Action, text: str, **shown: Any
) -> Question:
    """The question of a call to a person: their answer will be its receipt, or has it run."""
    asking = action.asking()
    work.keep(asking)
    shown.setdefault("arguments", action.arguments)
    return question(work, kind, action.step, text, asking, **shown)


def ask_for_input(work: Work, action: Action, arguments: dict[str, Any]) -> Question:
    """AskHuman (I4): the action is written down, and a person's answer will be its receipt."""
    work.outputs.append(Record(action.asking()))
    words = arguments.get("options", ())
    options = [Option(id=str(number), title=str(title)) for number, title in enumerate(words, 1)]
    return ask_about_call(
        work,
        RequestKind.INPUT,
        action,
        arguments["question"],
        options=tuple(options),
        form=arguments.get("schema"),
        seconds=arguments.get("timeout"),
        priority=arguments.get("priority"),
    )


def ask(work: Work, request: Question) -> None:
    """Open a request and stop the chain, which keeps the state before it. A waiting state is the
    oldest request's.
    """
    index = work.graph.index.get(request.step_id)
    if not work.requests:
        work.resume, work.status = work.status, WAITING[request.kind]
    work.requests = (*work.requests, request)
    work.asked += 1
    _stop_freed(work)
    if index is not None:
        work.edit(index).status = StepStatus.WAITING
    work.outputs.append(request)
    about = {"action_id": request.action_id} if request.action_id else {}
    about |= {"request_id": request.request_id, "kind": request.kind.value}
    work.tell(FactType.REQUEST_OPENED, index, **about)


def close(work: Work, request: Question, fact: FactType, **told: Any) -> None:
    """A question is open no more: it was answered, it has expired, or it is taken back."""
    work.requests = tuple(other for other in work.requests if other is not request)
    work.tell(fact, request_id=request.request_id, **told)


def free(work: Work, request: Question) -> None:
    """Free the step of a closed question when it asks nothing else (B3), unless the chain fails.
    When no question is open, the chain takes up the state before them.
    """
    index = work.graph.index.get(request.step_id)
    asks = {asked.step_id for asked in work.requests}
    if index is not None and work.failing is None and request.step_id not in asks:
        run = work.edit(index)
        if not run.status.done:
            run.status, run.thinking, run.freed = StepStatus.IN_PROGRESS, False, True
    if work.requests:
        work.status = WAITING[work.requests[0].kind]
        return
    work.status, work.resume = work.resume or work.status, None
    _stop_freed(work)
    work.tell(FactType.CHAIN_RESUMED, index, request_id=request.request_id)


def _stop_freed(work: Work) -> None:
    """No step continues on its own any more: a new question stops all, or none is open (B3)."""
    for index in work.active:
        if work.run[index].freed:
            work.edit(index).freed = False


def withdraw(work: Work, reason: str, step_id: str = "") -> tuple[Question, ...]:
    """Take back the questions of a step that is over, or all; what they were about never runs."""
    withdrawn = tuple(asked for asked in work.requests if step_id in ("", asked.step_id))
    for request in withdrawn:
        work.outputs.append(Withdraw(request.request_id, reason))
        close(work, request, FactType.REQUEST_WITHDRAWN, reason=reason)
        action = work.actions.get(request.action_id)
        if action is not None:
            ledger.settle(work, action)
            work.keep(structs.replace(action, status=ActionStatus.DONE))
    return withdrawn


def is_question(words: str) -> bool:
    """Whether the last sentence of a text is a question."""
    return _QUESTION.search(words) is not None


def in_short(words: str) -> str:
    """A question of a model as a person reads it."""
    return words.strip()[-LONGEST_QUESTION:]
