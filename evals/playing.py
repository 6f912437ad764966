"""One chain of the suite from its task to its history: a client submits it, and answers as the
person who knows.
"""

import asyncio
import time
from contextlib import suppress
from typing import Any, Final

from evals.case import Case
from evals.history import Asked, History, dispatched
from evals.kinds import CONTEXT
from haltpoint.client import Client
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.reasons import ReasonKind
from haltpoint.contracts.views.chains import EventView, RequestView
from haltpoint.contracts.work.tasks import Budget, Mode, Task

SECONDS: Final = 900.0
LATE: Final = 30.0
"""Seconds of a chain, and after its deadline within which it must have ended."""


class Person:
    """Who answers: chooses who is meant, approves what is wanted, and decides escalations as the
    case says.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        self._decisions = list(case.decisions)

    def words(self, request: RequestView) -> dict[str, Any]:
        """The answer to a question."""
        options = [option.id for option in request.options]
        wanted = [
            option for option in options if option in (self._case.target, self._case.traits.agent)
        ]
        match request.kind:
            case RequestKind.CLARIFICATION if wanted:
                return {"option_id": wanted[0]}
            case RequestKind.CLARIFICATION:
                return {"decision": Choice.NONE, "text": "none of them"}
            case RequestKind.CONFIRMATION:
                return {"decision": self._approval(request), "text": "as I said"}
            case RequestKind.INPUT if options:
                return {"option_id": options[0]}
            case RequestKind.INPUT:
                return {"decision": Choice.ANSWER, "text": self._case.says}
            case RequestKind.ESCALATION:
                return self._resolution()
            case RequestKind.LEAVE_OUT:
                return {"decision": Choice.INSIST if self._case.effects else Choice.ACCEPT}
            case _:
                return {"decision": Choice.ABORT}

    def _approval(self, request: RequestView) -> Choice:
        reasons = {reason.kind for reason in request.reasons}
        if ReasonKind.REPEAT in reasons:
            return Choice.REJECT
        meant = self._case.meant(request.tool, request.arguments)
        return Choice.APPROVE if meant else Choice.REJECT

    def _resolution(self) -> dict[str, Any]:
        """The next decision of the case; the last one stays."""
        decision = self._decisions[0]
        self._decisions = self._decisions[1:] or [decision]
        words = self._case.goal if decision is Choice.REPHRASE else ""
        return {"decision": decision, "text": words}


async def play(client: Client, case: Case, mode: Mode) -> History:
    """Run the case; its context tells the scripted model which one it is. Raises GatewayError.

    The runs of the tools are still missing from the history.
    """
    context = {CONTEXT: case.id} if case.id else {}
    budget = Budget(seconds=SECONDS)
    task = Task(goal=case.goal, mode=mode, style=case.style, context=context, budget=budget)
    begun = time.monotonic()
    person = Person(case)
    events: list[EventView] = []
    asked: list[Asked] = []
    run = await client.run(task=task)
    with suppress(TimeoutError):  # its status says that it did not end
        async with asyncio.timeout(SECONDS + LATE):
            async for event in run.events():
                events.append(event)
                if event.type == "request.opened":
                    asked.append(await _answer(client, person, event, events))
    view = await client.chain(run.id)
    return History(case, mode, view, events, asked, seconds=time.monotonic() - begun)


async def _answer(
    client: Client, person: Person, event: EventView, events: list[EventView]
) -> Asked:
    heard = time.time_ns()
    request = await client.request(str(event.details["request_id"]))
    words = person.words(request)
    answered = time.time_ns()
    await client.answer(request.id, **words)
    return Asked(request, words, heard, dispatched(events), answered)
