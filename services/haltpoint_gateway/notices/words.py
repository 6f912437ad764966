"""What a notice says: question, deadline, link; arguments only where the rule says so, secrets
never.
"""

from haltpoint.contracts.base import JsonObject, value
from haltpoint.contracts.people.notices import Notice, NotifyRule
from haltpoint.contracts.secrets import starred
from haltpoint.contracts.views.chains import RequestView

_SHOWN = ("kind", "tool", "question", "status", "chain_id", "deadline")
"""Of the question, in the notice's document."""
_OPENED = "request.opened", "A person is asked: {}", "Open until {0.deadline:%Y-%m-%d %H:%M} UTC."
_CLOSED = "request.closed", "Closed: {}", "It is {0.status}."
"""The type, the title and the end of a notice."""


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
    kind, title, end = _CLOSED if notice.is_of_an_end else _OPENED
    to = request.answerers.to
    shown: JsonObject = starred(request.model_dump(mode="json"), typed=typed)
    document = {name: shown[name] for name in _SHOWN}
    question = shown["question"]
    document |= {"type": kind, "id": notice.id, "request_id": request.id}
    document |= {"to": to, "link": link}
    lines = [question, "", *map("It may be answered by {}.".format, to)]
    if rule.arguments:
        listed = shown.get("others", ())
        calls = [call["arguments"] for call in (shown, *listed)]
        document |= {"arguments": calls[0], "others": calls[1:]}
        for arguments in calls:
            lines += [f"{name}: {given}" for name, given in arguments.items()]
    lines += [end.format(request), link]
    text = "\n".join(lines)
    return Letter(title.format(question)[:200], text, document)
