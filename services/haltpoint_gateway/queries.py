"""What callers may write beside task and answer: queries, headers, small bodies. Unknown names are
errors.
"""

import re
from typing import Annotated, Final

from fastapi import Header
from pydantic import Field

from haltpoint.contracts.doors import Form
from haltpoint.contracts.facts import FactType
from haltpoint.runtime.streams.timeline import PLACE
from haltpoint.runtime.streams.wire import DeadLetterReason
from haltpoint.runtime.views.history import KEPT
from haltpoint.runtime.views.queries import Moment

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="The same key again finds the same chain.",
    ),
]
PlaceName = Annotated[str, Field(pattern=f"^{PLACE.pattern}$")]
EVENT_ID: Final = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}")


class LetterQuery(Form):
    """Which dead letters."""

    reason: DeadLetterReason | None = None
    cursor: PlaceName | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 50


class AuditQuery(Form):
    """Which lines of the audit: from one moment to another."""

    since: Moment | None = None
    until: Moment | None = None
    cursor: PlaceName | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 100


class StatsQuery(Form):
    """Of how many days, today among them."""

    days: int = Field(default=7, ge=1, le=KEPT)


class EventQuery(Form):
    """Which part of a chain's log: what comes behind the event `cursor`."""

    cursor: str | None = Field(default=None, pattern=f"^{EVENT_ID.pattern}$")
    limit: int = Field(default=500, ge=1, le=5000, description="lines of the log per page")


class StreamQuery(Form):
    """Which facts; all without `types`."""

    types: tuple[FactType, ...] = ()


class Feedback(Form):
    """What a person says of a chain, or of one action: that it was wrong, or right, in words if
    they like.
    """

    wrong: bool
    action_id: str | None = Field(default=None, max_length=500)
    words: str = Field(default="", max_length=4096)


class Cancel(Form):
    """Why a chain is stopped."""

    reason: str = Field(default="", max_length=1024)


class ViewQuery(Form):
    """What is shown of a chain."""

    story: bool = False
    """With its story, in words."""
