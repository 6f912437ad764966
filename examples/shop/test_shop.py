"""Step 7: tests, of the tools and of whole chains."""

from pathlib import Path

import pytest

from examples.shop.cancelling import cancel_order, what_is_cancelled
from examples.shop.finding import find_product
from examples.shop.store import Shop
from haltpoint import Ctx, ToolError
from haltpoint.testing.harness import Harness


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop.db")


def test_two_mugs_are_a_question(shop: Shop) -> None:
    asked = find_product("mug", Ctx(deps=shop))
    assert asked.clarification is not None
    assert [option.id for option in asked.clarification.options] == ["p-1", "p-2"]


def test_a_shipped_order_is_not_cancelled(shop: Shop) -> None:
    order = shop.mark(shop.place("k", "p-1", 1).order_id, "shipped")
    assert what_is_cancelled(order.order_id, Ctx(deps=shop)).endswith("now shipped.")
    with pytest.raises(ToolError, match="has been shipped"):
        cancel_order(order.order_id, Ctx(deps=shop, confirmed=True))


@pytest.fixture
def opened(harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Harness:
    """A system that serves the shop."""
    monkeypatch.setenv("SHOP_DATABASE", str(tmp_path / "shop.db"))
    harness.start("examples.shop.tools", script=Path(__file__).with_name("model.json"))
    return harness


def test_a_person_chooses_the_mug(opened: Harness) -> None:
    run = opened.run("Order 1 mugs")
    question = run.expects_request("clarification", tool="find_product")
    opened.client.answer(question.id, option_id="p-1")
    result = run.result()
    assert [deed.tool for deed in result.answer.deeds] == ["order_product"]


def test_an_order_is_made_once_though_its_worker_dies(opened: Harness, shop: Shop) -> None:
    opened.crash_after("order_product")
    assert opened.run("Order 2 teapots").result().status == "completed"
    assert shop.products("teapot")[0].stock == 3
