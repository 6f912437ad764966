"""What a notice says: question, deadline, link; arguments only where the rule says so, secrets
never.
"""

from haltpoint.contracts.base import JsonObject, value
from haltpoint.contracts.people.notices import Notice, NotifyRule
from haltpoint.contracts.secrets import starred
from haltpoint.contracts.views.chains import RequestView

_SHOWN = ("kind", "tool", "question", "status", "chain_id", "deadline")
"""Of the question, in the notice's document."""


@value
class Letter:
    """A notice in words, and as JSON for programs."""

    title: str
    text: str
    document: JsonObject


def letter_of(
    notice: Notice, rule: NotifyRule, request: RequestView, link: str, typed: frozenset[str]
) -> Letter:
    """The notice of a question as it is now; `link` is the address of its page."""
    shown: JsonObject = starred(request.model_dump(mode="json"), typed=typed)
    question = shown["question"]
    arguments, *others = [call["arguments"] for call in (shown, *shown.get("others", ()))]
    title, kind = f"A person is asked: {question}", "request.opened"
    end = f"Open until {request.deadline:%Y-%m-%d %H:%M} UTC."
    if notice.is_of_an_end:
        title, kind = f"Closed: {question}", "request.closed"
        end = f"It is {request.status}."
    document = {name: shown[name] for name in _SHOWN}
    document |= {"type": kind, "id": notice.id, "request_id": request.id, "link": link}
    document["to"] = to = shown["answerers"]["to"]
    lines = [question, "", *(f"It may be answered by {name}." for name in to)]
    if rule.arguments:
        document |= {"arguments": arguments, "others": others}
        lines += [
            f"{name}: {given}" for call in (arguments, *others) for name, given in call.items()
        ]
    return Letter(title[:200], "\n".join([*lines, end, link]), document)
