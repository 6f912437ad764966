"""`effect_key="refund:{payment_id}"`: a tool's effect happens once, whichever chain asks for it (CONTRACT E6)."""

from collections.abc import Mapping
from string import Formatter
from typing import Any, Final

from haltpoint.tools.errors import DeclarationError

_FORM: Final = "write it like effect_key='refund:{payment_id}'"


def checked_effect_key(key: object, parameters: Mapping[str, Any]) -> str | None:
    """The key, if each name in it is one of a parameter. Raises DeclarationError."""
    if key is None:
        return None
    if not isinstance(key, str) or not key.strip() or not key.isprintable():
        raise DeclarationError(f"effect_key={key!r}: {_FORM}, in one line")
    try:
        parts = list(Formatter().parse(key))
    except ValueError as error:
        raise DeclarationError(f"effect_key={key!r}: {error}; {_FORM}") from None
    known = parameters.get("properties", {})
    for _, name, form, conversion in parts:
        if name is not None and (name not in known or form or conversion):
            there_are = ", ".join(known) or "none"
            raise DeclarationError(
                f"effect_key={key!r}: {{{name}}} is not a parameter; there are: {there_are}. "
                "Name it alone, without a path or a format"
            )
    if all(name is None for _, name, *_ in parts):
        raise DeclarationError(f"effect_key={key!r} names no parameter, so only one call would ever run; {_FORM}")
    return key
