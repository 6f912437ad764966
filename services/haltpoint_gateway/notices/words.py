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
    arguments = shown["arguments"]
    to = shown["answerers"]["to"]
    document = {name: shown[name] for name in _SHOWN}
    document |= {"id": notice.id, "request_id": request.id, "to": to, "link": link}
    lines = [question, ""]
    if to:
        whom = " or ".join(to)
        lines.append(f"It is for {whom}.")
    if rule.arguments:
        others = [other["arguments"] for other in shown.get("others", ())]
        document |= {"arguments": arguments, "others": others}
        for called in (arguments, *others):
            lines += [f"{name}: {given}" for name, given in called.items()]
    if notice.is_of_an_end:
        document["type"] = "request.closed"
        title = f"Closed: {question}"
        lines.append(_end(shown))
    else:
        document["type"] = "request.opened"
        title = f"A person is asked: {question}"
        lines.append(f"Open until {request.deadline:%Y-%m-%d %H:%M} UTC.")
    text = "\n".join([*lines, link])
    return Letter(title[:200], text, document)


def _end(shown: JsonObject) -> str:
    answer = shown["answer"]
    if answer is None:
        return f"It is {shown['status']}."
    decision = answer["answer"]["decision"]
    return f"{answer['by']} has answered: {decision}."
