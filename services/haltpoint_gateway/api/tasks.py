"""Tasks: the door through which all work comes in over HTTP."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Annotated

import msgspec
from fastapi import APIRouter, Body, Request
from fastapi.responses import JSONResponse

from haltpoint.chain.checks.agents import with_agents
from haltpoint.chain.checks.bounds import OF_TOOLS
from haltpoint.chain.checks.plans import literal_faults, task_fault
from haltpoint.chain.model.limits import Tools
from haltpoint.contracts.base import Ingress, derived_chain_id, root_of
from haltpoint.contracts.people.audit import Deed
from haltpoint.contracts.people.humans import Way
from haltpoint.contracts.people.keys import Scope
from haltpoint.contracts.tools import BUILT_IN
from haltpoint.contracts.views.chains import RequestView
from haltpoint.contracts.work.bounds import EVERY
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.config.faults import nearest
from haltpoint.runtime.observability.telemetry import finish
from haltpoint.runtime.store.store import SubmitStatus, new_chain_id
from haltpoint.runtime.views.reading import OtherReleaseError
from haltpoint_gateway.answering import short_answer
from haltpoint_gateway.api.chains import Accepted, accepted, backlog_full, check_root
from haltpoint_gateway.api.requests import check_seen, seen, take_answer
from haltpoint_gateway.gateway import Gateway, Here, Submitter
from haltpoint_gateway.people.limits import count_submission
from haltpoint_gateway.people.principal import Principal
from haltpoint_gateway.problems import Problem, found, other_release
from haltpoint_gateway.queries import IdempotencyKey
from haltpoint_gateway.stars import Starred

router = APIRouter(prefix="/v1", route_class=Starred)

_ANSWERED = "The words answered the conversation's open question; `chain_id` is the root's chain."


@router.post(
    "/tasks",
    status_code=202,
    tags=["tasks"],
    response_model=Accepted,
    responses={200: {"model": RequestView, "description": _ANSWERED}},
)
async def submit(
    gateway: Here,
    task: Annotated[Task, Body()],
    who: Submitter,
    request: Request,
    idempotency_key: IdempotencyKey = None,
) -> Accepted | JSONResponse:
    """Submit a task: a goal in words, a literal plan, or both. An accepted task will reach an
    end (R1).

    In a conversation with one open question a goal that is nothing but yes, no, a number, or an
    option's id or title is the answer to it (200 with the request, whose `chain_id` is that of
    the root's chain).
    """
    if not (who.admin or task.tenant in (None, who.tenant)):
        hint = "Leave `tenant` out: the task belongs to the tenant of the key."
        detail = f"This key may not submit for the tenant {task.tenant!r}."
        raise Problem(403, "tenant_not_yours", detail, hint=hint)
    task = msgspec.structs.replace(task, tenant=task.tenant or who.tenant)
    chain_id = _chain_id(task, idempotency_key)
    # A repeat gets its first outcome, whatever has become of tools and questions meanwhile.
    if idempotency_key is None or await gateway.views.header(chain_id, who.can_see) is None:
        await _check(gateway, task)
        answered = await _answer(gateway, task, who, chain_id, idempotency_key)
        if answered is not None:
            return JSONResponse(answered.model_dump(mode="json"))
    return await _begin(gateway, task, who, chain_id, request)


@router.post("/chains/{chain_id}/again", status_code=202, tags=["chains"])
async def again(
    gateway: Here,
    chain_id: str,
    who: Submitter,
    request: Request,
    idempotency_key: IdempotencyKey = None,
) -> Accepted:
    """Submit the task of a chain once more: a new chain, whose id is in the answer."""
    task = found(await gateway.views.task(chain_id, who.can_see), "chain", chain_id)
    check_root(chain_id)
    await _check(gateway, task)
    return await _begin(
        gateway, task, who, _chain_id(task, idempotency_key), request, Deed.SUBMITTED_AGAIN
    )


def _chain_id(task: Task, key: str | None) -> str:
    return new_chain_id() if key is None else derived_chain_id(Ingress.HTTP, task.tenant, key)


async def _begin(
    gateway: Gateway,
    task: Task,
    who: Principal,
    chain_id: str,
    request: Request,
    deed: Deed = Deed.SUBMITTED,
) -> Accepted:
    """The chain of a task that was checked. Raises Problem."""
    if await gateway.store.missing((chain_id,)):  # a repeat gets its first outcome (R2)
        await count_submission(gateway, who)
    line = gateway.audit.line(who, deed, chain_id)
    parent = request.headers.get("traceparent")
    begun = gateway.tracing.submission(chain_id, task, parent)
    store = gateway.store
    submitted = await store.submit(
        task, chain_id=chain_id, trace=begun.trace, span=begun.own, line=line
    )
    match submitted.status:
        case SubmitStatus.CONFLICT:
            hint = "Use a new Idempotency-Key for another task."
            detail = "Another task was submitted under this Idempotency-Key."
            links = accepted(chain_id).model_dump()
            raise Problem(409, "idempotency_conflict", detail, hint=hint, **links)
        case SubmitStatus.ELSEWHERE:
            raise other_release(OtherReleaseError(chain_id))
        case SubmitStatus.BUSY:
            raise backlog_full(gateway)
        case SubmitStatus.CREATED:
            finish(begun.sent)
        case SubmitStatus.AGAIN:
            pass
    return accepted(chain_id)


async def _answer(
    gateway: Gateway, task: Task, who: Principal, chain_id: str, idempotency_key: str | None
) -> RequestView | None:
    """The request that the task answers (G5). None: it is a task, as is one that says more than its
    words. Raises Problem when the question was closed meanwhile.
    """
    conversations = gateway.store.conversations
    words = Task(
        goal=task.goal, conversation_id=task.conversation_id, tenant=task.tenant, user=task.user
    )
    if task.conversation_id is None or task != words or not who.may(Scope.ANSWER):
        return None
    known = await conversations.answers(chain_id)
    request = await (seen(gateway, known, who) if known else _open_request(gateway, task, who))
    if request is None:
        return None
    answer = short_answer(task.goal, request)
    if answer is None:
        return None
    if idempotency_key:
        await conversations.answers(chain_id, request.id)
    hint = "Look at the call in the inbox (`haltpoint inbox` in a terminal), and approve it there."
    check_seen(request, answer, None, hint)
    taken = await take_answer(gateway, request, answer, replace(who, way=Way.CONVERSATION))
    return taken.model_copy(update={"chain_id": root_of(taken.chain_id)})


async def _open_request(gateway: Gateway, task: Task, who: Principal) -> RequestView | None:
    """The one open question of the task's conversation, of the same tenant and user."""
    users = {
        earlier.chain_id: earlier.user for earlier in await gateway.store.conversations.kept(task)
    }
    asked = await gateway.views.open_requests([*users], who.can_see)
    if len(asked) != 1 or users[root_of(asked[0].chain_id)] != task.user:
        return None
    return asked[0]


