"""Questions to people and their answers (CONTRACT B3, B4, D3, E5, I4)."""

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta
from msgspec.structs import force_setattr

from haltpoint.contracts.base import Contract, JsonObject, Strict, Strings
from haltpoint.contracts.people.answerers import ANYONE, Answerers
from haltpoint.contracts.reasons import Reach, Reason, Source
from haltpoint.contracts.results import Option
from haltpoint.contracts.work.thoughts import Strike


class RequestKind(StrEnum):
    """The kind of question: which one, may I, what is it, the model broke the contract, did it
    happen, or may a step end without what it promised.
    """

    CLARIFICATION = "clarification"
    CONFIRMATION = "confirmation"
    INPUT = "input"
    ESCALATION = "escalation"
    IN_DOUBT = "in_doubt"
    LEAVE_OUT = "leave_out"


class RequestStatus(StrEnum):
    """A request leaves `open` once and for ever."""

    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class Choice(StrEnum):
    """What a person may decide. Which choices fit which kind is in `CHOICES`."""

    SELECT = "select"
    NONE = "none"
    APPROVE = "approve"
    REJECT = "reject"
    ANSWER = "answer"
    REPHRASE = "rephrase"
    MANUAL = "manual"
    SKIP = "skip"
    RETRY = "retry"
    CONTINUE = "continue"
    HAPPENED = "happened"
    NOT_HAPPENED = "not_happened"
    FAILED = "failed"
    ACCEPT = "accept"
    INSIST = "insist"
    ABORT = "abort"


class Way(StrEnum):
    """By which way an answer came, or what an audit has a line about."""

    PAGE = "page"
    CLI = "cli"
    HTTP = "http"
    CONVERSATION = "conversation"
    """Words of a task that were nothing but the answer."""
    HANDLER = "handler"
    """A function of the operator's decided a case."""
    STREAM = "stream"
    """A service put a task into a stream itself."""


COMMAND_LINE: Final = "haltpoint-cli"
"""What the command line says of itself to a gateway."""


Words = Annotated[str, Meta(max_length=8192)]
_OF_A_STEP: Final = (Choice.MANUAL, Choice.SKIP, Choice.CONTINUE)
CHOICES: Final[dict[RequestKind, tuple[Choice, ...]]] = {
    RequestKind.CLARIFICATION: (Choice.SELECT, Choice.NONE),
    RequestKind.CONFIRMATION: (Choice.APPROVE, Choice.REJECT),
    RequestKind.INPUT: (Choice.SELECT, Choice.ANSWER),
    RequestKind.ESCALATION: (
        *_OF_A_STEP,
        Choice.REPHRASE,
        Choice.RETRY,
    ),
    RequestKind.IN_DOUBT: (Choice.HAPPENED, Choice.NOT_HAPPENED, Choice.FAILED),
    RequestKind.LEAVE_OUT: (Choice.ACCEPT, Choice.INSIST),
}
"""What may be decided, beside `abort`."""


class ListedCall(Contract):
    """A call that is asked about together with another one of its tool (C6)."""

    place: int
    """Its place in the proposal, from 0."""
    arguments: str
    """JSON text."""
    reasons: tuple[Reason, ...]
    """The targets that are asked about."""
    sources: dict[str, Source] = {}
    """Where its values come from."""

    @property
    def words(self) -> str:
        """Why it is asked about."""
        return " ".join(reason.words for reason in self.reasons)


class Question(Contract, kw_only=True):
    """One question, whole, as a person has to see it. Times in milliseconds since the epoch."""

    request_id: str
    """Its id."""
    kind: RequestKind
    """The kind of the question."""
    question: str
    """The question in words."""
    step_id: str = ""
    """The step that it is about; of a case about the plan there is none."""
    action_id: str = ""
    """The action that it is about; of an escalation there is none."""
    tool: str = ""
    """The tool of that action."""
    options: tuple[Option, ...] = ()
    """What may be chosen."""
    form: JsonObject | None = None
    """JSON Schema of the value that is asked for."""
    arguments: str = ""
    """JSON text of the call that is asked about."""
    preview: str | None = None
    """What the tool's preview says that the call would do."""
    approved_preview: str | None = None
    """The preview of an approval that no longer fits (G3)."""
    digest: str = ""
    """Of the call that is asked about."""
    preview_digest: str = ""
    """Of what the tool's preview returned."""
    priority: str | None = None
    """How urgent it is, in the asker's word."""
    strikes: tuple[Strike, ...] = ()
    """What the model said each time (D3)."""
    reasons: tuple[Reason, ...] = ()
    """Why a confirmation is asked for (G5)."""
    sources: dict[str, Source] = {}
    """Where the values of the call come from (C13)."""
    others: tuple[ListedCall, ...] = ()
    """The calls of the same tool behind it for which the answer holds, too (C6)."""
    path: Strings = ()
    """The agents that led to it, from the root's down (I4)."""
    answerers: Answerers = ANYONE
    """Who may answer (G4)."""
    asked_at: int
    """When it was asked."""
    deadline: int
    """When it expires."""


