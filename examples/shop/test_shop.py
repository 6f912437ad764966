"""Step 7: tests. The last one needs a running shop and a key in SHOP_KEY."""

import os
from pathlib import Path

import pytest

from examples.shop.cancelling import cancel_order, what_is_cancelled
from examples.shop.finding import find_product
from examples.shop.ordering import order_product
from examples.shop.store import Shop
from haltpoint import Ctx, SyncClient, ToolError


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop.db")


def test_two_mugs_are_a_question(shop: Shop) -> None:
    asked = find_product("mug", Ctx(deps=shop))
    assert asked.clarification is not None
    assert [option.id for option in asked.clarification.options] == ["p-1", "p-2"]


def test_an_order_is_made_once_under_its_key(shop: Shop) -> None:
    ctx = Ctx(deps=shop, action_id="c.order.1")
    assert order_product("p-3", 2, ctx) == order_product("p-3", 2, ctx)
    assert shop.products("teapot")[0].stock == 3


def test_a_shipped_order_is_not_cancelled(shop: Shop) -> None:
    order = shop.mark(shop.place("k", "p-1", 1).order_id, "shipped")
    assert what_is_cancelled(order.order_id, Ctx(deps=shop)).endswith("now shipped.")
    with pytest.raises(ToolError, match="has been shipped"):
        cancel_order(order.order_id, Ctx(deps=shop, confirmed=True))


@pytest.mark.skipif("SHOP_KEY" not in os.environ, reason="needs a running shop and its key")
def test_a_person_chooses_the_mug() -> None:
    url = os.environ.get("SHOP_URL", "http://127.0.0.1:8700")
    with SyncClient(url, os.environ["SHOP_KEY"]) as client:
        run = client.run("Order 1 mugs")
        question = run.expects_request("clarification")
        client.answer(question.id, option_id="p-1")
        result = run.result(timeout=30)
    assert [deed.tool for deed in result.answer.deeds] == ["order_product"]
