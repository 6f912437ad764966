"""Tasks: the door through which all work comes in over HTTP."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Body, Request

from haltpoint.chain.checks.plan_check import plan_faults, task_fault
from haltpoint.chain.model.world import Policy
from haltpoint.contracts.base import Ingress, derived_chain_id
from haltpoint.contracts.plans import Plan
from haltpoint.contracts.tasks import Task
from haltpoint.runtime.observability.telemetry import finish
from haltpoint.runtime.store.store import SubmitStatus, new_chain_id
from haltpoint_gateway.api.chains import Accepted, accepted
from haltpoint_gateway.auth import Principal
from haltpoint_gateway.gateway import Gateway, Submitter
from haltpoint_gateway.problems import Problem, responses
from haltpoint_gateway.queries import IdempotencyKey


def routes(gateway: Gateway) -> APIRouter:
    """The routes of tasks."""
    router = APIRouter(prefix="/v1/tasks", tags=["tasks"])

    @router.post("", status_code=202, responses=responses(400, 409, 413, 415, 429))
    async def submit(
        task: Annotated[Task, Body()], who: Submitter, request: Request, idempotency_key: IdempotencyKey = None
    ) -> Accepted:
        """Submit a task: a goal in words, a literal plan, or both. Accepted means: it will reach an end (R1)."""
        task = _owned(task, who)
        if fault := task_fault(task):
            hint = "Give a `goal` or a `plan`; leave out `earlier`."
            raise Problem(422, "invalid_fields", fault, hint=hint)
        key = idempotency_key
        chain_id = new_chain_id() if key is None else derived_chain_id(Ingress.HTTP, task.tenant, key)
        refusal = None if task.plan is None else await _refusal(task.plan, gateway)
        # A repeat gets its first outcome, whatever has become of the tools meanwhile.
        if refusal is not None and (key is None or await gateway.views.header(chain_id, who.can_see) is None):
            raise refusal
        traceparent, root = gateway.tracing.submission(chain_id, task, request.headers.get("traceparent"))
        submitted = await gateway.store.submit(task, chain_id=chain_id, trace=traceparent)
        if submitted.status is SubmitStatus.CONFLICT:
            hint = "Use a new Idempotency-Key for another task."
            detail = "Another task was submitted under this Idempotency-Key."
            raise Problem(409, "idempotency_conflict", detail, hint=hint, **accepted(chain_id).model_dump())
        if submitted.status is SubmitStatus.BUSY:
            limit = gateway.settings.limits.backlog_limit
            raise Problem(
                429,
                "backlog_full",
                f"{limit} messages wait in this partition already; the task was not accepted.",
                hint="Try again later, with the same Idempotency-Key; or run more workers.",
                headers={"Retry-After": "2"},
            )
        if submitted.status is SubmitStatus.CREATED:
            finish(root)
        return accepted(chain_id)

    return router


async def _refusal(plan: Plan, gateway: Gateway) -> Problem | None:
    """All faults of a literal plan at once (C1): None when it has none."""
    faults = plan_faults(plan, await gateway.catalogue.recent(), Policy(), literal=True)
    if faults:  # of tools as they are now
        faults = plan_faults(plan, await gateway.catalogue.read(), Policy(), literal=True)
    if not faults:
        return None
    labels = {step.id: step.label for step in plan.steps if step.label}
    return Problem(
        422,
        "invalid_plan",
        f"The plan has {len(faults)} problems; it was not accepted." if faults[1:] else str(faults[0]),
        hint="Fix what `errors` lists and submit it again; GET /v1/tools shows the tools and their schemas.",
        errors=[
            {"step_id": fault.step_id, "message": fault.message, "label": labels.get(fault.step_id or "")}
            for fault in faults
        ],
    )


def _owned(task: Task, who: Principal) -> Task:
    """Set the key's tenant; an admin key may name another."""
    if who.admin:
        return task if task.tenant is not None else msgspec.structs.replace(task, tenant=who.tenant)
    if task.tenant not in (None, who.tenant):
        hint = "Leave `tenant` out: the task belongs to the tenant of the key. Only an admin key may name another."
        raise Problem(403, "tenant_not_yours", f"This key may not submit for the tenant {task.tenant!r}.", hint=hint)
    return msgspec.structs.replace(task, tenant=who.tenant)
