"""Texts with names in braces: `says="Message to {name}: {content}"` reports a call of the tool as
done (CONTRACT F1), `effect_key="refund:{payment_id}"` names the one effect of a call, whichever
chain asks for it (E6).
"""

from collections.abc import Mapping
from string import Formatter
from typing import Any, Final

from haltpoint.tools.errors import DeclarationError
from haltpoint.tools.signature import fields_in

_FORMS: Final = {
    "says": 'write it like says="Message to {name}: {content}"',
    "effect_key": "write it like effect_key='refund:{payment_id}'",
}


def checked_says(
    says: str | None, parameters: Mapping[str, Any], result: Mapping[str, Any] | None
) -> str | None:
    """The words, if each name in them is one of a parameter or of a field of the result. Raises
    DeclarationError.
    """
    known = list(parameters.get("properties", ()))
    known += fields_in(result or {})
    if says is not None:
        _names_in("says", says, known, "neither a parameter nor a field of the declared result")
    return says


def checked_effect_key(key: str | None, parameters: Mapping[str, Any]) -> str | None:
    """The key, if each name in it is one of a parameter. Raises DeclarationError."""
    known = list(parameters.get("properties", ()))
    if key is not None and not _names_in("effect_key", key, known, "not a parameter"):
        why = "names no parameter, so only one call would ever run"
        raise DeclarationError(f"effect_key={key!r} {why}; {_FORMS['effect_key']}")
    return key


def _names_in(trait: str, text: object, known: list[str], stranger: str) -> list[str]:
    declared, form = f"{trait}={text!r}", _FORMS[trait]
    if not isinstance(text, str) or not text.strip() or not text.isprintable():
        raise DeclarationError(f"{declared}: {form}, in one line")
    try:
        parts = [part for part in Formatter().parse(text) if part[1] is not None]
    except ValueError as error:
        raise DeclarationError(f"{declared}: {error}; {form}") from None
    for _, name, how, conversion in parts:
        if name not in known or how or conversion:
            raise DeclarationError(
                f"{declared}: {{{name}}} is {stranger}; there are: {', '.join(known) or 'none'}. "
                "Name it alone, without a path or a format"
            )
    return [str(name) for _, name, _, _ in parts]
