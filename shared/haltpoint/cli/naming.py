"""Ids that are typed in part: the beginning of an id is enough where it is the only one."""

from collections.abc import AsyncIterator, Sequence
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
    """The question with this id, or the open one that begins so: `01a2`, or `01a2.r2`. Raises
    HaltpointError where there are several or none, and GatewayError for a whole id that is none.
    """
    chain, dot, number = name.partition(".r")
    if dot and len(chain) >= WHOLE:
        return await client.request(name)
    ids = [request.id async for request in open_requests(client)]
    fitting = [known for known in ids if known.startswith(chain)]
    fitting = [known for known in fitting if known.endswith(dot + number)]
    if not fitting:
        why = "none begins so, or it was answered meanwhile"
        raise usage(f"{name} is no open question", why, "haltpoint inbox lists the open ones")
    return await client.request(_only(name, fitting))


async def chain_named(client: "Client", name: str) -> str:
    """The id of a chain, or of the one among the newest thousand that begins so. Raises
    HaltpointError where several do; a name with which none begins stays as it is.
    """
    from haltpoint.contracts.base import root_of

    ids: list[str] = []
    page: Any = None
    for _ in range(_PAGES if len(name) < WHOLE else 0):
        page = await client.chains(cursor=page and page.next_cursor, limit=_PAGE)
        ids += [root_of(chain.id) for chain in page.items if chain.id.startswith(name)]
        if page.next_cursor is None:
            break
    known = tuple(dict.fromkeys(ids))
    return _only(name, known) if known else name


def _only(name: str, ids: Sequence[str]) -> str:
    if len(ids) > 1 and name not in ids:
        shown = ", ".join(ids[:_MOST_NAMED])
        raise usage(f"more than one id begins with {name}", f"there are {shown}", "Give more of it")
    return name if name in ids else ids[0]
