"""Step 3: an id that cannot be made up."""

from typing import Annotated

from pydantic import Field

from examples.shop.store import Order, Shop
from haltpoint import Ctx, FromResult, tool

ProductId = Annotated[str, FromResult("find_product.product_id")]
Quantity = Annotated[int, Field(ge=1, le=10)]


@tool(idempotent=True, says="Ordered {quantity} of {name} as {order_id}")
def order_product(product_id: ProductId, quantity: Quantity, ctx: Ctx[Shop]) -> Order:
    """Order a product that find_product has found."""
    return ctx.deps.place(ctx.idempotency_key, product_id, quantity)
