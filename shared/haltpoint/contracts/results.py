"""The one form in which every result of a tool comes (CONTRACT B, E1)."""

from enum import StrEnum
from typing import Annotated, Any, Final, Generic

from msgspec import Meta
from msgspec.structs import force_setattr
from typing_extensions import TypeVar

from haltpoint.contracts.answers import Deed, NotDone
from haltpoint.contracts.base import Contract, JsonObject, NonEmpty, Seconds, Share, Strings
from haltpoint.contracts.people.answerers import ANYONE, Answerers
from haltpoint.contracts.people.approvals import Approval
from haltpoint.contracts.reasons import Grant, Heard, Reason, Source
from haltpoint.contracts.work.bounds import LeftOut
from haltpoint.contracts.work.ledger import Ledger

Data = TypeVar("Data", default=JsonObject)


class NextAction(StrEnum):
    """What the runtime does after a result (B2). The model has no say in it."""

    CONTINUE = "continue"
    CLARIFICATION_NEEDED = "clarification_needed"
    CONFIRMATION_NEEDED = "confirmation_needed"
    COMPLETE = "complete"
    ERROR = "error"


_QUESTIONS: Final = {
    "clarification": NextAction.CLARIFICATION_NEEDED,
    "confirmation": NextAction.CONFIRMATION_NEEDED,
}


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


RECOVERABLE: frozenset[ErrorType] = frozenset(
    {
        ErrorType.VALIDATION,
        ErrorType.NOT_FOUND,
        ErrorType.RATE_LIMIT,
        ErrorType.TIMEOUT,
        ErrorType.SERVER,
    }
)


class MalformedResultError(ValueError):
    """A result that contradicts itself (B1): an error of the tool's code, never something for the
    model to retry.
    """


class ErrorInfo(Contract):
    """The error of a result."""

    error_type: ErrorType
    """Its class (E1)."""
    message: str
    """What happened, for model and people."""
    recoverable: bool | None = None
    """Whether another call may succeed; None: as the type says (B)."""
    suggestion: str | None = None
    """What the model may do instead."""
    invalid_fields: Strings = ()
    """The arguments that are wrong."""
    retry_after: Annotated[float, Meta(ge=0)] | None = None
    """Seconds."""
    no_effect: bool | None = None
    """True: nothing has happened; false: an earlier run may have acted (E5)."""
    cause: "ErrorInfo | None" = None
    """Of IN_DOUBT: the error that it is when a person says that it failed (E5)."""
    undecided: bool = False
    """A person was asked about the call, and no answer came in time (G4)."""

    def __post_init__(self) -> None:
        if self.recoverable is None:
            force_setattr(self, "recoverable", self.error_type in RECOVERABLE)

    @classmethod
    def arriving(cls, raw: Any) -> Any:
        """Words alone are an error too."""
        return {"error_type": ErrorType.UNKNOWN, "message": raw} if isinstance(raw, str) else raw


class Option(Contract):
    """One thing that a person may choose."""

    id: NonEmpty
    """The real entity's id."""
    title: str
    """What a person reads."""
    subtitle: str = ""
    """What sets it apart from the other options."""
    confidence: Share | None = None
    """How likely it is the one that is meant."""
    metadata: JsonObject = {}
    """More about it, for programs."""
    value: Any = None
    """What becomes the receipt's data (B4)."""


class Clarification(Contract):
    """A tool's question: which of these did you mean?"""

    type: str
    question: str
    options: tuple[Option, ...]

    def __post_init__(self) -> None:
        ids = [option.id for option in self.options]
        if not ids:
            raise MalformedResultError("a clarification needs at least one option")
        if len(set(ids)) != len(ids):
            raise MalformedResultError("two options of a clarification have the same id")


class Target(Contract):
    """The thing that a confirmation is about; and the mark of a parameter that says to whom or
    where (C13): `Annotated[str, Target]`.
    """

    id: str = ""
    name: str = ""
    type: str = ""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        if source is cls:
            return super().__get_pydantic_core_schema__(source, handler)
        from haltpoint.contracts.doors import target_mark  # not all who read messages need pydantic

        return target_mark(source, handler)


class Confirmation(Contract):
    """A tool's question: shall I really do this?"""

    action: str
    """What would be done."""
    target: Target
    """To whom or what."""
    message: str
    """The question in words."""
    preview: str | None = None
    """What the tool's preview says."""
    digest: str = ""
    """Of the call that is asked about: an approval holds for no other."""
    preview_digest: str = ""
    """Of what the tool's preview returned, when it has one (G2)."""
    arguments: str | None = None
    """JSON text, when hooks changed those of the action."""
    reasons: tuple[Reason, ...] = ()
    """Why a person is asked; all reasons share one question (G5)."""
    expires: Seconds | None = None
    """Of a rule: after how many seconds the question expires (G4)."""
    answerers: Answerers = ANYONE
    """Of a rule: who may answer (G4)."""


class HookVerdict(StrEnum):
    """What became of a hook. `passed` and `refused`: it failed, and the call continued without it
    (open) or not at all (closed). `would_ask` and `would_refuse`: a rule that is only tried fits.
    """

    ALLOW = "allow"
    MODIFY = "modify"
    BLOCK = "block"
    ASK = "ask"
    PASSED = "passed"
    REFUSED = "refused"
    WOULD_ASK = "would_ask"
    WOULD_REFUSE = "would_refuse"


