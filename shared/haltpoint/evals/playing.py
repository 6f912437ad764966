"""One chain of the suite from its task to its history: a client submits it, and answers as the person who knows."""

import asyncio
import json
import time
from dataclasses import dataclass, field, replace
from typing import Any, Final

from haltpoint.client import Client
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.reasons import ReasonKind
from haltpoint.contracts.views.chains import ChainView, EventView, RequestView
from haltpoint.contracts.work.tasks import Budget, Mode, Task
from haltpoint.evals.case import Case
from haltpoint.evals.history import Asked, Ended, History
from haltpoint.evals.player import CONTEXT

LATE: Final = 30.0
"""Seconds after its deadline within which a chain must have ended."""


@dataclass(slots=True)
class Person:
    """Who answers: chooses who is meant, approves what is wanted, and decides escalations as the case says."""

    case: Case
    asked: list[Asked] = field(default_factory=list)
    dispatched: set[str] = field(default_factory=set)
    decided: int = 0

    async def answer(self, client: Client, request: RequestView) -> None:
        """Answer, and remember when and how."""
        told, chosen, by_hand = self._decide(request)
        self.asked.append(
            Asked(
                request.kind,
                request.step_id,
                request.action_id,
                time.time_ns(),
                frozenset(self.dispatched),
                tuple(option.id for option in request.options),
                chosen,
                by_hand,
                json.dumps([request.tool, request.arguments], sort_keys=True),
                tuple(reason.kind for reason in request.reasons),
                told.get("decision") is Choice.APPROVE,
            )
        )
        await client.answer(request.id, **told)

    def _decide(self, request: RequestView) -> tuple[dict[str, Any], str | None, str]:
        """What is answered, the option that is taken, the tool whose work the person has done."""
        case, options = self.case, [option.id for option in request.options]
        match request.kind:
            case RequestKind.CLARIFICATION if case.target in options:
                return {"option_id": case.target}, case.target, ""
            case RequestKind.CLARIFICATION if case.routed and case.agent in options:
                return {"option_id": case.agent}, case.agent, ""
            case RequestKind.CLARIFICATION:
                return {"decision": Choice.NONE, "text": "none of them"}, None, ""
            case RequestKind.CONFIRMATION:
                again = any(reason.kind is ReasonKind.REPEAT for reason in request.reasons)
                approved = case.meant(request.tool, request.arguments) and not again
                return {"decision": Choice.APPROVE if approved else Choice.REJECT, "text": "as I said"}, None, ""
            case RequestKind.INPUT if options:
                return {"option_id": options[0]}, options[0], ""
            case RequestKind.INPUT:
                return {"decision": Choice.ANSWER, "text": "do as you were asked"}, None, ""
            case RequestKind.ESCALATION:
                return self._resolve(request)
            case _:
                return {"decision": Choice.ABORT}, None, ""

    def _resolve(self, request: RequestView) -> tuple[dict[str, Any], str | None, str]:
        """The next decision of the case; whatever cannot be done by hand is aborted, so that every chain ends."""
        decisions = self.case.decisions
        decision = decisions[min(self.decided, len(decisions) - 1)]
        self.decided += 1
        value = self.case.by_hand(request.tool) if decision is Choice.MANUAL else None
        if decision is Choice.MANUAL and value is None:
            return {"decision": Choice.ABORT}, None, ""
        if value is not None:
            return {"decision": decision, "value": value}, None, request.tool
        words = self.case.goal if decision is Choice.REPHRASE else ""
        return {"decision": decision, "text": words}, None, ""


@dataclass(slots=True)
class Routing:
    """Whom the supervisor has decided for, who worked, and how many calls came before that."""

    routed: list[str] = field(default_factory=list)
    worked: list[str] = field(default_factory=list)
    rounds: int = 0
    most: int = 0

    def hear(self, event: EventView) -> None:
        """Take down an event of the chain."""
        if event.type == "chain.routed":
            self.routed += event.details["target_agents"]
        elif event.type == "action.dispatched" and "child" in event.details:
            self.worked.append(str(event.details["tool"]))
            self.rounds = 0
        elif event.type == "action.dispatched":
            self.rounds += 1
            self.most = max(self.most, self.rounds)


async def play(client: Client, case: Case, mode: Mode, seconds: float, *, named: bool) -> History:
    """Run the case; `named` tells the model which one it is. Raises GatewayError.

    What the tools really did is still missing from the history.
    """
    context = {CONTEXT: case.id} if named else {}
    task = Task(goal=case.goal, mode=mode, style=case.style, context=context, budget=Budget(seconds=seconds))
    begun, person, routing = time.monotonic(), Person(case), Routing()
    run = await client.run(task=task)
    violating: set[str] = set()
    escalated = False
    try:
        async with asyncio.timeout(seconds + LATE):
            async for event in run.events():
                routing.hear(event)
                escalated = escalated or event.type == "chain.escalated"
                if event.type == "contract.violated":
                    violating.add(str(event.details.get("thought_id")))
                elif event.type == "action.dispatched":
                    person.dispatched.add(str(event.details["action_id"]))
                elif event.type == "request.opened":
                    await person.answer(client, await client.request(str(event.details["request_id"])))
    except TimeoutError:
        pass  # its status tells that it did not end
    chain = await client.chain(run.id)
    history = _history(chain, case, mode, person, len(violating), escalated, time.monotonic() - begun)
    return replace(history, routed=tuple(routing.routed), worked=tuple(routing.worked), rounds=routing.most)


def _history(
    chain: ChainView, case: Case, mode: Mode, person: Person, violations: int, escalated: bool, seconds: float
) -> History:
    over = chain.status in ("completed", "failed", "cancelled")
    return History(
        chain=chain.id,
        case=case,
        mode=mode,
        status=chain.status if over else "",
        answer=chain.answer.text if chain.answer else "",
        deeds=tuple((deed.action_id, deed.tool) for deed in chain.answer.deeds) if chain.answer else (),
        not_done=tuple((one.tool, one.why) for one in chain.answer.not_done) if chain.answer else (),
        dispatched=frozenset(person.dispatched),
        steps=tuple(Ended(step.id, step.status == "completed", step.required_tools) for step in chain.steps),
        asked=tuple(person.asked),
        violations=violations,
        escalated=escalated,
        seconds=seconds,
    )
