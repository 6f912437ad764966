"""`says`: the author's words for what a call did (F1) are checked where the tool is declared."""

from typing import Any

import pytest
from pydantic import BaseModel

from haltpoint import Ctx, tool
from haltpoint.tools import DeclarationError, register, tool_of


class Sent(BaseModel):
    """A message that went out."""

    name: str
    again: "Sent | None" = None


class Kept(BaseModel):
    """A message that did not."""

    until: str


def test_words_name_parameters_and_fields_of_the_result() -> None:
    @tool(says="Message to {name}: {content} {{as it is}}")
    async def send(content: str, ctx: Ctx) -> Sent:
        return Sent(name=content)

    made = tool_of(send)
    assert made is not None
    assert made.spec.says == "Message to {name}: {content} {{as it is}}"


def test_a_field_of_any_form_of_the_result_will_do() -> None:
    def send(content: str) -> Sent | Kept:
        return Sent(name=content)

    assert register(send, says="{name} {until} {content}").spec.says is not None

    def count(content: str) -> int:
        return len(content)

    assert register(count, says="Counted {value}").spec.says is not None


@pytest.mark.parametrize(
    ("says", "why"),
    [
        (
            "To {nobody}",
            r"\{nobody\} is neither a parameter nor a field .* there are: content, name, again",
        ),
        ("To {ctx}", "neither a parameter nor a field"),
        ("To {name.first}", "neither a parameter nor a field"),
        ("To {name:>10}", "Name it alone, without a path or a format"),
        ("To {name!r}", "Name it alone"),
        ("To {}", "neither a parameter nor a field"),
        ("To {name", "write it like says="),
        ("", "in one line"),
        ("two\nlines", "in one line"),
    ],
)
def test_anything_else_is_refused_with_its_place(says: Any, why: str) -> None:
    async def send(content: str, ctx: Ctx) -> Sent:
        return Sent(name=content)

    with pytest.raises(DeclarationError, match=rf"(?s)test_says\.py:\d+\): says=.*{why}"):
        register(send, says=says)


def test_a_result_that_is_not_declared_has_no_fields() -> None:
    def forget() -> None: ...

    with pytest.raises(DeclarationError, match="there are: none"):
        register(forget, says="Forgot {it}")
