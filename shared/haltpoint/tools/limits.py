"""`@tool(rate_limit="10/s burst 20", at_once=4)`: what all workers together keep to (CONTRACT E6).

    @tool(rate_limit=("100/m", "10/m per tenant"), at_once=(8, "2 per tenant"))
    async def send(...): ...

A rate without a burst lets one call begin at a time, evenly spaced.
"""

import re
from typing import Any, Final

from haltpoint.contracts.base import UNITS
from haltpoint.contracts.tools import Limit, LimitKind
from haltpoint.tools.errors import DeclarationError

_TENANT: Final = r"(?P<tenant> per tenant)?"
_CALLS: Final = r"(?P<calls>[1-9]\d{0,6})"
_RATE: Final = re.compile(
    rf"{_CALLS}/(?P<unit>ms|s|m|h|d)(?: burst (?P<burst>[1-9]\d{{0,6}}))?{_TENANT}"
)
_AT_ONCE: Final = re.compile(_CALLS + _TENANT)


def limits_of(rate_limit: object, at_once: object) -> tuple[Limit, ...]:
    """The limits that a tool declares: first how many at once, then how often. Raises
    DeclarationError.
    """
    return (*map(_at_once, _each(at_once)), *map(_rate, _each(rate_limit)))


def _each(given: object) -> tuple[Any, ...]:
    return given if isinstance(given, tuple) else (given,)


def _rate(given: object) -> Limit:
    match = _RATE.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        raise DeclarationError(
            f"rate_limit={given!r}: write it like '10/s', '100/m burst 20' or '5/s per "
            "tenant' (ms, s, m, h or d)"
        )
    return Limit(
        kind=LimitKind.RATE,
        calls=int(match["calls"]),
        seconds=UNITS[match["unit"]],
        burst=int(match["burst"] or 1),
        per_tenant=match["tenant"] is not None,
    )


def _at_once(given: object) -> Limit:
    text = str(given) if isinstance(given, int | str) and not isinstance(given, bool) else ""
    if (match := _AT_ONCE.fullmatch(text)) is None:
        raise DeclarationError(
            f"at_once={given!r}: give a number of calls, as in 4, or '4 per tenant'"
        )
    return Limit(
        kind=LimitKind.AT_ONCE, calls=int(match["calls"]), per_tenant=match["tenant"] is not None
    )
