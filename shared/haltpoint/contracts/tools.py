"""Tools and their results (CONTRACT A, B): what a tool declares, and the one form in which every result comes."""

import hashlib
import json
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final, Generic, Self

from pydantic import Field, model_validator
from typing_extensions import TypeVar

from haltpoint.contracts.base import Contract
from haltpoint.contracts.plans import Plan
from haltpoint.contracts.reasons import Reason, Source

Data = TypeVar("Data", default=dict[str, Any])
TARGET_MARK: Final = "x-target"


class NextAction(StrEnum):
    """What the runtime does after a result (B2). The model has no say in it."""

    CONTINUE = "continue"
    CLARIFICATION_NEEDED = "clarification_needed"
    CONFIRMATION_NEEDED = "confirmation_needed"
    COMPLETE = "complete"
    ERROR = "error"


class ErrorType(StrEnum):
    """The closed set into which every failure of a tool is classified (E1)."""

    VALIDATION = "VALIDATION"
    NOT_FOUND = "NOT_FOUND"
    PERMISSION = "PERMISSION"
    RATE_LIMIT = "RATE_LIMIT"
    TIMEOUT = "TIMEOUT"
    SERVER = "SERVER"
    BLOCKED = "BLOCKED"
    DENIED = "DENIED"
    IN_DOUBT = "IN_DOUBT"
    UNKNOWN = "UNKNOWN"


CONFIRMED = "confirmed"
"""The parameter of a tool that says whether a person has approved this call; only the runtime sets it (B7)."""

RECOVERABLE: frozenset[ErrorType] = frozenset(
    {ErrorType.VALIDATION, ErrorType.NOT_FOUND, ErrorType.RATE_LIMIT, ErrorType.TIMEOUT, ErrorType.SERVER}
)


class Fault(Contract):
    """The error of a result. `recoverable` follows the type unless the tool says otherwise (B)."""

    error_type: ErrorType
    message: str
    recoverable: bool = False
    suggestion: str | None = None
    invalid_fields: tuple[str, ...] = ()
    retry_after: float | None = Field(default=None, ge=0, description="seconds")
    no_effect: bool | None = Field(default=None, description="true: nothing has happened (E5)")
    cause: "Fault | None" = Field(
        default=None, description="of IN_DOUBT: the error that it is when a person says that it failed (E5)"
    )

    @model_validator(mode="before")
    @classmethod
    def _recoverable_by_type(cls, value: object) -> object:
        if isinstance(value, str):
            return {"error_type": ErrorType.UNKNOWN, "message": value}
        if isinstance(value, dict) and value.get("recoverable") is None and "error_type" in value:
            return {**value, "recoverable": value["error_type"] in RECOVERABLE}
        return value


class Option(Contract):
    """One thing that a person may choose. `id` is the real entity's id; `value` becomes the receipt's data (B4)."""

    id: str = Field(min_length=1)
    title: str
    subtitle: str = ""
    confidence: float | None = Field(default=None, ge=0, le=1)
    metadata: dict[str, Any] = Field(default_factory=dict)
    value: Any = None


class Clarification(Contract):
    """A tool's question: which of these did you mean?"""

    type: str
    question: str
    options: tuple[Option, ...]

    @model_validator(mode="after")
    def _options_are_distinct(self) -> Self:
        ids = [option.id for option in self.options]
        if not ids:
            raise ValueError("a clarification needs at least one option")
        if len(set(ids)) != len(ids):
            raise ValueError("two options of a clarification have the same id")
        return self


class _TargetMark:
    """The hook by which pydantic writes `Target` into the JSON Schema of a parameter, for the class and its values."""

    def __get__(self, target: "Target | None", owner: "type[Target]") -> Callable[[Any, Any], dict[str, Any]]:
        within = "" if target is None else target.within

        def marked(core_schema: Any, handler: Any) -> dict[str, Any]:
            schema: dict[str, Any] = handler(core_schema)
            return schema if core_schema.get("cls") is owner else {**schema, TARGET_MARK: within}

        return marked


