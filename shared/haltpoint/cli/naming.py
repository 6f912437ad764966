"""Ids that are typed in part: the beginning of an id is enough where it is the only one."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from haltpoint.cli.errors import usage
from haltpoint.runtime.config.errors import HaltpointError

if TYPE_CHECKING:
    from haltpoint.client import Client
    from haltpoint.contracts.views.chains import RequestView

WHOLE: Final = 32
"""Characters of the id of a root chain."""
_PAGE: Final = 200
_MOST_NAMED: Final = 5
_LISTS: Final = {
    "chain": "haltpoint chain list",
    "question": "haltpoint inbox",
    "key": "haltpoint key list",
    "worker": "haltpoint worker list",
    "dead letter": "haltpoint dlq list",
}


async def request_named(client: "Client", name: str) -> "RequestView":
    """The question with this id, or the only one whose id begins so: `01a2`, or `01a2.r2`. Those
    that were answered count too, also beside one that is open: `answer 01a2 approve`, typed twice,
    never says yes to a question that was asked in between.
    Raises HaltpointError where there are several or none, and GatewayError for a whole id that is
    none.
    """
    from haltpoint.contracts.base import root_of
    from haltpoint.runtime.views.question import asked_in

    chain, dot, number = name.partition(".r")
    if dot and len(chain) >= WHOLE:
        return await client.request(name)
    known = await _beginning_so(client, chain)
    only("question", chain, map(root_of, known))
    ids: list[str] = []
    for chain_id in known:
        ids += [asked.id for asked in asked_in(await client.chain(chain_id))]
    fitting = [asked for asked in ids if asked.endswith(dot + number)]
    more = f"Add its number, as in {chain}.{fitting[-1].rpartition('.')[2]}" if fitting else ""
    return await client.request(only("question", chain, fitting, more))


async def chain_named(client: "Client", name: str) -> str:
    """The id of a chain, or of the only one that begins so. Raises HaltpointError."""
    from haltpoint.contracts.base import root_of

    if len(name) >= WHOLE:
        return name
    known = await _beginning_so(client, name)
    return only("chain", name, map(root_of, known))


async def _beginning_so(client: "Client", name: str) -> list[str]:
    """The chains whose ids begin so; a whole id is its own."""
    if not name:
        fix = "haltpoint inbox and haltpoint chain list show the ids"
        raise usage("an id is needed", "it is empty; is the variable set?", fix)
    if len(name) >= WHOLE:
        return [name]
    page = await client.chains(q=name, limit=_PAGE)
    return [chain.id for chain in page.items if chain.id.startswith(name)]


def only(
    kind: str, name: str, known: Iterable[str], more: str = "Give more characters of it"
) -> str:
    """The one id that begins so. Raises HaltpointError where there are several, with what `more` to
    give, or none.
    """
    ids = [each for each in dict.fromkeys(known) if each.startswith(name)]
    if not ids:
        fix = f"{_LISTS[kind]} shows the ids"
        raise HaltpointError(
            "HP-053", f"there is no {kind} {name!r}", "no id begins with that", fix
        )
    if len(ids) > 1 and name not in ids:
        shown = ", ".join(ids[:_MOST_NAMED])
        fix = f"{more}; {_LISTS[kind]} shows which is which"
        raise usage(f"more than one id begins with {name}", f"there are {shown}", fix)
    return name if name in ids else ids[0]
