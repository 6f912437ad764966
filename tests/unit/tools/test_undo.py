"""`@tool(undo=...)`: how a call is undone, declared beside its tool (CONTRACT E7)."""

from typing import Any

import pytest

from haltpoint import Ctx
from haltpoint.chain.checks.answer import deed_words
from haltpoint.tools import DeclarationError, register
from haltpoint.tools.undo import undoing


def plant(name: str) -> str:
    """Plant it."""
    return name


def uproot(result: dict[str, Any], ctx: Any) -> None:
    """Take it out."""


def test_e7_an_undo_is_a_hidden_tool_of_the_same_queue() -> None:
    tool = register(plant, queue="garden", timeout="5s", undo=uproot)
    assert tool.undo is not None
    assert tool.undo.takes == {"result", "ctx"}
    hidden = undoing(tool, tool.undo)
    spec, inputs = hidden.spec, hidden.inputs
    assert (spec.name, spec.undoes, spec.queue, spec.timeout) == (
        "plant~undo",
        "plant",
        "garden",
        5.0,
    )
    assert (spec.internal, spec.repeatable, tool.spec.undoes) == (True, False, "")
    assert inputs.context == "ctx"
    assert hidden.parse('{"action_id": "c.s.1"}') == {"action_id": "c.s.1"}
    told = deed_words(spec, '{"action_id": "c.s.1", "says": "Planted Ash"}')
    assert told.says == 'Undid: "Planted Ash"'


def test_e7_a_context_may_have_a_key_of_its_own() -> None:
    assert Ctx(action_id="c~undo-2.u1.1", key="c.s.1~undo").idempotency_key == "c.s.1~undo"
    assert Ctx(action_id="c.s.1").idempotency_key == "c.s.1"


@pytest.mark.parametrize(
    ("traits", "words"),
    [
        ({"undo": "uproot"}, "give a function of arguments, ctx, result"),
        ({"undo": lambda tree: None}, "undo takes tree; it may take: arguments, ctx, result"),
        ({"undo": uproot, "read_only": True}, "there is nothing to undo"),
    ],
)
def test_e7_an_undo_is_declared_rightly_or_not_at_all(traits: dict[str, Any], words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        register(plant, **traits)
