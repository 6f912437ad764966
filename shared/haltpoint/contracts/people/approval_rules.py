"""The rules of the policy file about calls: a person is asked, the call is refused, or it passes
(CONTRACT G4).

[[approvals]]
id = "refunds"
tools = ["refund_*"]
when = { amount = { at_least = 100 }, "letters[].to" = { source = ["text", "model"] } }
reason = "A refund of 100 or more needs a yes."
to = ["group:finance", "ann"]
quorum = 2
on_timeout = "escalate:board"
"""

import re
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Annotated, Final, Self

from pydantic import (
    AfterValidator,
    Field,
    FiniteFloat,
    Strict,
    StrictBool,
    StrictInt,
    StrictStr,
    model_validator,
)

from haltpoint.contracts.base import Strings
from haltpoint.contracts.doors import Form
from haltpoint.contracts.people.answerers import (
    GROUP,
    Answerers,
    OnTimeout,
    addressee,
    folded,
    named,
)
from haltpoint.contracts.reasons import SourceKind
from haltpoint.contracts.written import Id, Name, Names, Regex, Seconds

_END: Final = re.compile(r"fail|deny|escalate:(.+)")
_OF_QUESTIONS: Final = {"to", "not_requester", "quorum", "expires", "on_timeout"}
_PLACE: Final = re.compile(r"[^.\[\]{}]+(?:\.[^.\[\]{}]+|\[\d{0,6}\]|\{\})*")


def _place(text: str) -> str:
    if _PLACE.fullmatch(text) is None:
        raise ValueError(
            f"{text!r} is not a place in the arguments; write it "
            f"like amount, letters[].to or prices{{}}"
        )
    return text


def _end(text: str) -> str:
    end = _END.fullmatch(text)
    if end is None:
        raise ValueError(f"{text!r} is not fail, deny or escalate:GROUP")
    if end[1]:
        named(end[1])
    return text


Number = Annotated[FiniteFloat, Strict()] | StrictInt
Scalar = StrictStr | Number | StrictBool
Addressees = tuple[Annotated[Name, AfterValidator(addressee)], ...]
Place = Annotated[Name, AfterValidator(_place)]


class Verdict(StrEnum):
    """What a rule does with a call."""

    ASK = "ask"
    REFUSE = "refuse"
    PASS = "pass"  # noqa: S105


class Condition(Form):
    """What has to hold of a value: all that is given."""

    equals: Scalar | None = None
    """This value."""
    in_: tuple[Scalar, ...] | None = Field(default=None, alias="in", min_length=1)
    """One of these values."""
    at_least: Number | None = None
    """A number of at least this."""
    at_most: Number | None = None
    """A number of at most this."""
    regex: Regex | None = None
    """A text in which the expression is found."""
    source: tuple[SourceKind, ...] | None = Field(default=None, min_length=1)
    """A value that comes from one of these."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set:
            keys = [field.alias or name for name, field in type(self).model_fields.items()]
            raise ValueError(f"it has no condition; there are {', '.join(keys)}")
        low, high = self.at_least, self.at_most
        if low is not None and high is not None and low > high:
            raise ValueError(f"no number is at least {low} and at most {high}")
        return self


class ApprovalRule(Form):
    """One rule. The first one counts whose tools, tenant and conditions all fit a call."""

    id: Id
    """Its name in logs and receipts."""
    tools: Names = Field(min_length=1)
    """Globs."""
    tenant: Name | None = None
    """Only calls of this tenant."""
    when: dict[Place, Condition] = {}
    """Places in the arguments."""
    do: Verdict = Verdict.ASK
    """Ask a person, refuse the call, or let it pass without looking at later rules."""
    reason: str = ""
    """Words for the person, or for the model."""
    report_only: bool = False
    """Only record what the rule would do; the call continues, and later rules apply."""
    to: Addressees = ()
    """Names of people that may answer, and of groups as `group:finance`; none: all who may
    answer.
    """
    not_requester: bool = False
    """The person who submitted the task may not answer."""
    quorum: Annotated[int, Field(ge=1)] = 1
    """How many different people have to give the same yes."""
    expires: Seconds | None = None
    """How long the question stays open."""
    on_timeout: Annotated[str, AfterValidator(_end)] = OnTimeout.FAIL.value
    """What happens then: fail, deny, or `escalate:` with the name of the group that is asked
    next.
    """

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        asked = _OF_QUESTIONS & self.model_fields_set
        if asked and self.do is not Verdict.ASK:
            raise ValueError(f"only a rule that asks has {', '.join(sorted(asked))}")
        if self.report_only and self.do is Verdict.PASS:
            raise ValueError("a rule that passes has nothing to report: leave report_only out")
        people = folded(self.to)
        is_of_groups = any(name.startswith(GROUP) for name in people)
        if people and not is_of_groups and len(people) < self.quorum:
            raise ValueError(f"{self.quorum} people have to say yes, but `to` names {len(people)}")
        return self

    @property
    def sourced(self) -> Strings:
        """The places of which it looks at where values come from."""
        return tuple(
            place for place, condition in self.when.items() if condition.source is not None
        )

    def names(self, tool: str) -> bool:
        """Whether it is about calls of this tool."""
        return any(fnmatchcase(tool, glob) for glob in self.tools)

    @property
    def answerers(self) -> Answerers:
        """Who may answer its question."""
        end, _, group = self.on_timeout.partition(":")
        following = f"{GROUP}{group}" if group else ""
        return Answerers(self.to, self.not_requester, self.quorum, OnTimeout(end), following)

    @property
    def words(self) -> str:
        """Its reason, for people and for the model."""
        return self.reason or f"The rule {self.id!r} of the policy file applies to this call."
