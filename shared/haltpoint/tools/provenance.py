"""Where a parameter's value must come from (CONTRACT A, C6): a model cannot make up an id."""

import re
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from haltpoint.tools.errors import DeclarationError

_PATH: Final = re.compile(r"[A-Za-z0-9_-]{1,64}(\[\])?(\.[A-Za-z0-9_-]+(\[\])*)+")


@dataclass(frozen=True, slots=True)
class FromResult:
    """Marks a parameter: `Annotated[str, FromResult("lookup_contacts.contact_id")]`.

    `path` is a tool's name and the place under `data` of its successful receipts; `[]` stands for any element of a
    list: `search.hits[].id`. Raises DeclarationError for any other form.
    """

    path: str

    def __post_init__(self) -> None:
        if not _PATH.fullmatch(self.path):
            raise DeclarationError(
                f"FromResult({self.path!r}): write a tool's name, a dot and the place in its data, "
                "as in 'lookup_contacts.contact_id' or 'search.hits[].id'"
            )


def origin_of(annotation: Any) -> str | None:
    """The path that a parameter's annotation names, also as `Annotated[...] | None`; None when it names none.

    Raises DeclarationError for a mark inside a container, where it would protect nothing, and for two marks.
    """
    found = _marks(annotation)
    if get_origin(annotation) in (Union, UnionType):
        parts = get_args(annotation)
        found += [mark for part in parts for mark in _marks(part)]
    else:
        parts = (annotation,)
    for part in parts:
        bare = get_args(part)[0] if get_origin(part) is Annotated else part
        if any(_holds_a_mark(inner) for inner in get_args(bare)):
            raise DeclarationError("FromResult belongs on the parameter itself, not on what a container holds")
    if len(found) > 1:
        raise DeclarationError("a parameter has one origin, not several FromResult")
    return found[0] if found else None


def _marks(annotation: Any) -> list[str]:
    if get_origin(annotation) is not Annotated:
        return []
    return [mark.path for mark in get_args(annotation)[1:] if isinstance(mark, FromResult)]


def _holds_a_mark(annotation: Any) -> bool:
    return bool(_marks(annotation)) or any(_holds_a_mark(part) for part in get_args(annotation))
