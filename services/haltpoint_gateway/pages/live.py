"""One stream of events for each open page: it says when to look again, and nothing else.

A page looks again as soon as its stream is open, so nothing has to be sent twice.
"""

import random
from collections.abc import AsyncGenerator
from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.responses import Response

from haltpoint_gateway.api.chains import header_of
from haltpoint_gateway.gateway import Here
from haltpoint_gateway.pages.door import Person
from haltpoint_gateway.shared_logs import as_stream
from haltpoint_gateway.watchers import EVERYTHING, HEART, Watchers, hearts

PAUSE: Final = 1.0
"""Seconds between two calls to look again."""
LOOKS: Final = 8
"""Pages of one kind that may look again within a second: of more, each waits its turn."""

router = APIRouter()


@router.get("/live")
async def live(
    gateway: Here, who: Person, chain: Annotated[str | None, Query(max_length=300)] = None
) -> Response:
    """Says when something has changed, of one chain or of any."""
    if chain:
        await header_of(gateway, chain, who)
    stream = changes(gateway.watchers, chain or EVERYTHING)
    return as_stream(gateway.keyring.while_open(who, stream))


async def changes(watchers: Watchers, chain: str) -> AsyncGenerator[bytes]:
    """A stream for one page, until the gateway closes."""
    with watchers.watch(chain) as watch:
        yield b"retry: 1000\n\n"
        while not watchers.closing:
            if not await watch.wait():
                yield HEART
                continue
            crowd = len(watch.chain.watches) / LOOKS
            async for heart in hearts(crowd * random.random()):
                yield heart
            watch.woken.clear()
            yield b"event: changed\ndata:\n\n"
            async for heart in hearts(max(PAUSE, crowd)):
                yield heart