class Target(Contract):
    """The thing that a confirmation is about; and the mark of a parameter that says to whom or where (C13).

    `Annotated[str, Target]`, or `Annotated[str, Target(within="/srv/files")]` for a path: inside of the folder nothing
    is asked.
    """

    id: str = ""
    name: str = ""
    type: str = ""
    within: str = Field(default="", exclude=True)

    __get_pydantic_json_schema__ = _TargetMark()  # pyright: ignore[reportAssignmentType]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Called by pydantic, for the model as for the mark; that of BaseModel is deprecated as a mark's."""
        return handler(source)


class Confirmation(Contract):
    """A tool's question: shall I really do this?"""

    action: str
    target: Target
    message: str
    preview: str | None = None
    digest: str = Field(default="", description="of the call that is asked about: an approval holds for no other")
    arguments: str | None = Field(default=None, description="JSON text, when hooks changed those of the action")
    reasons: tuple[Reason, ...] = Field(default=(), description="why it is asked; all of them are one question (G5)")


class HookVerdict(StrEnum):
    """What became of a hook. `approved`: it asked, and a person had approved this very call. `passed` and `refused`: it
    failed, and the call went on without it (open) or not at all (closed).
    """

    ALLOW = "allow"
    MODIFY = "modify"
    BLOCK = "block"
    ASK = "ask"
    APPROVED = "approved"
    PASSED = "passed"
    REFUSED = "refused"


class HookRecord(Contract):
    """One hook that ran for a call (H1). Built-in ones are told when they said something else than allow."""

    name: str
    verdict: HookVerdict
    duration_ms: int = 0


class DeedWords(Contract):
    """What a successful call with an effect did, in the runtime's words, and whom or what it was about (F1)."""

    says: str
    target: str | None = None


class NestedCall(Contract):
    """One tool that a tool called (A). `key` is its idempotency key, `error` how it failed, if it did; IN_DOUBT: its
    caller did not wait for it. `deed`: what it did, when it succeeded with an effect.
    """

    tool: str
    key: str
    error: ErrorType | None = None
    hooks: tuple[HookRecord, ...] = ()
    duration_ms: int = 0
    deed: DeedWords | None = None


class Metadata(Contract):
    """What the worker adds to every result. Times in milliseconds, `started_at` since the epoch."""

    tool: str = ""
    action_id: str = ""
    chain_position: int = 0
    attempt: int = 1
    started_at: int = 0
    duration_ms: int = 0
    truncated: bool = False
    cached: bool = Field(default=False, description="the receipt is an earlier call's: nothing ran for this one (C14)")
    repeats: str = Field(default="", description="the action whose receipt this is, when it is an earlier call's")
    whole: int = Field(default=0, description="bytes of the uncut data, when they are kept under the action's id (H3)")
    hooks: tuple[HookRecord, ...] = ()
    arguments: str | None = Field(default=None, description="JSON text of those that ran, when hooks changed them")
    inside: tuple[str, ...] = Field(
        default=(), description="of a skill with steps: the tools that succeeded in the chain that carried it out (F1)"
    )
    effects: tuple[str, ...] = Field(
        default=(),
        description="what was done or denied in the chain of a skill, or done by the tools that this one called (C14)",
    )
    calls: tuple[NestedCall, ...] = Field(default=(), description="the tools that this one called, as they were begun")
    by: str = Field(default="", description="the person who gave the result, when one did (D3 manual)")
    deed: DeedWords | None = Field(
        default=None, description="what the call did: of a tool with effects that succeeded (F1)"
    )
    sources: dict[str, Source] = Field(default_factory=dict, description="place in the arguments -> its source (C13)")


