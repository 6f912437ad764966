"""The rows that the model of the functions is made of: what of a key matters to the functions,
frozen.

An action's row is that of the rules.
"""

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


@dataclass(frozen=True)
class RequestRow:
    chain: str
    deadline: int
    status: str = "open"
    token: str = ""
    said: str = ""


@dataclass(frozen=True)
class EntryRow:
    """`message` is the id of the message in it, `about` the action or thought that it is an order
    for.
    """

    stream: str
    message: str
    about: str = ""


@dataclass(frozen=True)
class LetterRow:
    entry: int
    row: EntryRow
    reason: str
    about: str = ""