async def _check(gateway: Gateway, task: Task) -> None:
    """Raise Problem for a task that can have no chain."""
    if fault := task_fault(task):
        hint = "Give a `goal` or a `plan`; `agent` is left out where a supervisor routes."
        raise Problem(422, "invalid_fields", fault, hint=hint)
    agents = gateway.agents
    if task.agent is not None and agents.named(task.agent) is None:
        hint = "Name an agents file in HALTPOINT_AGENTS_FILE, or leave `agent` out."
        if agents.agents:
            hint = f"There are: {agents.names}."
        raise Problem(422, "no_such_agent", f"There is no agent {task.agent!r}.", hint=hint)
    tools = await gateway.catalogue.read() if task.plan or task.bounds else {}
    for name in OF_TOOLS:
        _check_names(f"bounds.{name}", getattr(task.bounds, name, None), tools)
    patterns = [pattern.id for pattern in gateway.policy.patterns]
    _check_names("patterns_off", task.patterns_off, patterns)
    if task.plan is not None:
        _check_plan(tools, with_agents(tools, agents, task), task.plan)


def _check_names(field: str, names: Iterable[str] | None, known: Collection[str]) -> None:
    """Raise Problem for a name that nothing has: it would have no effect."""
    for name in names or ():
        if name not in (EVERY, *known):
            words = f"{name!r} is unknown and would have no effect{nearest(name, known)}"
            raise Problem(
                422,
                "invalid_fields",
                f"{field}: {words}",
                hint="GET /v1/tools lists the tools of all workers; the policy file has patterns.",
                errors=[{"field": field, "message": words}],
            )


def _check_plan(served: Tools, tools: Tools, plan: Plan) -> None:
    """Raise Problem with all faults of a literal plan at once (C1). `tools` are agents, too."""
    faults = literal_faults(plan, tools)
    if not faults:
        return
    if served.keys() <= BUILT_IN:  # after a server came back empty, until workers have heard of it
        raise Problem(
            503,
            "no_tools",
            "No worker has announced its tools yet.",
            hint="Wait for a worker, or start one; then repeat the request.",
            headers={"Retry-After": "2"},
        )
    labels = {step.id: step.label for step in plan.steps if step.label}
    detail = str(faults[0])
    if len(faults) > 1:
        detail = f"The plan has {len(faults)} problems; it was not accepted."
    errors = [
        {
            "step_id": fault.step_id,
            "message": fault.message,
            "label": labels.get(fault.step_id or ""),
        }
        for fault in faults
    ]
    hint = "Correct what `errors` lists; GET /v1/tools shows the tools and their schemas."
    raise Problem(422, "invalid_plan", detail, hint=hint, errors=errors)
