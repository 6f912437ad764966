"""@tool and register: what a typed function becomes, and what is refused while the module is
imported.
"""

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, ValidationError

from haltpoint.tools import (
    Ctx,
    DeclarationError,
    Retry,
    register,
    tool,
    tool_of,
    tools_in,
)
from haltpoint.tools.declaration import Tool


class Match(BaseModel):
    contact_id: str
    score: float = 1.0


@dataclass
class Deleted:
    section_id: str


def declared(function: Callable[..., Any]) -> Tool:
    found = tool_of(function)
    assert found is not None
    return found


def test_name_and_description_come_from_the_function() -> None:
    @tool
    def lookup_contacts(query: str) -> Match:
        """Find a contact
        by name.
        """
        return Match(contact_id=query)

    spec = declared(lookup_contacts).spec
    assert (spec.name, spec.description) == ("lookup_contacts", "Find a contact\nby name.")
    assert lookup_contacts("x") == Match(contact_id="x"), "the function stays callable"


def test_nothing_declared_means_started_at_most_once() -> None:
    @tool
    def send(text: str) -> None: ...

    spec = declared(send).spec
    assert not spec.repeatable
    assert (spec.queue, spec.timeout, spec.may_clarify, spec.internal) == (
        "default",
        30.0,
        False,
        False,
    )


def test_parameters_become_a_closed_schema_without_the_context() -> None:
    @tool
    async def search(
        query: Annotated[str, Field(description="what to look for")], ctx: Ctx, limit: int = 5
    ) -> list[str]:
        return [query] * limit

    assert declared(search).spec.parameters == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "what to look for"},
            "limit": {"type": "integer", "default": 5},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    assert declared(search).inputs.context == "ctx"


def test_the_context_is_found_by_its_type_whatever_its_name() -> None:
    @tool
    def act(text: str, run: Ctx[Deleted]) -> None: ...

    assert declared(act).inputs.context == "run"
    assert list(declared(act).spec.parameters["properties"]) == ["text"]


def test_a_parameter_has_its_name_whatever_it_is_and_a_default_of_each_call() -> None:
    @tool
    def tag(schema: int = Field(1, alias="other"), _json: list[str] = []) -> None: ...  # noqa: B006

    made = declared(tag)
    assert list(made.spec.parameters["properties"]) == ["schema", "_json"]
    made.parse("{}")["_json"].append("kept")
    assert made.parse('{"schema": 2}') == {"schema": 2, "_json": []}


def test_unknown_arguments_are_refused() -> None:
    @tool
    def send(text: str) -> None: ...

    with pytest.raises(ValidationError, match="confirmed"):
        declared(send).parse('{"text": "x", "confirmed": true}')


@pytest.mark.parametrize(
    ("traits", "words"),
    [
        ({"timeout": 0}, "give seconds"),
        ({"timeout": True}, "give seconds"),
        ({"timeout": float("inf")}, "give seconds"),
        ({"name": "no spaces"}, "name=..."),
        ({"polls": True}, r"polls \(now repeats\): no such trait"),
        ({"compensate": print}, r"compensate \(now undo\): no such trait"),
        ({"description": 3}, "description=3: give a text"),
        ({"retry": Retry(attempts=0)}, "attempts from 1 to 100"),
    ],
)
def test_a_wrong_declaration_is_refused_by_name_place_and_reason(
    traits: dict[str, Any], words: str
) -> None:
    def act() -> None: ...

    with pytest.raises(DeclarationError, match=words) as caught:
        tool(**traits)(act)
    assert __file__ in str(caught.value)


def with_rest(*queries: str) -> None: ...


def with_anything(**queries: str) -> None: ...


def with_two_contexts(ctx: Ctx, other: Ctx) -> None: ...


