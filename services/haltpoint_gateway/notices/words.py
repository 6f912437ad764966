"""What a notice says: question, deadline, link; arguments only where the rule says so, secrets
never.
"""

from typing import Any

from haltpoint.contracts.base import JsonObject, value
from haltpoint.contracts.people.notices import Notice, NotifyRule
from haltpoint.contracts.secrets import starred
from haltpoint.contracts.views.chains import RequestView


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
    document: dict[str, Any] = {
        "type": f"request.{'closed' if notice.is_of_an_end else 'opened'}",
        "id": notice.id,
        "link": link,
        "deadline": shown["deadline"],
        **{name: shown[name] for name in ("kind", "tool", "question", "status", "chain_id")},
        "request_id": request.id,
        "to": shown["answerers"]["to"],
    }
    lines = [shown["question"], ""]
    if request.answerers.to:
        lines.append(f"It is for {' or '.join(request.answerers.to)}.")
    if rule.arguments:
        document["arguments"] = shown["arguments"]
        lines += [f"{name}: {given}" for name, given in shown["arguments"].items()]
    if notice.is_of_an_end:
        lines.append(_end(shown))
        title = f"Closed: {shown['question']}"
    else:
        lines.append(f"Open until {request.deadline:%Y-%m-%d %H:%M} UTC.")
        title = f"A person is asked: {shown['question']}"
    lines.append(link)
    return Letter(title[:200], "\n".join(lines), document)


def _end(shown: JsonObject) -> str:
    answer = shown["answer"]
    if answer is None:
        return f"It is {shown['status']}."
    return f"{answer['by']} has answered: {answer['answer']['decision']}."
