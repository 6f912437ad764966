"""Who may answer a question, and what happens when no one does (CONTRACT G4)."""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from haltpoint.contracts.base import Contract, Strings


class OnTimeout(StrEnum):
    """What a question does that gets no answer: the step fails, or the call is denied and the model
    may continue, or others are asked.
    """

    FAIL = "fail"
    DENY = "deny"
    ESCALATE = "escalate"


GROUP: Final = "group:"
"""Begins the name of a group among names of people."""
_NAME: Final = re.compile(rf"(?!{GROUP})[^\s,]([^,]*[^\s,])?", re.IGNORECASE)
"""Commas are between names."""
ADMIN: Final = "admin"
"""Who holds the admin key."""


def person(name: str) -> str:
    """A person's name as it is compared, and recorded: Fay and fay are one person."""
    return " ".join(name.split()).casefold()


def named(text: str) -> str:
    """The name of a person, a program or a group. Raises ValueError."""
    if _NAME.fullmatch(text) is None or not text.isprintable():
        fault = f"begins with {GROUP}, or has a comma, a control character or a blank at an end"
        raise ValueError(f"{text!r} is not a name: it {fault}")
    return text


def persons_name(text: str) -> str:
    """The name of a person or a program. Raises ValueError."""
    if person(text) == ADMIN:
        raise ValueError(f"{text!r} is who holds the admin key; choose another name")
    return named(text)


def addressee(text: str) -> str:
    """The name of a person, or of a group as `group:finance`. Raises ValueError."""
    named(text.removeprefix(GROUP))
    return text


def folded(names: Iterable[str]) -> frozenset[str]:
    """Names of people and groups as they are compared."""
    return frozenset(name if name.startswith(GROUP) else person(name) for name in names)


class Answerers(Contract):
    """Who may answer a question, and what happens without an answer."""

    to: Strings = ()
    """Names of people, and of groups as `group:finance`; none: each person whose key may answer."""
    not_requester: bool = False
    """The person who submitted the task may not answer."""
    quorum: int = 1
    """How many different people have to give the same yes."""
    on_timeout: OnTimeout = OnTimeout.FAIL
    """What happens without an answer."""
    escalate_to: str = ""
    """The group that is asked next, as `group:board`."""


ANYONE: Final = Answerers()
"""The question is to each person whose key may answer."""
