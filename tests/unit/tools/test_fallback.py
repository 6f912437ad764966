"""`@tool(fallback=...)`: what may stand in for a tool, found out when the worker starts (CONTRACT E3)."""

from typing import Any

import pytest

from haltpoint.contracts.tools import Fallback, ToolSpec
from haltpoint.tools import DeclarationError, register
from haltpoint.tools.fallback import all_fallbacks
from tests.support.builders import line_plan, specs


def send(name: str, *parameters: str, optional: tuple[str, ...] = (), **declared: Any) -> ToolSpec:
    properties = {one: {"type": "string"} for one in (*parameters, *optional)}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return ToolSpec(name=name, parameters=schema, **declared)


def to(tool: str, **arguments: str) -> Fallback:
    return Fallback(tool=tool, arguments=arguments or None)


def mail(to_whom: str) -> None:
    """Send it."""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("sms", (to("sms"),)),
        (("sms", "letter"), (to("sms"), to("letter"))),
        ({"sms": {"number": "to_whom"}}, (to("sms", number="to_whom"),)),
    ],
)
def test_e3_a_fallback_is_a_name_names_in_order_or_a_mapping(given: Any, found: tuple[Fallback, ...]) -> None:
    assert register(mail, fallback=given).spec.fallback == found


@pytest.mark.parametrize("given", [(), 7, ("sms", 7), {"sms": "number"}, {"sms": {"number": 7}}, {}])
def test_e3_anything_else_is_refused_with_the_form(given: Any) -> None:
    with pytest.raises(DeclarationError, match=r"tool 'mail' \(.*fallback=.*(give a tool's name|name parameters)"):
        register(mail, fallback=given)


def test_e3_the_fallbacks_of_a_fallback_are_behind_it_with_the_parameters_of_the_first() -> None:
    tools = specs(
        send("mail", "whom", "words", fallback=(to("sms", number="whom", text="words"), to("fax", whom="whom"))),
        send("sms", "number", "text", fallback=(to("letter", address="number", body="text", ref="text"), to("call"))),
        send("letter", "address", "body", optional=("ref",)),
        send("call", "number", "text"),
        send("fax", "whom"),
    )
    assert all_fallbacks(tools["mail"], tools) == (
        to("sms", number="whom", text="words"),
        to("letter", address="whom", body="words", ref="words"),
        to("call", number="whom", text="words"),
        to("fax", whom="whom"),
    )
    same = specs(
        send("mail", "whom", fallback=(to("sms"),)),
        send("sms", "whom", fallback=(to("fax", to="whom"),)),
        send("fax", "to"),
    )
    assert all_fallbacks(same["mail"], same) == (to("sms"), to("fax", to="whom"))


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ((send("a", fallback=(to("gone"),)),), "'gone' is no tool of this worker's modules"),
        ((send("a", fallback=(to("a"),)),), "cycle: a -> a"),
        ((send("a", fallback=(to("b"),)), send("b", fallback=(to("a"),))), "cycle: a -> b -> a"),
        ((send("a", read_only=True, fallback=(to("b"),)), send("b")), "a is declared read-only, and b is not"),
        ((send("a", idempotent=True, fallback=(to("b"),)), send("b")), "b is neither that nor read-only"),
        ((send("a", fallback=(to("b"),)), send("b", destructive=True)), "b is declared destructive, and a is not"),
        (
            (send("a", fallback=(to("b"),)), send("b", destructive=True, internal=True)),
            "b is declared destructive and internal",
        ),
        (
            (send("a", read_only=True, fallback=(to("b"),)), send("b", read_only=True, outward=True)),
            "b is declared outward, and a is not",
        ),
        ((send("a", fallback=(to("b"),)), send("b", plan=line_plan(1))), "a skill with steps"),
        ((send("a", "x", fallback=(to("b"),)), send("b", "y")), "it has no x; it needs y, which is not always given"),
        ((send("a", optional=("x",), fallback=(to("b"),)), send("b", "x")), "it needs x, which is not always given"),
        ((send("a", "x", fallback=(to("b", y="z"),)), send("b", "y")), "a has no z; it needs y"),
    ],
)
def test_e3_what_may_not_stand_in_ends_the_worker_at_its_start(tools: tuple[ToolSpec, ...], words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        all_fallbacks(tools[0], specs(*tools))
