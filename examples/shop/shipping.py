"""Step 5: a retry."""

from examples.shop.store import Order, Shop
from haltpoint import Ctx, Retry, tool


def carrier_takes(order: Order, attempt: int) -> None:
    """A carrier whose service is down for the first two calls, as carriers are."""
    if attempt < 3:
        raise ConnectionError(f"the carrier does not answer about {order.order_id}")


@tool(idempotent=True, retry=Retry(attempts=5, first="200ms"), says="Shipped {order_id}")
def ship_order(order_id: str, ctx: Ctx[Shop]) -> Order:
    """Hand an order to the carrier."""
    carrier_takes(ctx.deps.order(order_id), ctx.attempt)
    return ctx.deps.mark(order_id, "shipped")
