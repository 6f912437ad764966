"""Plans (CONTRACT C): a directed acyclic graph of steps, each a promise that receipts must keep."""

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta
from msgspec.structs import force_setattr

from haltpoint.contracts.base import STEP_ID, Count, JsonObject, Strict, Strings

MOST_PARALLEL: Final = 16
"""Calls and thoughts of one chain that may be under way side by side (C8)."""


Parallel = Annotated[int, Meta(ge=1, le=MOST_PARALLEL)]
MOST_EXPECTED: Final = 200
"""Characters in which a call says what it is to bring."""


class StepType(StrEnum):
    """Whether a step is complete by receipts or by words."""

    TOOL = "tool"
    REASONING = "reasoning"


class ValidationMode(StrEnum):
    """A step's own contract: it may be stricter than the task's mode, never
    looser.
    """

    STRICT = "strict"
    ADVISORY = "advisory"


class OnFailure(StrEnum):
    """What a failed step does to its chain (C11)."""

    FAIL = "fail"
    CONTINUE = "continue"


class ProposedCall(Strict):
    """One proposed call."""

    tool: Annotated[str, Meta(min_length=1, max_length=128)]
    """The tool's name."""
    arguments: JsonObject = {}
    """In a literal plan a value may be `{"$from": "step.data.path"}`."""
    optional: bool = False
    """In a literal plan: the call may fail."""
    expected: Annotated[str, Meta(max_length=MOST_EXPECTED)] = ""
    """What it should result in, in words for people."""


class Step(Strict):
    """One item of a plan. One that promises tools is a tool step whatever `step_type` says (C3)."""

    id: str
    """Its name in the plan, of letters, digits, _ and -."""
    label: str = ""
    """The name that a model gave it, if that is not an id."""
    description: str = ""
    """What it is to do."""
    step_type: StepType = StepType.REASONING
    """Whether it is complete by receipts or by words."""
    required_tools: Strings = ()
    """It promises a success of each of these."""
    one_of: Strings = ()
    """It promises a success of any one of these."""
    allowed_tools: Strings | None = None
    """What it may call; None: what it promises, and read-only tools."""
    expected_outcome: str | None = None
    """What it is to bring, in words."""
    tool_validation_mode: ValidationMode | None = None
    """A stricter mode than the task's."""
    dependencies: Strings = ()
    """The steps that have to be done before."""
    optional: bool = False
    """It may end without what it promises (C11)."""
    each: bool = False
    """It continues behind its promises, until words or end_step (C3)."""
    actions: tuple[ProposedCall, ...] = ()
    """Literal calls."""
    on_failure: OnFailure = OnFailure.FAIL
    """What its failure does to the chain (C11)."""
    may_fail: bool = False
    """When it fails the chain continues, as with `on_failure: continue` (C11)."""
    parallel: Parallel | None = None
    """Calls that run side by side (C8)."""
    max_turns: Count | None = None
    """Proposals that it may ask for."""
    actions_per_turn: Count | None = None
    """Calls that run of one proposal (C7)."""

    def __post_init__(self) -> None:
        if not STEP_ID.fullmatch(self.id):
            raise ValueError(f"{self.id!r} is not an id of a step")
        if self.required_tools or self.one_of:
            force_setattr(self, "step_type", StepType.TOOL)

    @property
    def promised(self) -> tuple[Strings, ...]:
        """What the step promises: a success of any tool of each of these (C3)."""
        required = tuple([(name,) for name in self.required_tools])
        return (*required, self.one_of) if self.one_of else required

    @property
    def promised_tools(self) -> Strings:
        """Every tool that the step may need for its promise."""
        return (*self.required_tools, *self.one_of)

    @property
    def fatal(self) -> bool:
        """Whether its failure is that of the chain (C11)."""
        return self.on_failure is OnFailure.FAIL and not self.may_fail


class Plan(Strict):
    """The steps in the order in which they are listed. Checked by `chain/checks/plans.py` before
    anything runs (C1).
    """

    steps: tuple[Step, ...]
