"""The deployment, for those who run it: workers, queues, dead letters."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Path, Query

from haltpoint.contracts.catalogue import Party
from haltpoint.contracts.people.audit import Deed
from haltpoint.contracts.views.chains import Page
from haltpoint.contracts.views.deployment import Backlog, LetterView, QueueState, WorkerView
from haltpoint.runtime.store.dead_letters import RequeueStatus
from haltpoint.runtime.streams.timeline import PLACE, Place
from haltpoint.runtime.views.queues import without_tenants
from haltpoint_gateway.gateway import Admin, Gateway, Here, Reader
from haltpoint_gateway.problems import Problem, found, no_such
from haltpoint_gateway.queries import LetterQuery
from haltpoint_gateway.stars import Starred

router = APIRouter(prefix="/v1", tags=["deployment"], route_class=Starred)

Letter = Annotated[str, Path(pattern=f"^{PLACE.pattern}$", description="The id of a letter")]


@router.get("/workers")
async def list_workers(gateway: Here, who: Reader) -> Page[WorkerView]:
    """The live tool workers by name, each with the calls that it is running."""
    services = await gateway.services()
    alive = [WorkerView.model_validate(one) for one in services if one["name"] == Party.WORKER]
    alive.sort(key=lambda worker: worker.instance)
    if not who.admin:
        alive = [worker.model_copy(update={"holds": None}) for worker in alive]
    return Page(items=tuple(alive))


@router.get("/queues")
async def list_queues(gateway: Here, who: Reader) -> Page[QueueState]:
    """The queues of all tools that workers serve, and those that are paused: calls that wait, run
    and rest.
    """
    queues = await gateway.queues()
    return Page(items=tuple(queues if who.admin else map(without_tenants, queues)))


@router.get("/scaling/{queue}")
async def scaling(gateway: Here, queue: str, _: Reader) -> Backlog:
    """How much work a queue has, for an autoscaler of its workers."""
    state = await _queue(gateway, queue)
    waiting = 0 if state.paused else state.waiting
    return Backlog(backlog=waiting + state.running)


@router.post("/queues/{queue}/pause")
async def pause(gateway: Here, queue: str, who: Admin) -> QueueState:
    """Let the workers of a queue take no new calls; calls under way may end. The pause lasts until
    it is resumed.
    """
    state = await _queue(gateway, queue)
    line = gateway.audit.line(who, Deed.QUEUE_PAUSED, queue)
    await gateway.pauses.pause(queue, line)
    return replace(state, paused=True)


@router.post("/queues/{queue}/resume")
async def resume(gateway: Here, queue: str, who: Admin) -> QueueState:
    """Let the workers of a queue continue."""
    state = await _queue(gateway, queue)
    line = gateway.audit.line(who, Deed.QUEUE_RESUMED, queue)
    await gateway.pauses.resume(queue, line)
    return replace(state, paused=False)


@router.get("/dlq")
async def list_letters(
    gateway: Here, _: Admin, query: Annotated[LetterQuery, Query()]
) -> Page[LetterView]:
    """Dead letters of all tenants, the oldest first."""
    return await gateway.views.letters(query.reason, query.cursor, query.limit)


@router.post("/dlq/{letter:path}/requeue", status_code=204)
async def requeue(gateway: Here, letter: Letter, who: Admin) -> None:
    """Put a dead letter back into its stream, once."""
    place = _place(gateway, letter)
    line = gateway.audit.line(who, Deed.LETTER_REQUEUED, letter)
    match await gateway.dead_letters.requeue(place.partition, place.entry, line):
        case RequeueStatus.REQUEUED:
            pass
        case RequeueStatus.GONE:
            raise no_such("letter", letter)
        case RequeueStatus.DONE:
            detail = "Its action has an outcome, its chain has ended, or a person decides."
            hint = "Drop it, or leave it: nothing waits for it."
            raise Problem(409, "not_needed", detail, hint=hint)


@router.post("/dlq/{letter:path}/drop", status_code=204)
async def drop(gateway: Here, letter: Letter, who: Admin) -> None:
    """Forget a dead letter. A chain that waits for it waits until its deadline."""
    place = _place(gateway, letter)
    line = gateway.audit.line(who, Deed.LETTER_DROPPED, letter)
    if not await gateway.dead_letters.drop(place.partition, place.entry, line):
        raise no_such("letter", letter)


async def _queue(gateway: Gateway, name: str) -> QueueState:
    """One queue. Raises Problem 404."""
    queues = {queue.name: queue for queue in await gateway.queues()}
    return found(queues.get(name), "queue", name)


def _place(gateway: Gateway, letter: str) -> Place:
    place = Place.parse(letter)
    if place.partition >= gateway.settings.partitions:
        raise no_such("letter", letter)
    return place
