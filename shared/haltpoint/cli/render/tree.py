"""The chains below one, for people: who works there, and how far."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from haltpoint.runtime.views.wording import spaced

if TYPE_CHECKING:
    from haltpoint.contracts.views.chains import ChainView, ChildView


def tree(chain: "ChainView | ChildView", indent: str = "") -> Iterator[str]:
    """A line for each chain below, with its agent or its skill, its status and its id."""
    for child in chain.children:
        name = child.agent or child.goal.partition(":")[0]
        status = spaced(child.status)
        yield f"{indent}{name}  {status}  {child.id}"
        yield from tree(child, f"{indent}  ")
