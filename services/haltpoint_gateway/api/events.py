"""Everything that happens, as one stream."""

from collections.abc import AsyncIterator, Collection
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response
from msgspec.structs import asdict

from haltpoint.contracts.views.chains import ChainEvent
from haltpoint.runtime.views.feeds import Places
from haltpoint.runtime.views.reading import OtherReleaseError
from haltpoint_gateway.api.chains import EVENT_STREAM, no_event
from haltpoint_gateway.gateway import Gateway, Here, Reader
from haltpoint_gateway.guard import Guarded
from haltpoint_gateway.people.principal import Principal
from haltpoint_gateway.queries import StreamQuery
from haltpoint_gateway.shared_logs import as_sse, as_stream
from haltpoint_gateway.watchers import EVERYTHING, HEART

router = APIRouter(prefix="/v1/events", tags=["events"], route_class=Guarded)


@router.get("", response_class=Response, responses={200: {"content": EVENT_STREAM}})
async def events(
    gateway: Here,
    who: Reader,
    query: Annotated[StreamQuery, Query()],
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """The facts of all chains that this key sees, as they happen, each with its `chain_id`.

    With Last-Event-ID it continues there, for 15 minutes back. The facts that were written
    together have one id, so the last of them may come twice: `chain_id` and `id` say which it is.
    """
    feeds = gateway.feeds
    places = feeds.places(last_event_id) if last_event_id is not None else await feeds.newest()
    if places is None:
        raise no_event(str(last_event_id))
    stream = _follow(gateway, who, {*query.types}, places)
    return as_stream(gateway.keyring.while_open(who, stream))


async def _follow(
    gateway: Gateway, who: Principal, types: Collection[str], places: Places
) -> AsyncIterator[bytes]:
    """The stream behind these places, until the gateway closes."""
    with gateway.watchers.watch(EVERYTHING) as watch:
        while not gateway.watchers.closing:
            watch.woken.clear()
            part = await gateway.feeds.behind(places)
            for chain_id, lines in part.lines.items():
                for event in await _events(gateway, who, chain_id, lines):
                    if not types or event.type in types:
                        yield as_sse(event)
            if part.places != places:
                places = part.places
                yield b"id: %s\n\n" % ",".join(places).encode()
                continue
            if not await watch.wait():
                yield HEART


async def _events(
    gateway: Gateway, who: Principal, chain_id: str, lines: list[int]
) -> list[ChainEvent]:
    """The facts of these lines; none: the chain is gone, or this one does not see it."""
    with suppress(OtherReleaseError):
        if await gateway.views.header(chain_id, who.can_see):
            part = await gateway.views.log(chain_id, lines[0], lines[-1] - lines[0] + 1)
            return [ChainEvent(**asdict(event), chain_id=chain_id) for event in part.events]
    return []
