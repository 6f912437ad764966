"""Chains: the list, one of them, what happened in it, and how to stop it."""

from datetime import UTC, datetime
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import BaseModel

from haltpoint.contracts.base import chain_of, root_of
from haltpoint.contracts.events import TaskCancelled
from haltpoint.contracts.people.audit import Deed
from haltpoint.contracts.secrets import starred
from haltpoint.contracts.views.chains import ChainSummary, ChainView, EventView, Page
from haltpoint.contracts.views.steps import ActionRecord
from haltpoint.contracts.views.undoing import UndoView
from haltpoint.runtime.store.counting import UNKNOWN
from haltpoint.runtime.store.store import CancelStatus, FeedbackStatus, SubmitStatus
from haltpoint.runtime.views.log_view import place_of
from haltpoint.runtime.views.queries import ChainQuery
from haltpoint.runtime.views.views import ChainHeader
from haltpoint_gateway.gateway import Gateway, Here, Reader, Submitter
from haltpoint_gateway.guard import Guarded
from haltpoint_gateway.people.limits import count_submission
from haltpoint_gateway.people.principal import Principal
from haltpoint_gateway.problems import Problem, found, no_such
from haltpoint_gateway.queries import EVENT_ID, Cancel, EventQuery, Feedback, ViewQuery
from haltpoint_gateway.shared_logs import as_stream
from haltpoint_gateway.stars import Starred

EVENT_STREAM: Final[dict[str, Any]] = {"text/event-stream": {"schema": {"type": "string"}}}
"""What an event stream is in OpenAPI."""


class Accepted(BaseModel):
    """The request was accepted; `links` say where to look for its result."""

    chain_id: str
    links: dict[str, str]


def accepted(chain_id: str) -> Accepted:
    """The links of a chain."""
    base = f"/v1/chains/{chain_id}"
    return Accepted(
        chain_id=chain_id,
        links={"self": base, "events": f"{base}/events", "cancel": f"{base}/cancel"},
    )


def backlog_full(gateway: Gateway) -> Problem:
    """429: the partition has too many messages that wait."""
    limit = gateway.settings.limits.backlog_limit
    return Problem(
        429,
        "backlog_full",
        f"{limit} messages wait in this partition already; the task was not accepted.",
        hint="Try again later, with the same Idempotency-Key; or run more workers.",
        headers={"Retry-After": "2"},
    )


def check_root(chain_id: str) -> None:
    """Refuse a chain that is a part of another one. Raises Problem."""
    root = root_of(chain_id)
    if root != chain_id:
        detail = f"The chain {chain_id!r} is part of another chain."
        raise Problem(409, "part_of_a_chain", detail, hint=f"Use the whole chain: {root}.")


def no_event(event_id: str) -> Problem:
    """422: a stream cannot continue there."""
    detail = f"Last-Event-ID {event_id!r} is not the id of an event."
    hint = "Send the id of the last event that you saw, or leave the header out."
    return Problem(422, "invalid_fields", detail, hint=hint)


router = APIRouter(prefix="/v1/chains", tags=["chains"], route_class=Starred)
whole = APIRouter(route_class=Guarded)
"""A chain has its stars already."""


@router.get("")
async def list_chains(
    gateway: Here, who: Reader, query: Annotated[ChainQuery, Query()]
) -> Page[ChainSummary]:
    """Chains, the latest change first."""
    return await gateway.views.chains(query, who.can_see)


@whole.get("/{chain_id}", response_model=ChainView)
async def get_chain(
    gateway: Here, chain_id: str, who: Reader, query: Annotated[ViewQuery, Query()]
) -> Response:
    """One chain, whole."""
    text = await gateway.views.as_json(chain_id, who.can_see, story=query.story)
    whole = found(text, "chain", chain_id)
    return Response(whole, media_type="application/json")


router.include_router(whole)


@router.get(
    "/{chain_id}/events",
    response_model=Page[EventView],
    responses={
        200: {"content": EVENT_STREAM},
        204: {"description": "The stream is complete (event streams only)."},
    },
)
async def events(
    gateway: Here,
    chain_id: str,
    who: Reader,
    request: Request,
    query: Annotated[EventQuery, Query()],
    last_event_id: Annotated[str | None, Header()] = None,
) -> object:
    """What happened, as JSON; with `Accept: text/event-stream`, each event as it happens.

    An event's id is `<line>.<fact>` in the chain's log; a stream with Last-Event-ID continues
    after it, and ends after the chain's final event.
    """
    header = await header_of(gateway, chain_id, who)
    after = query.cursor
    if "text/event-stream" not in request.headers.get("accept", ""):
        place = place_of(after)  # its line may have more events
        part = await gateway.views.log(chain_id, place[0], query.limit + 1)
        cursor = part.place if part.more else None
        return Page[EventView](items=part.behind(place), next_cursor=cursor)
    after = last_event_id or after
    if after is not None and EVENT_ID.fullmatch(after) is None:
        raise no_event(after)
    if after is not None and header.status.final:
        place = place_of(after)
        part = await gateway.views.log(chain_id, place[0], 1)
        if not (part.more or part.behind(place)):
            return Response(status_code=204)
    stream = gateway.logs.follow(gateway.watchers, chain_id, after)
    return as_stream(gateway.keyring.while_open(who, stream))


