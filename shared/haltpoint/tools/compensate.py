"""`@tool(compensate=f)`: takes back what a call has done (CONTRACT E7).

    async def remove_page(arguments: dict[str, Any], result: dict[str, Any], ctx: Ctx[Deps]) -> None:
        await ctx.deps.pages.remove(result["page_id"])

    @tool(compensate=remove_page)
    async def create_page(...): ...

It takes those of `arguments` (as they ran), `result` (the data) and `ctx` that it names. It runs once for a call, as a
call of its own, and without an approval.
"""

from typing import Final

from pydantic import BaseModel

from haltpoint.contracts.tools import UNDO, Retry, ToolSpec
from haltpoint.tools.callback import CONTEXT, Callback
from haltpoint.tools.signature import Inputs

TAKES: Final = frozenset({"arguments", "result", CONTEXT})


class Undone(BaseModel):
    """What the call of a compensation takes: the action that it undoes."""

    action_id: str


def undo_inputs(compensate: Callback) -> Inputs:
    """What the call of a compensation takes, as a tool's inputs."""
    names = {"action_id": "action_id"}
    context = CONTEXT if CONTEXT in compensate.takes else None
    return Inputs(Undone, names, context, Undone.model_json_schema())


def undo_spec(spec: ToolSpec) -> ToolSpec:
    """The compensation of a tool as the catalogue has it: a tool that only the runtime calls."""
    return ToolSpec(
        name=f"{spec.name}{UNDO}",
        description=f"Undo a call of {spec.name}.",
        parameters=Undone.model_json_schema(),
        internal=True,
        undoes=spec.name,
        queue=spec.queue,
        timeout=spec.timeout,
        retry=Retry(),
    )
