"""Ids that are typed in part: the beginning of an id is enough where it is the only one."""

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Final

from haltpoint.cli.errors import usage

if TYPE_CHECKING:
    from haltpoint.client import Client
    from haltpoint.contracts.views.chains import RequestView

WHOLE: Final = 32
"""Characters of the id of a root chain."""
_PAGE: Final = 200
_NEWEST: Final = 1000
"""Chains among which one is looked for."""
_MOST_NAMED: Final = 5


async def open_requests(client: "Client") -> AsyncIterator["RequestView"]:
    """All open questions, urgent ones first, page by page."""
    cursor: str | None = None
    while True:
        page = await client.requests(cursor=cursor, limit=_PAGE)
        for request in page.items:
            yield request
        if page.next_cursor is None:
            return
        cursor = page.next_cursor


async def request_named(client: "Client", name: str) -> "RequestView":
    """The question with this id, or the open one whose id begins so. Raises CliError where several
    do, and GatewayError where there is none.
    """
    if len(name) < WHOLE:
        ids = [request.id async for request in open_requests(client)]
        name = _only(name, ids)
    return await client.request(name)


async def chain_named(client: "Client", name: str) -> str:
    """The id of a chain, or of the one among the newest thousand that begins so. Raises CliError
    where several do; a name with which none begins stays as it is.
    """
    ids: list[str] = []
    cursor: str | None = None
    while len(name) < WHOLE and len(ids) < _NEWEST:
        page = await client.chains(cursor=cursor, limit=_PAGE)
        ids += [chain.id for chain in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    return _only(name, ids)


def _only(name: str, ids: Sequence[str]) -> str:
    begin_so = [known for known in ids if known.startswith(name)]
    if name in begin_so or not begin_so:
        return name
    if len(begin_so) > 1:
        shown = ", ".join(begin_so[:_MOST_NAMED])
        raise usage(f"more than one id begins with {name}", f"there are {shown}", "Give more of it")
    return begin_so[0]
