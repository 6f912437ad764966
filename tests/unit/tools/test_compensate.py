"""`@tool(compensate=...)`: how a call is undone, declared beside its tool (CONTRACT E7)."""

from typing import Any

import pytest

from haltpoint.tools import DeclarationError, register
from haltpoint.tools.compensate import undo_inputs, undo_spec


def plant(name: str) -> str:
    """Plant it."""
    return name


def uproot(result: dict[str, Any], ctx: Any) -> None:
    """Take it out."""


def test_e7_the_compensation_is_a_tool_of_the_same_queue_that_only_the_runtime_calls() -> None:
    tool = register(plant, queue="garden", timeout="5s", compensate=uproot)
    assert tool.compensate is not None
    assert tool.compensate.takes == {"result", "ctx"}
    spec, inputs = undo_spec(tool.spec), undo_inputs(tool.compensate)
    assert (spec.name, spec.undoes, spec.queue, spec.timeout) == ("plant~undo", "plant", "garden", 5.0)
    assert spec.internal
    assert not spec.repeatable
    assert inputs.context == "ctx"
    assert inputs.model.model_validate_json('{"action_id": "c.s.1"}').model_dump() == {"action_id": "c.s.1"}
    assert undo_inputs(register(plant, compensate=lambda arguments: None).compensate).context is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("traits", "words"),
    [
        ({"compensate": "uproot"}, "give a function of arguments, ctx, result"),
        ({"compensate": lambda tree: None}, "compensate takes tree; it may take: arguments, ctx, result"),
        ({"compensate": lambda result, /: None}, "compensate is called with names"),
        ({"compensate": uproot, "read_only": True}, "there is nothing to undo"),
    ],
)
def test_e7_a_compensation_is_declared_rightly_or_not_at_all(traits: dict[str, Any], words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        register(plant, **traits)
