"""`@tool(rate_limit="10/s burst 20", at_once=4)`: what all workers together keep to (CONTRACT E6).

    @tool(rate_limit=("100/m", "10/m per tenant"), at_once=(8, "2 per tenant"))
    async def send(...): ...

A rate without a burst lets one call begin at a time, evenly spaced.
"""

import re
from typing import Final

from haltpoint.contracts.base import UNITS
from haltpoint.contracts.tools import Limit, LimitKind
from haltpoint.tools.errors import DeclarationError

_FORM: Final = re.compile(
    r"(?P<calls>[1-9]\d{0,6})(?:/(?P<unit>ms|s|m|h|d)(?: burst (?P<burst>[1-9]\d{0,6}))?)?"
    r"(?P<tenant> per tenant)?"
)
_HELP: Final = {
    LimitKind.RATE: (
        "write it like '10/s', '100/m burst 20' or '5/s per tenant' (ms, s, m, h or d)"
    ),
    LimitKind.AT_ONCE: "give a number of calls, as in 4, or '4 per tenant'",
}


def limits_of(rate_limit: object, at_once: object) -> tuple[Limit, ...]:
    """The limits that a tool declares: first how many at once, then how often. Raises
    DeclarationError.
    """
    limits: list[Limit] = []
    for kind, given in ((LimitKind.AT_ONCE, at_once), (LimitKind.RATE, rate_limit)):
        each = given if isinstance(given, tuple) else (given,)
        limits += [_limit(kind, limit) for limit in each]
    return tuple(limits)


def _limit(kind: LimitKind, given: object) -> Limit:
    text = str(given) if isinstance(given, int | str) else ""
    match = _FORM.fullmatch(text)
    is_rate = kind is LimitKind.RATE
    if match is None or is_rate != bool(match["unit"]):
        raise DeclarationError(f"{kind}={given!r}: {_HELP[kind]}")
    return Limit(
        kind=kind,
        written=text,
        calls=int(match["calls"]),
        seconds=UNITS[match["unit"] or "s"],
        burst=int(match["burst"] or 1),
        per_tenant=match["tenant"] is not None,
    )