class Answer(Strict, rename={"for_": "for"}):
    """What a person says."""

    kind: RequestKind
    """The kind of question that this answers."""
    option_id: str | None = None
    """The chosen option; without a decision it means `select`."""
    decision: Choice = Choice.SELECT
    """The decision; for a question of kind `input` the default is `answer`."""
    text: Words = ""
    """Words for the model, or the answer itself."""
    value: JsonObject | None = None
    """The value of a form, a result given by hand, or the result of a call that happened."""
    comment: Words = ""
    """Words for the log."""
    for_: Reach | None = None
    """How far an approval goes until the chain ends (C13)."""
    arguments: JsonObject | None = None
    """Of an approval: all arguments of the call, as edited (G2)."""

    def __post_init__(self) -> None:
        if self.kind is RequestKind.INPUT and not self.option_id and self.decision is Choice.SELECT:
            force_setattr(self, "decision", Choice.ANSWER)


def choices(kind: RequestKind, *, step: bool = True) -> frozenset[Choice]:
    """What may be decided; of an escalation without a step (`step`) nothing can be given by hand or
    skipped.
    """
    others = () if step else _OF_A_STEP
    return frozenset((*CHOICES[kind], Choice.ABORT)).difference(others)


def answer_fault(
    answer: Answer,
    kind: RequestKind,
    option_ids: frozenset[str],
    *,
    step: bool = True,
    form: bool = False,
) -> str | None:
    """Why this answer does not fit the question, in words for the person; None when it fits.

    `step`: the question is about a step. `form`: it asks for a value of a schema, which is checked
    elsewhere.
    """
    if answer.kind is not kind:
        return f"this is a {kind.value} request, not a {answer.kind.value} request"
    allowed = choices(kind, step=step)
    if answer.decision not in allowed:
        known = ", ".join(sorted(allowed))
        wrong = f"{answer.decision.value!r} cannot be decided here"
        if answer.decision is Choice.SELECT and answer.option_id is None:
            wrong = "the decision is missing"
        return f"{wrong}; choose one of: {known}"
    if answer.decision is Choice.APPROVE:
        return None
    if answer.for_ is not None:
        return "`for` says how far an approval goes; give it with approve"
    if answer.arguments is not None:
        return "`arguments` are those of an approval; give them with approve"
    if answer.decision is not Choice.SELECT:
        return _what_lacks(answer, form=form)
    if answer.option_id in option_ids:
        return None
    known = ", ".join(sorted(option_ids))
    if answer.option_id is None:
        return f"say which option in `option_id`, one of: {known}; or decide otherwise"
    return f"{answer.option_id!r} is not one of the options; choose one of: {known}"


def _what_lacks(answer: Answer, *, form: bool) -> str | None:
    """What the decision needs, and the answer does not give."""
    decision = answer.decision
    if decision is Choice.ANSWER and form:
        return "answer with a `value` that fits the schema" if answer.value is None else None
    is_given = decision is Choice.MANUAL and answer.value is not None
    if is_given or answer.text.strip():
        return None
    return _NEEDS.get(decision)


_NEEDS: Final = {
    Choice.REPHRASE: "give the new wording in `text`",
    Choice.SKIP: "say in `text` why the step is not needed",
    Choice.MANUAL: "give the result in `value`, or in `text` where words are wanted",
    Choice.ANSWER: "answer with `text`",
}
"""What the answers of a person have to hold, where that is words."""
