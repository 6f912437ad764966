"""How people are asked (CONTRACT B3): the chain stops at once, and nothing goes out until the answer is here."""

from dataclasses import replace
from typing import Any

from haltpoint.chain.outputs import Ask, Record
from haltpoint.chain.state import WAITING, Action, ActionStatus, OpenRequest, StepStatus
from haltpoint.chain.work import Work
from haltpoint.contracts.base import request_id
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.humans import RequestKind
from haltpoint.contracts.reasons import Reason, Source
from haltpoint.contracts.thoughts import Strike
from haltpoint.contracts.tools import Option


def next_request(work: Work) -> str:
    """The id that the chain's next question will have."""
    return request_id(work.chain.id, work.asked + 1)


def ask(
    work: Work,
    kind: RequestKind,
    index: int | None,
    question: str,
    *,
    action: Action | None = None,
    arguments: str = "",
    options: tuple[Option, ...] = (),
    form: dict[str, Any] | None = None,
    tool: str = "",
    preview: str | None = None,
    priority: str | None = None,
    seconds: float | None = None,
    strikes: tuple[Strike, ...] = (),
    reasons: tuple[Reason, ...] = (),
    sources: dict[str, Source] | None = None,
) -> None:
    """Open a request about a step (None: about the plan) and stop the chain, which keeps the state before it.

    No other request is open then. `arguments` are those of the call that is asked about. `seconds` until it expires:
    the policy's at most, and never past the chain's deadline.
    """
    name, number = next_request(work), work.asked + 1
    patience = work.world.policy.request_timeout
    deadline = work.now + int(min(patience, patience if seconds is None else seconds) * 1000)
    about = "" if action is None else action.id
    wanted = tool if action is None else action.tool
    place = -1 if index is None else index
    request = OpenRequest(number, kind, place, about, min(work.chain.deadline, deadline), options, form, wanted)
    work.resume = work.status
    work.requests = (*work.requests, request)
    work.status, work.asked = WAITING[kind], number
    work.outputs.append(Ask(request, question, wanted, arguments, preview, priority, strikes, reasons, sources or {}))
    told = {} if index is None else {"step_id": work.steps[index].id}
    action_told = {} if action is None else {"action_id": action.id}
    work.tell(FactType.REQUEST_OPENED, request_id=name, kind=kind.value, **told, **action_told)
    work.tell(FactType.CHAIN_STOPPED, **told, request_id=name, reason=kind.value)


def ask_for_input(work: Work, action: Action, arguments: dict[str, Any]) -> None:
    """AskHuman (I4): the action is written down, and a person's answer will be its receipt."""
    index = action.step
    asking = replace(action, status=ActionStatus.ASKING)
    work.keep(asking)
    work.outputs.append(Record(asking))
    work.move(index, replace(work.run(index), status=StepStatus.WAITING))
    words = (str(title) for title in arguments.get("options") or ())
    options = tuple(Option(id=str(number), title=title) for number, title in enumerate(words, 1))
    context = arguments.get("context")
    ask(
        work,
        RequestKind.INPUT,
        index,
        str(arguments.get("question", "")),
        action=asking,
        arguments=asking.arguments,
        options=options,
        form=arguments.get("schema"),
        preview=None if context is None else str(context),
        priority=arguments.get("priority"),
        seconds=arguments.get("timeout"),
    )
