"""Step 1: a tool."""

from examples.shop.store import Product, Shop
from haltpoint import Ctx, tool


@tool(read_only=True)
def list_products(ctx: Ctx[Shop]) -> list[Product]:
    """List all products of the shop."""
    return ctx.deps.products()
