"""The rows that the model of the functions is made of: what of a key matters to the functions, frozen."""

from dataclasses import dataclass
from enum import StrEnum

EVENTS, PLANS, HUMANS, TOOLS = "events", "plans", "humans", "tools:default"
Moment = tuple[int, int]


class End(StrEnum):
    """The states of a chain that matter to the functions."""

    LIVE = "executing"
    FINAL = "completed"


@dataclass(frozen=True)
class ChainRow:
    version: str
    digest: str
    deadline: Moment
    end: End = End.LIVE
    open: tuple[int, ...] = ()  # as the executor wrote it last
    quarantined: bool = False


@dataclass(frozen=True)
class ActionRow:
    repeatable: bool
    entry: int
    attempt: int = 1
    epoch: int = 0
    owner: str = ""
    verdict: str = ""
    started: bool = False
    receipt: str = ""
    doubt: str = ""
    settled: bool = False

    @property
    def over(self) -> bool:
        """Whether nothing may be run or recorded any more under this attempt."""
        return bool(self.receipt or self.doubt)


@dataclass(frozen=True)
class RequestRow:
    chain: str
    deadline: int
    status: str = "open"
    token: str = ""


@dataclass(frozen=True)
class EntryRow:
    """`message` is the id of the message in it, `about` the action or thought that it is an order for."""

    stream: str
    message: str
    about: str = ""


@dataclass(frozen=True)
class LetterRow:
    entry: int
    row: EntryRow
    reason: str
    about: str = ""