TRIED: Final = (HookVerdict.WOULD_ASK, HookVerdict.WOULD_REFUSE)
"""Of rules that are only tried."""


class HookRecord(Contract):
    """One hook that ran for a call (H1). Built-in ones are listed when they said something else
    than allow.
    """

    name: str
    """Its dotted path, `builtin:name`, or `rule:id` of a rule that is only tried."""
    verdict: HookVerdict
    """The outcome."""
    duration_ms: int = 0
    """Milliseconds that it took."""


class DeedWords(Contract):
    """What a successful call with an effect did (F1)."""

    says: str
    """The deed in the runtime's words."""
    target: str | None = None
    """Whom or what it was about."""


class Spent(Contract):
    """What a chain and those below it use: turns, actions, tokens, money, and how many chains there
    are below it.
    """

    turns: int = 0
    actions: int = 0
    tokens: int = 0
    cost: float = 0.0
    chains: int = 0


class Below(Contract):
    """What the chain of a skill or an agent reports at its end (F1, I1)."""

    agent: str = ""
    """The agent whose words the data are: no source of a value (I1). Empty: a skill."""
    nested_successes: Strings = ()
    """The tools that succeeded in it (F1)."""
    deeds: tuple[Deed, ...] = ()
    """What it has done (F1)."""
    not_done: tuple[NotDone, ...] = ()
    """What it has not done (F1)."""
    ledger: Ledger = {}
    """What it has added to the ledger (C14)."""
    left_out: tuple[LeftOut, ...] = ()
    """Promises that an agent left out (C11)."""
    heard: Heard = Heard.NOTHING
    """What persons have said to an agent (C6, C11)."""
    corrected: bool = False
    """Its model was corrected since (C6)."""
    granted: tuple[Grant, ...] = ()
    """Their yeses that reach further than a call (C6)."""
    spent: Spent = Spent()
    """What an agent has used (I1)."""


class Metadata(Contract):
    """What the worker, or the chain that carried the call out, adds to every result."""

    tool: str = ""
    """The tool's name."""
    action_id: str = ""
    """The action's id, the mark of a worker or of the runtime. Empty: a person completed the
    receipt.
    """
    chain_position: int = 0
    """The number of the call in its step, from 1."""
    attempt: int = 1
    """The number of the run, from 1; 0: a limit let none begin."""
    reconciled: bool = False
    """The tool did not run: `reconcile` said whether the call had happened (E5)."""
    again: bool = False
    """This error allows that the same call runs again (E2)."""
    limit: str = ""
    """The limit that held the call back: it did not run (E6)."""
    started_at: int = 0
    """Milliseconds since the epoch."""
    duration_ms: int = 0
    """Milliseconds from then to the end."""
    whole: int | None = None
    """How many bytes of uncut data are kept under the action's id (H3). None:
    nothing was cut.
    """
    repeats: str = ""
    """The action whose receipt this is: nothing ran for this one (B4)."""
    hooks: tuple[HookRecord, ...] = ()
    """The hooks that ran (H1)."""
    arguments: str | None = None
    """JSON text of those that ran, when hooks changed them."""
    approval: Approval | None = None
    """The yes under which it ran, and what was edited (G2)."""
    by: str = ""
    """The person who gave the result, when one did (D3 manual)."""
    deed: DeedWords | None = None
    """What a call with an effect did (F1)."""
    sources: dict[str, Source] = {}
    """By places in the arguments, where their values come from (C13)."""
    below: Below = Below()
    """What the chain below has done, when one carried the call out."""


class Outcome(Contract):
    """A result without its data: all that a decision needs. The data travels beside it,
    unparsed.
    """

    success: bool
    next_action: NextAction
    clarification: Clarification | None = None
    confirmation: Confirmation | None = None
    error: ErrorInfo | None = None
    warnings: Strings = ()
    instruction_for_ai: str | None = None
    metadata: Metadata = Metadata()

    def __post_init__(self) -> None:
        """B1: a result that contradicts itself is an error of the tool's code, and is never
        shown.
        """
        wanted = self.next_action
        if self.success and self.error is not None:
            raise MalformedResultError("success with an error")
        if not self.success and self.error is None:
            raise MalformedResultError("no success and no error that says why")
        if (wanted is NextAction.ERROR) == self.success:
            raise MalformedResultError(
                f"success is {self.success} but next_action is {wanted.value}"
            )
        for name, question in _QUESTIONS.items():
            if (wanted is question) is (getattr(self, name) is None):
                raise MalformedResultError(
                    f"{name}_needed and a {name} come together or not at all"
                )

    @property
    def satisfies(self) -> bool:
        """Whether this receipt fulfils a contract (C3): success, and no question is left."""
        return self.success and self.next_action in (NextAction.CONTINUE, NextAction.COMPLETE)

    def with_data(self, data: Data) -> "ToolResult[Data]":
        """The whole result."""
        return ToolResult(
            **{name: getattr(self, name) for name in Outcome.__struct_fields__}, data=data
        )


class ToolResult(Outcome, Generic[Data]):
    """A whole result as tools return it and readers see it: the outcome and its data."""

    data: Data = {}  # type: ignore[assignment]
