"""What a notice says: question, deadline, link; arguments only where the rule says so, secrets
never.
"""

from haltpoint.contracts.base import JsonObject, value
from haltpoint.contracts.people.notices import Notice, NotifyRule
from haltpoint.contracts.secrets import starred
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.views.chains import RequestView
from haltpoint.runtime.views.question import who_may
from haltpoint.runtime.views.wording import call, spaced

_SHOWN = ("kind", "tool", "question", "status", "chain_id", "deadline")
"""Of the question, in the notice's document."""


@value
class Letter:
    """A notice in words, and as JSON for programs."""

    title: str
    text: str
    document: JsonObject


def letter_of(
    notice: Notice,
    rule: NotifyRule,
    request: RequestView,
    link: str,
    spec: ToolSpec | None,
    typed: frozenset[str],
) -> Letter:
    """The notice of a question as it is now; `link` is the address of its page."""
    shown = starred(request.model_dump(mode="json"), typed=typed)
    document = {name: shown[name] for name in _SHOWN}
    happened = "request.opened" if request.is_open else "request.closed"
    document |= {"type": happened, "id": notice.id, "request_id": request.id, "link": link}
    document["to"] = request.answerers.to
    question = shown["question"]
    lines = [f"For {who_may(request)}, until {request.deadline:%Y-%m-%d %H:%M} UTC.", link]
    if spec and spec.queue:
        does = document["does"] = spec.description.partition("\n")[0]
        lines.insert(0, does)
        question = f"{spaced(spec.name).capitalize()}: {question}"
    if rule.arguments:
        calls = [listed["arguments"] for listed in (shown, *shown.get("others", ()))]
        document |= {"arguments": calls[0], "others": calls[1:]}
        lines += [call(request.tool, arguments, width=1000) for arguments in calls]
    text = "\n".join((question, *lines))
    return Letter(f"A question is {request.status}: {question}"[:200], text, document)
