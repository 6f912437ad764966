"""All tools of the shop: `haltpoint up --tools examples.shop.tools`."""

from examples.shop.cancelling import cancel_order
from examples.shop.catalogue import list_products
from examples.shop.finding import find_product
from examples.shop.ordering import order_product
from examples.shop.shipping import ship_order
from examples.shop.store import lifespan

__all__ = [
    "cancel_order",
    "find_product",
    "lifespan",
    "list_products",
    "order_product",
    "ship_order",
]
