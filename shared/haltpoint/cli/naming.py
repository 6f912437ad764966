"""Ids that are typed in part: the beginning of an id is enough where it is the only one."""

from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any, Final

from haltpoint.cli.errors import usage

if TYPE_CHECKING:
    from haltpoint.client import Client
    from haltpoint.contracts.views.chains import RequestView

WHOLE: Final = 32
"""Characters of the id of a root chain."""
_PAGE: Final = 200
_PAGES: Final = 5
"""Pages of chains among which one is looked for, the newest first."""
_MOST_NAMED: Final = 5


async def open_requests(client: "Client") -> AsyncIterator["RequestView"]:
    """All open questions, urgent ones first, page by page."""
    page = await client.requests(cursor=None, limit=_PAGE)
    for request in page.items:
        yield request
    while page.next_cursor is not None:
        page = await client.requests(cursor=page.next_cursor, limit=_PAGE)
        for request in page.items:
            yield request


async def request_named(client: "Client", name: str) -> "RequestView":
    """The question with this id, or the only one whose id begins so: `01a2`, or `01a2.r2`. Those
    that were answered count too, so that an answer which is repeated never goes to another one.
    Raises HaltpointError where there are several or none, and GatewayError for a whole id that is
    none.
    """
    from haltpoint.contracts.base import root_of
    from haltpoint.runs import asked_in

    chain, dot, number = name.partition(".r")
    if dot and len(chain) >= WHOLE:
        return await client.request(name)
    known = await _beginning_so(client, chain)
    known += [asked.chain_id async for asked in open_requests(client)]
    known = [chain_id for chain_id in dict.fromkeys(known) if chain_id.startswith(chain)]
    root = only(chain, [*map(root_of, known)]) if known else chain
    ids: list[str] = []
    for chain_id in known:
        if root_of(chain_id) == root:
            ids += [asked.id for asked in asked_in(await client.chain(chain_id))]
    fitting = [asked for asked in ids if asked.startswith(chain) and asked.endswith(dot + number)]
    if not fitting:
        fix = "haltpoint inbox lists the open ones"
        raise usage(f"{name} is no question", "no question has an id that begins so", fix)
    return await client.request(only(name, fitting))


async def chain_named(client: "Client", name: str) -> str:
    """The id of a chain, or of the one among the newest thousand that begins so. Raises
    HaltpointError where several do; a name with which none begins stays as it is.
    """
    from haltpoint.contracts.base import root_of

    known = await _beginning_so(client, name)
    return only(name, [*map(root_of, known)]) if len(name) < WHOLE and known else name


async def _beginning_so(client: "Client", name: str) -> list[str]:
    """The chains among the newest thousand whose ids begin so; a whole id is its own."""
    if not name:
        fix = "haltpoint inbox and haltpoint chain list show the ids"
        raise usage("an id is needed", "it is empty; is the variable set?", fix)
    if len(name) >= WHOLE:
        return [name]
    ids: list[str] = []
    page: Any = None
    for _ in range(_PAGES):
        page = await client.chains(cursor=page and page.next_cursor, limit=_PAGE)
        ids += [chain.id for chain in page.items if chain.id.startswith(name)]
        if page.next_cursor is None:
            break
    return ids


def only(name: str, known: Iterable[str]) -> str:
    """The one of these ids that was typed, whole or by its beginning. Raises HaltpointError."""
    ids = [*dict.fromkeys(known)]
    if len(ids) > 1 and name not in ids:
        shown = ", ".join(ids[:_MOST_NAMED])
        raise usage(f"more than one id begins with {name}", f"there are {shown}", "Give more of it")
    return name if name in ids else ids[0]