@router.get("/{chain_id}/actions")
async def get_actions(gateway: Here, chain_id: str, who: Reader) -> Page[ActionRecord]:
    """The action log: one record for each action, in the order in which they began."""
    return Page[ActionRecord](items=await _actions(gateway, chain_id, who))


@router.get(
    "/{chain_id}/results/{action_id}",
    response_class=Response,
    responses={200: {"content": {"application/json": {}}}},
)
async def get_result(gateway: Here, chain_id: str, action_id: str, who: Reader) -> Response:
    """The whole data of a result that was cut: its receipt says how large they are in
    `metadata.whole`.
    """
    await header_of(gateway, chain_id, who)
    is_here = chain_of(action_id) == chain_id
    data = found(await gateway.views.whole(action_id) if is_here else None, "result", action_id)
    hidden = await gateway.views.secrets(chain_id)
    shown = starred({"data": msgspec.json.decode(data)}, values=hidden)
    return Response(msgspec.json.encode(shown["data"]), media_type="application/json")


@router.post("/{chain_id}/feedback", status_code=204)
async def give_feedback(gateway: Here, chain_id: str, who: Submitter, body: Feedback) -> None:
    """Say that a chain, or one of its actions, was wrong or right. It is in the log; wrongs are
    counted by tool.
    """
    actions = await _actions(gateway, chain_id, who)
    tools = {action.action_id: action.tool for action in actions}
    fact = {**body.model_dump(exclude_none=True), "by": who.name}
    tool = UNKNOWN
    if body.action_id is not None:
        name = f"{chain_id}.{body.action_id.removeprefix(f'{chain_id}.')}"
        tool = found(tools.get(name), "action", body.action_id)
        fact["action_id"] = name
    match await gateway.store.feedback(chain_id, fact, tool if body.wrong else None):
        case FeedbackStatus.UNKNOWN:
            raise no_such("chain", chain_id)
        case FeedbackStatus.FULL:
            hint = "The first 100 are in the log; GET the events to read them."
            detail = f"The chain {chain_id!r} takes no more feedback."
            raise Problem(409, "too_much_feedback", detail, hint=hint)
        case FeedbackStatus.RECORDED:
            pass


@router.post("/{chain_id}/cancel", status_code=202)
async def cancel(
    gateway: Here, chain_id: str, who: Submitter, body: Cancel | None = None
) -> Accepted:
    """Stop a chain. Actions that run finish; nothing else is dispatched. A repeat changes
    nothing.
    """
    await header_of(gateway, chain_id, who)
    message = TaskCancelled(
        id=f"{chain_id}/cancel",
        source="haltpoint/gateway",
        subject=chain_id,
        time=datetime.now(UTC).isoformat(timespec="milliseconds"),
        data=TaskCancelled.Data(by=who.name, reason=body.reason if body else ""),
    )
    line = gateway.audit.line(who, Deed.CANCELLED, chain_id)
    match await gateway.store.cancel(message, line):
        case CancelStatus.SENT:
            return accepted(chain_id)
        case CancelStatus.FINAL:
            hint = "It cannot be cancelled; GET the chain to see how it ended."
            raise Problem(409, "chain_ended", f"The chain {chain_id!r} has ended.", hint=hint)
        case CancelStatus.UNKNOWN:
            raise no_such("chain", chain_id)


@router.post("/{chain_id}/undo", status_code=202)
async def undo(gateway: Here, chain_id: str, who: Submitter) -> UndoView:
    """Undo the deeds of an ended chain in a new chain, the last deed first. A
    repeat undoes what is still open.
    """
    header = await header_of(gateway, chain_id, who)
    check_root(chain_id)
    if not header.status.final:
        hint = "Cancel it, or wait for its end."
        raise Problem(409, "chain_runs", f"The chain {chain_id!r} has not ended.", hint=hint)
    tools = await gateway.catalogue.read()
    undoing = found(await gateway.views.undoing(chain_id, tools, who.can_see), "chain", chain_id)
    if undoing.task is not None:
        await count_submission(gateway, who)
        line = gateway.audit.line(who, Deed.UNDONE, chain_id)
        submitted = await gateway.store.submit(
            undoing.task, chain_id=undoing.view.chain_id, line=line
        )
        if submitted.status is SubmitStatus.BUSY:
            raise backlog_full(gateway)
    return undoing.view


async def header_of(gateway: Gateway, chain_id: str, who: Principal) -> ChainHeader:
    """A chain's header. Raises Problem 404 when there is no chain that this one sees."""
    return found(await gateway.views.header(chain_id, who.can_see), "chain", chain_id)


async def _actions(gateway: Gateway, chain_id: str, who: Principal) -> tuple[ActionRecord, ...]:
    return found(await gateway.views.actions(chain_id, who.can_see), "chain", chain_id)
