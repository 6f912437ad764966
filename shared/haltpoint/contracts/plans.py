"""Plans (CONTRACT C): a directed acyclic graph of steps, each a promise that receipts must keep."""

from enum import StrEnum
from typing import Any

from pydantic import Field, model_validator

from haltpoint.contracts.base import Strict
from haltpoint.contracts.step_ids import tidied


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


class Call(Strict):
    """One wished call. In a literal plan an argument may be `{"$from": "step.data.path"}`."""

    tool: str = Field(min_length=1, max_length=128)
    arguments: dict[str, Any] = Field(default_factory=dict)


class Step(Strict):
    """One item of a plan. A step with required tools is a tool step whatever `step_type` says (C3)."""

    id: str = Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]{1,64}$")
    label: str = ""
    description: str = ""
    step_type: StepType = StepType.REASONING
    required_tools: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] | None = None
    expected_outcome: str | None = None
    tool_validation_mode: ValidationMode | None = None
    dependencies: tuple[str, ...] = ()
    actions: tuple[Call, ...] = ()
    on_failure: OnFailure = OnFailure.FAIL
    max_turns: int | None = Field(default=None, ge=1)
    actions_per_turn: int | None = Field(default=None, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _required_tools_make_a_tool_step(cls, value: object) -> object:
        if isinstance(value, dict) and value.get("required_tools"):
            return {**value, "step_type": StepType.TOOL}
        return value


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