class Outcome(Contract):
    """A result without its data: all that a decision needs. The data travels beside it, unparsed."""

    success: bool
    next_action: NextAction
    clarification: Clarification | None = None
    confirmation: Confirmation | None = None
    error: Fault | None = None
    warnings: tuple[str, ...] = ()
    instruction_for_ai: str | None = None
    metadata: Metadata = Metadata()

    @model_validator(mode="after")
    def _is_coherent(self) -> Self:
        """B1: a result that contradicts itself is the tool's fault, and nobody gets to see it."""
        wanted = self.next_action
        if self.success and self.error is not None:
            raise ValueError("success with an error")
        if not self.success and self.error is None:
            raise ValueError("no success and no error that says why")
        if (wanted is NextAction.ERROR) == self.success:
            raise ValueError(f"success is {self.success} but next_action is {wanted.value}")
        if (wanted is NextAction.CLARIFICATION_NEEDED) != (self.clarification is not None):
            raise ValueError("clarification_needed and a clarification come together or not at all")
        if (wanted is NextAction.CONFIRMATION_NEEDED) != (self.confirmation is not None):
            raise ValueError("confirmation_needed and a confirmation come together or not at all")
        return self

    @property
    def satisfies(self) -> bool:
        """Whether this receipt fulfils a contract (C3): success, and nobody is left to be asked."""
        return self.success and self.next_action in (NextAction.CONTINUE, NextAction.COMPLETE)


class ToolResult(Outcome, Generic[Data]):
    """A whole result as tools return it and readers see it: the outcome and its data."""

    data: Data = Field(default_factory=dict)  # type: ignore[assignment]


class ToolKind(StrEnum):
    """A skill is a tool in every respect (A); the word is for people and hooks."""

    TOOL = "tool"
    SKILL = "skill"


class ToolSpec(Contract):
    """What a tool declares (A), as it lies in the catalogue. Without any effect flag a tool is started at most once."""

    name: str
    kind: ToolKind = ToolKind.TOOL
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=lambda: {"type": "object", "properties": {}})
    result_schema: dict[str, Any] | None = None
    read_only: bool = False
    idempotent: bool = False
    destructive: bool = False
    may_clarify: bool = False
    repeats: bool = Field(default=False, description="the same call may take effect again without a question (C14)")
    polls: bool = Field(default=False, description="the same call may give another result each time (C14)")
    internal: bool = False
    queue: str = "default"
    timeout: float = Field(default=30.0, gt=0, description="seconds")
    strikes: int | None = Field(default=None, ge=1, description="violations in a row until a person decides (D3)")
    says: str | None = Field(default=None, description="what a call did, {name} for an argument or a field (F1)")
    confirms: bool = Field(default=False, description="it has a parameter `confirmed` that only the runtime sets (B7)")
    outward: bool = Field(default=False, description="read-only, and its arguments leave the system (C13)")
    provenance: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="place in the arguments -> tool.path or goal, any one of which is enough (C6)"
    )
    targets: dict[str, str] = Field(
        default_factory=dict, description="place in the arguments that says to whom or where -> its folder, or nothing"
    )
    new: tuple[str, ...] = Field(default=(), description="places in the arguments that the call itself makes (C13)")
    foreign: tuple[str, ...] = Field(default=(), description="places in the data that strangers write (C13)")
    hooks: tuple[str, ...] = Field(
        default=(), description="the worker's hooks that match, in the order they run in (H1)"
    )
    plan: Plan | None = Field(default=None, description="the steps of a skill that a chain of its own carries out")
    gone: bool = Field(default=False, description="no worker serves it any more; said by the catalogue, never declared")

    @property
    def repeatable(self) -> bool:
        """Whether an interrupted call may simply run again (E5). Of a skill with steps a worker asks the hooks only."""
        return self.read_only or self.idempotent or self.plan is not None

    @property
    def digest(self) -> str:
        """Twelve hex digits over everything declared: a chain keeps the digests that it was planned with.

        Hooks are not declared by the tool but put around it: another hook makes no other tool.
        """
        declared = self.model_dump(mode="json", exclude={"hooks", "gone"})
        canonical = json.dumps(declared, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:12]
