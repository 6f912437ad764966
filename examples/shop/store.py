"""The shop: products and orders in one SQLite file, SHOP_DATABASE (default: shop.db).

Each change is made once under its key, so that a worker which dies repeats nothing.
"""

import os
import sqlite3
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from haltpoint import ToolError

_TABLES: Final = """
    CREATE TABLE IF NOT EXISTS products (
        product_id TEXT PRIMARY KEY, name TEXT, price INTEGER, stock INTEGER);
    CREATE TABLE IF NOT EXISTS orders (
        order_id TEXT PRIMARY KEY, key TEXT UNIQUE, product_id TEXT, quantity INTEGER, status TEXT);
    INSERT OR IGNORE INTO products VALUES
        ('p-1', 'blue mug', 900, 12), ('p-2', 'red mug', 900, 3), ('p-3', 'teapot', 3400, 5);
"""
_ORDER: Final = "SELECT * FROM orders JOIN products USING (product_id) WHERE "


class Product(BaseModel):
    """Something to buy. `price` in cents."""

    product_id: str
    name: str
    price: int
    stock: int


class Order(BaseModel):
    """An order; `status` is open, cancelled or shipped."""

    order_id: str
    product_id: str
    name: str
    quantity: int
    status: str


class Shop:
    """One file. Several processes may work with it at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._open() as database:
            database.executescript(_TABLES)

    def products(self, words: str = "") -> list[Product]:
        """The products whose name has these words."""
        with self._open() as database:
            query = "SELECT * FROM products WHERE name LIKE ? ORDER BY product_id"
            rows = database.execute(query, (f"%{words}%",)).fetchall()
        return [Product.model_validate(dict(row)) for row in rows]

    def order(self, order_id: str) -> Order:
        """An order. Raises ToolError NOT_FOUND."""
        with self._open() as database:
            row = database.execute(f"{_ORDER} order_id = ?", (order_id,)).fetchone()
        if row is None:
            raise ToolError.not_found(f"There is no order {order_id!r}.")
        return Order.model_validate(dict(row))

    def place(self, key: str, product_id: str, quantity: int) -> Order:
        """Order a product, once under this key. Raises ToolError VALIDATION."""
        with self._open() as database:
            made = database.execute(f"{_ORDER} key = ?", (key,)).fetchone()
            if made is not None:
                return Order.model_validate(dict(made))
            take = "UPDATE products SET stock = stock - ? WHERE product_id = ? AND stock >= ?"
            if not database.execute(take, (quantity, product_id, quantity)).rowcount:
                raise ToolError.validation(f"There are not {quantity} of {product_id!r}.")
            (orders,) = database.execute("SELECT count(*) FROM orders").fetchone()
            row = (f"o-{orders + 1}", key, product_id, quantity, "open")
            database.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", row)
        return self.order(row[0])

    def mark(self, order_id: str, status: str) -> Order:
        """Give an order another status."""
        with self._open() as database:
            change = "UPDATE orders SET status = ? WHERE order_id = ?"
            database.execute(change, (status, order_id))
        return self.order(order_id)

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=10)) as database, database:
            database.row_factory = sqlite3.Row
            yield database


@asynccontextmanager
async def lifespan() -> AsyncGenerator[Shop]:
    """Opened once by each worker. What it yields is `ctx.deps`."""
    yield Shop(Path(os.environ.get("SHOP_DATABASE", "shop.db")))
