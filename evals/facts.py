"""One request of the planner in the light of its case: the words that the rules of kinds.yaml are
chosen by, and the values that they speak of as {{...}}. Pure.
"""

from typing import Any, Final

import msgspec

from evals.case import Case
from haltpoint.contracts.work.routing import ROUTE
from haltpoint.contracts.work.tasks import Style
from haltpoint.testing.conversation import Conversation
from haltpoint.testing.script import bounds

Facts = dict[str, Any]

SENSELESS: Final = {
    "brackets": "[" * 5000,
    "letters": "a" * 20_000,
    "digits": "1" * 400,
    "megabytes": "x" * 5_000_000,
}
"""Texts that are too long to be written into kinds.yaml."""


def facts(case: Case, asked: Conversation) -> Facts:
    """All words and values of a request."""
    return SENSELESS | _of_case(case) | _of_request(case, asked)


def reading(case: Case) -> Facts:
    """The bounds that the goal sets, but for what is misread."""
    asked = [] if case.traits.reads else [case.tool]
    if case.misread or not case.condition:
        return dict(bounds(required=asked))
    return dict(bounds(required=asked, ask_before=asked, forbidden=[*case.forbidden]))


def _of_case(case: Case) -> Facts:
    way = [[tool] for tool in (case.finder, "read_mail" if case.mail else "", case.tool) if tool]
    first = case.variant % max(1, len(case.retold))
    retold = case.retold[first:] + case.retold[:first]
    return msgspec.structs.asdict(case) | {
        "finder": case.finder,
        "agent": case.traits.agent,
        "planned": case.style is Style.PLAN,
        "others": case.others,
        "all": [do(case, thing) for thing in case.others[:8]],
        "way": way,
        "way_twice": [*way, [case.tool]],
        "reading": reading(case),
        "retold": " ".join(
            retold[:2]
        ),  # two of the things that may be told, other ones in each case
    }


def _of_request(case: Case, asked: Conversation) -> Facts:
    attempt = asked.attempt or 1
    again = attempt <= case.patience
    succeeded = {tool for tool, result in asked.results if _is_success(result)}
    done = case.tool in succeeded
    routes, handed_on = asked.step == ROUTE, ROUTE in asked.answered
    open_ended = asked.thought == "reason" and case.style is Style.REACT
    data: Facts = {}
    for _, result in asked.results:
        data |= result.get("data") or {}
    found = data.get("id")
    picked = data.get("answer")
    return {
        asked.thought or "": True,
        "acts": (asked.thought == "act" and not routes)
        or (open_ended and not done),  # a call is due
        "speaks": asked.thought == "answer" or (open_ended and done),  # the last words are due
        "route": routes,  # a supervisor's turn
        "decides": routes and again and not handed_on,
        "turn": asked.turn,
        "tries": (asked.turn or 1) + attempt - 1,  # proposals of this step, with this one
        "first": attempt == 1,
        "again": again,  # it misbehaves in this attempt, too
        "once_more": asked.answered.count(case.tool) <= min(case.patience, 3),
        "done": done,
        "read": "read_mail" in succeeded,
        "sent": "send_message" in succeeded,
        "in_read": asked.step == "read",
        "handed_on": handed_on,  # an agent has ended, well or not
        "error": _error(asked),
        "found": found,  # an id that was looked up, or chosen by a person
        "picked": picked,  # a person's choice among options of the model
        "do_found": do(case, found),
        "do_picked": do(case, picked),
        "do_made_up": do(case, _made_up(case)),
        "do_other": do(case, case.others[0]),
    }


def do(case: Case, thing: str | None) -> Facts:
    """The call that does what is asked, to this person or page."""
    addressed = {case.traits.takes: thing} if case.finder else {}
    return {"name": case.tool, "arguments": addressed | case.arguments}


def _is_success(result: Facts) -> bool:
    goes_on = ("continue", "complete")
    return result.get("success") is True and result.get("next_action") in goes_on


def _error(asked: Conversation) -> str | None:
    error = asked.result.get("error") or {}
    return error.get("message")


def _made_up(case: Case) -> str:
    """An id that the model was not given; as a rule it belongs to somebody."""
    ids = [*case.others[:2], case.others[-1], "user_12345", f"{case.target}0", case.query]
    return ids[case.variant % len(ids)]
