"""Tasks: the door through which all work comes in over HTTP."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Body, Request
from fastapi.responses import JSONResponse

from haltpoint.chain.checks.agents import with_agents
from haltpoint.chain.checks.plans import literal_faults, task_fault
from haltpoint.contracts.base import Ingress, derived_chain_id, root_of
from haltpoint.contracts.views.chains import RequestView
from haltpoint.contracts.work.agents import Agents
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.observability.telemetry import finish
from haltpoint.runtime.store.store import SubmitStatus, new_chain_id
from haltpoint.runtime.views.reading import OtherReleaseError
from haltpoint_gateway.answering import short_answer
from haltpoint_gateway.api.chains import Accepted, accepted, backlog_full
from haltpoint_gateway.api.requests import seen, take_answer
from haltpoint_gateway.auth import Principal, Scope
from haltpoint_gateway.gateway import Gateway, Here, Submitter
from haltpoint_gateway.problems import Problem, other_release, responses
from haltpoint_gateway.queries import IdempotencyKey

router = APIRouter(prefix="/v1/tasks", tags=["tasks"])


@router.post(
    "",
    status_code=202,
    response_model=Accepted,
    responses={
        **responses(400, 409, 410, 412, 413, 415, 429),
        200: {
            "model": RequestView,
            "description": (
                "The words answered the conversation's open question; "
                "`chain_id` is the root's chain."
            ),
        },
    },
)
async def submit(
    gateway: Here,
    task: Annotated[Task, Body()],
    who: Submitter,
    request: Request,
    idempotency_key: IdempotencyKey = None,
) -> Accepted | JSONResponse:
    """Submit a task: a goal in words, a literal plan, or both. Accepted means: it will reach an
    end (R1).

    In a conversation with one open question a goal that is nothing but yes, no, a number, or an
    option's id or title is the answer to it (200 with the request, whose `chain_id` is that of
    the root's chain).
    """
    task = _owned(task, who)
    if fault := task_fault(task):
        hint = (
            "Give a `goal` or a `plan`, no `earlier`, and no `agent` for a task "
            "that the supervisor routes."
        )
        raise Problem(422, "invalid_fields", fault, hint=hint)
    key = idempotency_key
    chain_id = new_chain_id() if key is None else derived_chain_id(Ingress.HTTP, task.tenant, key)
    refusal = _agent_refusal(task, gateway.agents)
    if refusal is None and task.plan is not None:
        refusal = await _refusal(task, task.plan, gateway)
    # A repeat gets its first outcome, whatever has become of the tools meanwhile.
    looks = refusal is not None or task.conversation_id is not None
    if looks and (key is None or await gateway.views.header(chain_id, who.can_see) is None):
        if refusal is not None:
            raise refusal
        if (answered := await _answer(gateway, task, who, chain_id, key)) is not None:
            return JSONResponse(answered.model_dump(mode="json"))
    traceparent, root = gateway.tracing.submission(
        chain_id, task, request.headers.get("traceparent")
    )
    submitted = await gateway.store.submit(task, chain_id=chain_id, trace=traceparent)
    if submitted.status is SubmitStatus.CONFLICT:
        hint = "Use a new Idempotency-Key for another task."
        detail = "Another task was submitted under this Idempotency-Key."
        raise Problem(
            409, "idempotency_conflict", detail, hint=hint, **accepted(chain_id).model_dump()
        )
    if submitted.status is SubmitStatus.ELSEWHERE:
        raise other_release(OtherReleaseError(chain_id))
    if submitted.status is SubmitStatus.BUSY:
        raise backlog_full(gateway)
    if submitted.status is SubmitStatus.CREATED:
        finish(root)
    return accepted(chain_id)


async def _answer(
    gateway: Gateway, task: Task, who: Principal, chain_id: str, idempotency_key: str | None
) -> RequestView | None:
    """The request that the task answers (G5): the one open question of its conversation, of the
    same tenant and user, with the chain of its root. None: it is a task, as is one that says more
    than its words. Raises Problem when the question was closed meanwhile.
    """
    conversations = gateway.store.conversations
    words = Task(
        goal=task.goal, conversation_id=task.conversation_id, tenant=task.tenant, user=task.user
    )
    if task.conversation_id is None or task != words or not who.may(Scope.ANSWER):
        return None
    known = await conversations.answers(chain_id) if idempotency_key else None
    if known is not None:
        request = await seen(gateway, known, who)
    else:
        users = {one.chain_id: one.user for one in await conversations.kept(task)}
        asked = await gateway.views.open_requests([*users], who.can_see)
        if len(asked) != 1 or users[root_of(asked[0].chain_id)] != task.user:
            return None
        request = asked[0]
    answer = short_answer(task.goal, request)
    if answer is None:
        return None
    if idempotency_key:
        await conversations.answers(chain_id, request.id)
    taken = await take_answer(gateway, request, answer, who, idempotency_key)
    return taken.model_copy(update={"chain_id": root_of(taken.chain_id)})


def _agent_refusal(task: Task, agents: Agents) -> Problem | None:
    """Why the agent that a task names cannot work on it: None when it can, or when it names
    none.
    """
    if task.agent is None or agents.named(task.agent) is not None:
        return None
    no_file = (
        "Name an agents file in HALTPOINT_AGENTS_FILE, and start the services "
        "again. Or leave `agent` out."
    )
    hint = f"There are: {agents.names}." if agents.agents else no_file
    return Problem(422, "no_such_agent", f"There is no agent {task.agent!r}.", hint=hint)


async def _refusal(task: Task, plan: Plan, gateway: Gateway) -> Problem | None:
    """All faults of a literal plan at once (C1): None when it has none."""
    recent = with_agents(await gateway.catalogue.read(), gateway.agents, task)
    faults = literal_faults(plan, recent)
    if faults:  # of tools as they are now
        tools = with_agents(await gateway.catalogue.read(), gateway.agents, task)
        faults = literal_faults(plan, tools)
    if not faults:
        return None
    labels = {step.id: step.label for step in plan.steps if step.label}
    return Problem(
        422,
        "invalid_plan",
        f"The plan has {len(faults)} problems; it was not accepted."
        if faults[1:]
        else str(faults[0]),
        hint="Fix what `errors` lists and submit it again; GET /v1/tools shows the tools "
        "and their schemas.",
        errors=[
            {
                "step_id": fault.step_id,
                "message": fault.message,
                "label": labels.get(fault.step_id or ""),
            }
            for fault in faults
        ],
    )


def _owned(task: Task, who: Principal) -> Task:
    """Set the key's tenant; an admin key may name another."""
    if who.admin:
        return task if task.tenant is not None else msgspec.structs.replace(task, tenant=who.tenant)
    if task.tenant not in (None, who.tenant):
        hint = (
            "Leave `tenant` out: the task belongs to the tenant of the key. Only an "
            "admin key may name another."
        )
        raise Problem(
            403,
            "tenant_not_yours",
            f"This key may not submit for the tenant {task.tenant!r}.",
            hint=hint,
        )
    return msgspec.structs.replace(task, tenant=who.tenant)
