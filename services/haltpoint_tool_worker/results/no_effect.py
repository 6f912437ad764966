"""Exceptions after which nothing has happened, beside those of a tool's own `no_effect` (CONTRACT E5).

A module says it of its tools with `NO_EFFECT = (ValueError, ...)`, a deployment of all with HALTPOINT_NO_EFFECT, whose
names are builtins or dotted: `ValueError,shop.errors.Refused`. Subclasses count too.
"""

import builtins
from collections.abc import Sequence
from importlib import import_module

from haltpoint.runtime.config.errors import HaltpointError, in_words
from haltpoint.tools import DeclarationError
from haltpoint.tools.declaration import exceptions_in


def exceptions_of(module: object) -> tuple[type[BaseException], ...]:
    """What a module says in NO_EFFECT. Raises DeclarationError."""
    return exceptions_in(getattr(module, "NO_EFFECT", ()))


def exceptions_named(names: Sequence[str]) -> tuple[type[BaseException], ...]:
    """The classes that HALTPOINT_NO_EFFECT names. Raises HaltpointError HP-001."""
    return tuple(_named(name) for name in names)


def _named(name: str) -> type[BaseException]:
    module, _, place = name.replace(":", ".").rpartition(".")
    try:
        found = getattr(import_module(module) if module else builtins, place)
        (kind,) = exceptions_in((found,))
    except DeclarationError:
        why = "it is not a class of exceptions"
    except Exception as error:  # noqa: BLE001 - whatever the import of the operator's module raises
        why = in_words(error)
    else:
        return kind
    raise HaltpointError(
        "HP-001",
        f"HALTPOINT_NO_EFFECT names {name!r}, which cannot be used",
        why,
        "Name builtin exceptions or dotted ones, as in HALTPOINT_NO_EFFECT=ValueError,shop.errors.Refused",
    )
