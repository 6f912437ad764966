"""Step 4: an approval with a preview, and a way back."""

from typing import Any

from examples.shop.store import Order, Shop
from haltpoint import Ctx, ToolError, tool


def what_is_cancelled(order_id: str, ctx: Ctx[Shop]) -> str:
    order = ctx.deps.order(order_id)
    return f"Cancels {order.order_id}: {order.quantity} of {order.name}, now {order.status}."


def open_again(result: dict[str, Any], ctx: Ctx[Shop]) -> None:
    ctx.deps.mark(result["order_id"], "open")


@tool(
    destructive=True,
    idempotent=True,
    preview=what_is_cancelled,
    undo=open_again,
    says="Cancelled {order_id}, {quantity} of {name}",
)
def cancel_order(order_id: str, ctx: Ctx[Shop]) -> Order:
    """Cancel an order."""
    if ctx.deps.order(order_id).status == "shipped":
        raise ToolError.validation("The order has been shipped.")
    return ctx.deps.mark(order_id, "cancelled")
