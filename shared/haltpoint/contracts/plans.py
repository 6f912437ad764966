"""Plans (CONTRACT C): a directed acyclic graph of steps, each a promise that receipts must keep."""

from enum import StrEnum
from typing import Any, Final

from pydantic import Field, model_validator

from haltpoint.contracts.base import Strict
from haltpoint.contracts.step_ids import tidied

MOST_PARALLEL: Final = 16
"""Calls and thoughts of one chain that may be under way side by side (C8)."""


class StepType(StrEnum):
    """Whether a step is complete by receipts or by words."""

    TOOL = "tool"
    REASONING = "reasoning"


class ValidationMode(StrEnum):
    """What a step says of its own contract: it may be tighter than the task's mode, never looser."""

    STRICT = "strict"
    ADVISORY = "advisory"


class OnFailure(StrEnum):
    """What a failed step does to its chain (C11)."""

    FAIL = "fail"
    CONTINUE = "continue"


class Siblings(StrEnum):
    """What happens to the calls beside one that failed, before that takes effect (C8): they end, or none is awaited."""

    COLLECT = "collect"
    FAIL_FAST = "fail_fast"


class Call(Strict):
    """One proposed call. In a literal plan an argument may be `{"$from": "step.data.path"}`, and an `optional` call may
    fail.
    """

    tool: str = Field(min_length=1, max_length=128)
    arguments: dict[str, Any] = Field(default_factory=dict)
    optional: bool = Field(default=False, exclude_if=lambda optional: not optional)


class Step(Strict):
    """One item of a plan. A step that promises tools is a tool step whatever `step_type` says (C3).

    It promises a success of each of `required_tools`, and of any one of `one_of`. When one with `may_fail` fails, the
    chain goes on as with `on_failure: continue` (C11).
    """

    id: str = Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]{1,64}$")
    label: str = ""
    description: str = ""
    step_type: StepType = StepType.REASONING
    required_tools: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] | None = None
    expected_outcome: str | None = None
    tool_validation_mode: ValidationMode | None = None
    dependencies: tuple[str, ...] = ()
    actions: tuple[Call, ...] = ()
    on_failure: OnFailure = OnFailure.FAIL
    may_fail: bool = False
    siblings: Siblings | None = None
    parallel: int | None = Field(default=None, ge=1, le=MOST_PARALLEL)
    max_turns: int | None = Field(default=None, ge=1)
    actions_per_turn: int | None = Field(default=None, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _promised_tools_make_a_tool_step(cls, value: object) -> object:
        if isinstance(value, dict) and (value.get("required_tools") or value.get("one_of")):
            return {**value, "step_type": StepType.TOOL}
        return value

    @property
    def promised(self) -> tuple[tuple[str, ...], ...]:
        """What the step promises: a success of any tool of each of these (C3)."""
        required = tuple((name,) for name in self.required_tools)
        return (*required, self.one_of) if self.one_of else required

    @property
    def promised_tools(self) -> tuple[str, ...]:
        """Every tool that the step may need for its promise."""
        return (*self.required_tools, *self.one_of)

    @property
    def fatal(self) -> bool:
        """Whether its failure is that of the chain (C11)."""
        return self.on_failure is OnFailure.FAIL and not self.may_fail


class Plan(Strict):
    """The steps in the order in which they are told. Checked by `chain.contract` before anything runs (C1).

    Ids of steps that no key can be made of are replaced, and kept as labels.
    """

    steps: tuple[Step, ...]

    @model_validator(mode="before")
    @classmethod
    def _tidy_ids(cls, value: object) -> object:
        if isinstance(value, dict) and isinstance(value.get("steps"), list):
            return {**value, "steps": tidied(value["steps"])}
        return value
