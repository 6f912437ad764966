"""`says="Message to {name}: {content}"`: the words that report a call of the tool as done (CONTRACT F1)."""

from collections.abc import Mapping
from string import Formatter
from typing import Any, Final

from haltpoint.tools.errors import DeclarationError
from haltpoint.tools.signature import fields_in

_FORM: Final = 'write it like says="Message to {name}: {content}"'


def checked_says(says: object, parameters: Mapping[str, Any], result: Mapping[str, Any] | None) -> str | None:
    """The words, if each name in them is one of a parameter or of a field of the result. Raises DeclarationError."""
    if says is None:
        return None
    if not isinstance(says, str) or not says.strip() or not says.isprintable():
        raise DeclarationError(f"says={says!r}: {_FORM}, in one line")
    try:
        parts = list(Formatter().parse(says))
    except ValueError as error:
        raise DeclarationError(f"says={says!r}: {error}; {_FORM}") from None
    fields = fields_in(result or {}, (result or {}).get("$defs", {}))
    known = [*parameters.get("properties", {}), *fields]
    for _, name, form, conversion in parts:
        if name is not None and (name not in known or form or conversion):
            there_are = ", ".join(dict.fromkeys(known)) or "none"
            raise DeclarationError(
                f"says={says!r}: {{{name}}} is neither a parameter nor a field of the declared result; there are: "
                f"{there_are}. Name it alone, without a path or a format"
            )
    return says
