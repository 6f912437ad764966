"""An escalation handler for tests: what it says depends on the goal of the chain."""

from typing import Final

from haltpoint.contracts.people.humans import Answer, Choice, RequestKind
from haltpoint.contracts.views.chains import RequestView

SEEN: Final[list[RequestView]] = []
"""The cases that were shown to a handler in this process."""


def settle(case: RequestView) -> Answer | None:
    """Decide, pass, fail, or say what does not fit."""
    SEEN.append(case)
    kind = RequestKind.ESCALATION
    match case.goal:
        case "give it":
            return Answer(kind=kind, decision=Choice.MANUAL, value={"contact_id": "u1"})
        case "give something else":
            return Answer(kind=kind, decision=Choice.MANUAL, value={"contact_id": 7})
        case "fail":
            raise RuntimeError("on purpose")
        case "end the process":
            raise SystemExit(1)
        case _:
            return None


async def settle_later(case: RequestView) -> Answer | None:
    """The same, asynchronously."""
    return settle(case)
