"""`@tool(undo=f)`: takes back what a call has done, when a person wants that (CONTRACT E7).

    async def remove_page(result: dict[str, Any], ctx: Ctx[Deps]) -> None:
        await ctx.deps.pages.remove(result["page_id"])

    @tool(undo=remove_page)
    async def create_page(...): ...

It takes those of `arguments` (as they ran), `result` (the data) and `ctx` that it names. A worker
serves it as a hidden tool, which no model is offered: it takes the id of the action that it undoes,
and the words of its deed.
`ctx.idempotency_key` is the same however often a person undoes that action.
"""

from typing import NotRequired

from haltpoint.contracts.tools import UNDO, Recovery, Retry, ToolSpec
from haltpoint.tools.callback import Callback
from haltpoint.tools.declaration import Tool
from haltpoint.tools.signature import CONTEXT, Inputs, Output, adapter_of


def undoing(tool: Tool, undo: Callback) -> Tool:
    """The hidden tool that undoes the calls of this one."""
    adapter = adapter_of("Undone", {"action_id": str, "says": NotRequired[str]})
    schema = adapter.json_schema()
    spec = ToolSpec(
        name=f"{tool.name}{UNDO}",
        description="Undo a call.",
        parameters=schema,
        says="Undid: {says}",
        internal=True,
        queue=tool.spec.queue,
        timeout=tool.spec.timeout,
        recovery=Recovery(retry=Retry()),
    )
    context = CONTEXT if CONTEXT in undo.takes else None
    inputs = Inputs(adapter, context, schema)
    return Tool(spec, undo.function, inputs, Output(), undo.is_async, undo.place, undo=undo)
