"""The tools of the cms example, called as functions over a site of their own."""

from pathlib import Path

import pytest

from examples.cms import tools
from examples.cms.site import Site
from haltpoint import Ctx, ToolError
from haltpoint.contracts.results import ErrorType


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "site.db")


def context(site: Site, action_id: str = "c.s.1") -> Ctx[Site]:
    return Ctx(deps=site, action_id=action_id)


def test_a_change_under_one_key_happens_once(site: Site) -> None:
    page = tools.create_page("News", "news", context(site))
    assert tools.create_page("News", "news", context(site)) == page
    added = tools.add_section(page.page_id, "text", "Today", "Rain.", context(site, "c.s.2"))
    assert (
        tools.add_section(page.page_id, "text", "Today", "Rain.", context(site, "c.s.2")) == added
    )
    assert len(tools.get_page(context(site), "news").sections) == 1
    assert Site(site._path).page("news", None, whole=True).sections == [added], "and it lasts"


def test_what_cannot_be_done_changes_nothing(site: Site) -> None:
    for missing in (
        lambda: tools.get_page(context(site), "nowhere"),
        lambda: tools.add_section("page-123", "hero", "a", "b", context(site)),
        lambda: tools.update_section("section-1", context(site), text="x"),
    ):
        with pytest.raises(ToolError) as caught:
            missing()
        assert caught.value.error_type is ErrorType.NOT_FOUND
    with pytest.raises(ToolError, match="a page 'visit' already") as taken:
        tools.create_page("Visit", "visit", context(site))
    assert taken.value.invalid_fields == ("slug",)
    tools.create_page("Other", "other", context(site))
    assert len(tools.find_resource("other", context(site)).hits) >= 1, (
        "the key of what failed is free"
    )
