"""Three tools of a shop's support, over its orders in one SQLite file.

    haltpoint up --tools examples.support.tools

SUPPORT_DATABASE names the file (default: shop.db). A new one begins with two orders.
"""

import os
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from haltpoint import Ctx, FromResult, ToolError, tool

ORDERS = (("A-1042", "desk lamp", "arrived broken"), ("B-2077", "coffee machine", "delivered"))

Number = Annotated[str, Field(description="the order's number, as A-1042", max_length=20)]
Found = Annotated[str, FromResult("find_order.number")]


class Order(BaseModel):
    """What was bought, and how it is now."""

    number: str
    item: str
    state: str


@asynccontextmanager
async def lifespan() -> AsyncGenerator[Path]:
    """The file that the environment names."""
    path = Path(os.environ.get("SUPPORT_DATABASE", "shop.db"))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE IF NOT EXISTS orders (number TEXT PRIMARY KEY, item TEXT, state TEXT)"
        )
        database.executemany("INSERT OR IGNORE INTO orders VALUES (?, ?, ?)", ORDERS)
    yield path


@tool(read_only=True)
def find_order(number: Number, ctx: Ctx[Path]) -> Order:
    """Find an order by its number: what was bought, and how it is now."""
    return _order(ctx.deps, number)


@tool(idempotent=True, says="Refunded {number}: {item}")
def refund_order(number: Found, ctx: Ctx[Path]) -> Order:
    """Give the customer the money for an order back."""
    return _put(ctx.deps, number, "refunded")


@tool(idempotent=True, says="Repair of {number}: {item}")
def repair_order(number: Found, ctx: Ctx[Path]) -> Order:
    """Have what was bought collected and repaired."""
    return _put(ctx.deps, number, "in repair")


def _put(path: Path, number: str, state: str) -> Order:
    """The order in its new state."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE orders SET state = ? WHERE number = ?", (state, number))
    return _order(path, number)


def _order(path: Path, number: str) -> Order:
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        row = database.execute("SELECT * FROM orders WHERE number = ?", (number,)).fetchone()
    if row is None:
        raise ToolError.not_found(
            f"There is no order {number!r}.", suggestion="Ask the customer for its number."
        )
    return Order.model_validate(dict(row))
