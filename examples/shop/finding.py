"""Step 2: a question."""

from examples.shop.store import Product, Shop
from haltpoint import Ctx, Option, ToolError, ToolResult, tool


@tool(read_only=True, may_clarify=True)
def find_product(words: str, ctx: Ctx[Shop]) -> ToolResult[Product]:
    """Find a product by words of its name."""
    hits = ctx.deps.products(words)
    if not hits:
        raise ToolError.not_found(f"Nothing is called {words!r}.", suggestion="Use fewer words.")
    if len(hits) == 1:
        return ctx.ok(hits[0])
    options = [Option(id=hit.product_id, title=hit.name, value=hit.model_dump()) for hit in hits]
    return ctx.clarify("product", f"Which {words!r}?", options)
