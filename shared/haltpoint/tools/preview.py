"""`@tool(preview=f)`: what a call would do, told before a person is asked about it (CONTRACT G2).

    def describe(page_id: str, ctx: Ctx[Deps]) -> str:
        return f"Deletes {ctx.deps.title(page_id)!r} and its {ctx.deps.count(page_id)} sections."

    @tool(destructive=True, preview=describe)
    def delete_page(page_id: str, force: bool, ctx: Ctx[Deps]) -> None: ...

It changes nothing. It takes those of the tool's own parameters that it names, and ctx.
"""

import inspect
from dataclasses import dataclass

from haltpoint.tools.errors import DeclarationError
from haltpoint.tools.signature import Function, Inputs, is_async, place_of

CONTEXT = "ctx"


@dataclass(frozen=True, slots=True)
class Preview:
    """A tool's preview: `takes` are the parameters that it names, with `ctx` if it wants one."""

    name: str
    function: Function
    is_async: bool
    place: str
    takes: frozenset[str]


def preview_of(function: object, tool: str, inputs: Inputs) -> Preview:
    """The preview of a tool with these inputs. Raises DeclarationError."""
    if not callable(function) or inspect.isclass(function):
        raise DeclarationError(f"preview={function!r}: give a function with the tool's own parameters")
    parameters = inspect.signature(function).parameters
    takes = frozenset(parameters)
    own = {*inputs.names.values(), CONTEXT}
    if unknown := sorted(takes - own):
        words = f"preview takes {', '.join(unknown)}, and the tool does not"
        raise DeclarationError(f"{words}; it may take: {', '.join(sorted(own))}")
    if any(one.kind is one.POSITIONAL_ONLY for one in parameters.values()):
        raise DeclarationError("preview is called with names: it can have no positional-only parameters")
    return Preview(f"the preview of {tool}", function, is_async(function), place_of(function), takes)
