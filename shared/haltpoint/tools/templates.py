"""Texts with names in braces: `says="Message to {name}: {content}"` reports a call of the tool as
done (CONTRACT F1), `effect_key="refund:{payment_id}"` names the one effect of a call, whichever
chain asks for it (E6).
"""

from collections.abc import Collection
from string import Formatter
from typing import Final

from haltpoint.tools.errors import DeclarationError

_FORMS: Final = {
    "says": (
        'write it like says="Message to {name}: {content}"',
        "neither a parameter nor a field of the declared result",
    ),
    "effect_key": ("write it like effect_key='refund:{payment_id}'", "not a parameter"),
}
"""How a trait is written, and what a name in it is that is not known."""


def check_names(trait: str, text: str, known: Collection[str]) -> None:
    """Whether each name in the text of a trait is known, and an `effect_key` has one at least.
    Raises DeclarationError.
    """
    declared = f"{trait}={text!r}"
    form, stranger = _FORMS[trait]
    if not text.strip() or not text.isprintable():
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
    if trait == "effect_key" and not parts:
        raise DeclarationError(
            f"{declared} names no parameter, so only one call would ever run; {form}"
        )
