"""`@tool(one_of_parameters=...)`: of each group of parameters a call gives one, as all who read it
know.
"""

import jsonschema
import pytest

from haltpoint.tools import DeclarationError, tool, tool_of
from haltpoint.tools.declaration import Tool
from haltpoint_planner.prompting.tool_forms import described, form_of


@tool(name="getPage", read_only=True, one_of_parameters=(("slug", "id"),))
def get_page(slug: str | None = None, id: str | None = None, include_content: bool = False) -> str:
    """Get a page."""
    return f"{slug or id} {include_content}"


def declared() -> Tool:
    found = tool_of(get_page)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("arguments", "fits"),
    [({}, False), ({"include_content": True}, False), ({"slug": "about"}, True)],
)
def test_the_schema_holds_the_rule(arguments: dict[str, object], fits: bool) -> None:
    assert jsonschema.Draft202012Validator(declared().spec.parameters).is_valid(arguments) is fits


def test_models_read_it_in_words_since_providers_refuse_rules_about_the_whole() -> None:
    spec = declared().spec
    shown = form_of(spec).native
    assert shown["description"] == "Get a page.; needs slug or id"
    assert "allOf" not in shown["parameters"]
    assert described(spec) == "- getPage(slug, id, include_content): Get a page. [needs slug or id]"


@pytest.mark.parametrize("groups", [(("slug", "name"),), ("slug", "id"), (("slug",),)])
def test_a_group_that_names_no_parameters_is_refused(groups: tuple[tuple[str, ...], ...]) -> None:
    with pytest.raises(
        DeclarationError,
        match=r"find_page.*one_of_parameters=.*give groups of its optional parameters \(slug, id\)",
    ):

        @tool(one_of_parameters=groups)
        def find_page(slug: str = "", id: str = "") -> None: ...


def test_a_group_with_a_parameter_that_every_call_gives_is_refused() -> None:
    with pytest.raises(
        DeclarationError,
        match=r"find_page.*one_of_.*optional parameters \(id\).*every call gives the others",
    ):

        @tool(one_of_parameters=(("slug", "id"),))
        def find_page(slug: str, id: str = "") -> None: ...