def with_callback(done: Callable[[Any], object]) -> object: ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (with_rest, "queries"),
        (with_anything, "queries"),
        (with_two_contexts, "both the context"),
        (with_callback, "parameter 'done': no model can write"),
    ],
)
def test_a_function_that_cannot_be_described_is_refused(
    function: Callable[..., Any], words: str
) -> None:
    with pytest.raises(DeclarationError, match=words):
        register(function)


@pytest.mark.parametrize(
    ("given", "seconds"), [("5s", 5.0), ("250ms", 0.25), ("2m", 120.0), (7, 7.0)]
)
def test_a_timeout_is_seconds_or_words(given: str | float, seconds: float) -> None:
    @tool(timeout=given)
    def act() -> None: ...

    assert declared(act).spec.timeout == seconds


def test_what_somebody_else_wrote_is_registered_for_the_module_that_says_so() -> None:
    module = ModuleType("tools_of_somebody")
    module.__file__ = "somebody.py"
    source = (
        "from haltpoint.tools import register\n\nregister(textwrap_shorten, "
        "name='cut', read_only=True)"
    )

    def shorten(text: str, width: int) -> str:
        return text[:width]

    vars(module)["textwrap_shorten"] = shorten
    exec(compile(source, "somebody.py", "exec"), vars(module))
    (made,) = tools_in(module)
    assert (made.spec.name, made.spec.read_only, made.place) == ("cut", True, "somebody.py:3")
    assert made.function is shorten
    assert tool_of(shorten) is None, "the callable itself is left as it was"


def test_importing_haltpoint_imports_no_library() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import haltpoint, sys; print('pydantic' in sys.modules, haltpoint.tool.__name__)",
        ],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout.split() == ["False", "tool"]


def send() -> None:
    """Send something."""


def test_e6_limits_are_read_in_the_words_in_which_they_are_declared() -> None:
    for words in (
        "10/s",
        "100/m burst 20",
        "5/s per tenant",
        "1/ms",
        "3/h burst 2 per tenant",
        "7/d",
    ):
        (limit,) = register(send, rate_limit=words).spec.recovery.limits
        assert limit.written == words
    made = register(send, at_once=(4, "1 per tenant"), rate_limit="2/s").spec.recovery.limits
    assert [(one.kind.value, one.written) for one in made] == [
        ("at_once", "4"),
        ("at_once", "1 per tenant"),
        ("rate_limit", "2/s"),
    ]


@pytest.mark.parametrize(
    "traits",
    [
        {"rate_limit": bad}
        for bad in ("10", "0/s", "10/w", "10/s burst 0", 10, None, "10/s per user")
    ]
    + [{"at_once": bad} for bad in (0, -1, True, "four", None, 2.5)],
)
def test_e6_a_limit_that_cannot_be_read_is_a_declaration_error(traits: dict[str, Any]) -> None:
    (name,) = traits
    with pytest.raises(DeclarationError, match=f"{name}="):
        register(send, **traits)


def pay(invoice: str, amount: float = 0) -> None:
    """Pay something."""


def test_e6_an_effect_key_names_parameters() -> None:
    assert register(pay, effect_key="pay:{invoice}").spec.recovery.effect_key == "pay:{invoice}"


@pytest.mark.parametrize(
    ("traits", "words"),
    [
        ({"effect_key": "pay:{order}"}, "{order} is not a parameter; there are: invoice, amount"),
        ({"effect_key": "pay:{invoice!r}"}, "Name it alone"),
        ({"effect_key": "pay:{invoice"}, "expected '}'"),
        ({"effect_key": "pay"}, "names no parameter"),
        ({"effect_key": ""}, "write it like"),
        ({"effect_key": "pay:{invoice}", "read_only": True}, "read_only and effect_key contradict"),
        ({"effect_key": "pay:{invoice}", "repeats": True}, "repeats and effect_key contradict"),
    ],
)
def test_e6_an_effect_key_that_cannot_hold_is_a_declaration_error(
    traits: dict[str, Any], words: str
) -> None:
    with pytest.raises(DeclarationError, match=re.escape(words)):
        register(pay, **traits)
