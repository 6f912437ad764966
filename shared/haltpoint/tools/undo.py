"""`@tool(undo=f)`: takes back what a call has done, when a person wants that (CONTRACT E7).

    async def remove_page(result: dict[str, Any], ctx: Ctx[Deps]) -> None:
        await ctx.deps.pages.remove(result["page_id"])

    @tool(undo=remove_page)
    async def create_page(...): ...

It takes those of `arguments` (as they ran), `result` (the data) and `ctx` that it names. A worker
serves it as a hidden tool, which no model is offered: it takes the id of the action that it undoes.
`ctx.idempotency_key` is the same however often a person undoes that action.
"""

from typing import Final

from pydantic import BaseModel

from haltpoint.contracts.tools import UNDO, Recovery, Retry, ToolSpec
from haltpoint.tools.callback import CONTEXT, Callback
from haltpoint.tools.signature import Inputs

TAKES: Final = frozenset({"arguments", "result", CONTEXT})


class Undone(BaseModel):
    """What the hidden tool takes: the action that it undoes."""

    action_id: str


def undo_inputs(undo: Callback) -> Inputs:
    """What the hidden tool takes, as a tool's inputs."""
    names = {"action_id": "action_id"}
    context = CONTEXT if CONTEXT in undo.takes else None
    schema = Undone.model_json_schema()
    return Inputs(Undone, names, context, schema)


def undo_spec(spec: ToolSpec) -> ToolSpec:
    """The hidden tool that undoes the calls of this one."""
    return ToolSpec(
        name=f"{spec.name}{UNDO}",
        description=f"Undo a call of {spec.name}.",
        parameters=Undone.model_json_schema(),
        says="Undid {action_id}",
        internal=True,
        queue=spec.queue,
        timeout=spec.timeout,
        recovery=Recovery(retry=Retry()),
    )


def undo_key(action_id: str) -> str:
    """The key under which an action is undone, each time."""
    return f"{action_id}{UNDO}"
