"""A question to people in words: what they have to know beside it, and what was answered. Pure."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.humans import Answer, Choice, RequestKind, RequestStatus
from haltpoint.contracts.reasons import Reason
from haltpoint.contracts.views.chains import ChainView, ChildView, RequestView
from haltpoint.contracts.work.routing import SUPERVISOR
from haltpoint.contracts.work.thoughts import Strike, Violation, broken
from haltpoint.runtime.views.wording import call, cut, value_text

WIDTH: Final = 160
"""Characters of the model's words in one line."""

CLOSED: Final = {RequestStatus.EXPIRED: "has expired", RequestStatus.WITHDRAWN: "was withdrawn"}
"""How a question is closed that gets no answer."""

_EXPLAINED: Final = frozenset(
    {
        Violation.BAD_PLAN,
        Violation.BAD_ARGUMENTS,
        Violation.UNKNOWN_TOOL,
        Violation.NOT_ALLOWED,
        Violation.UNREADABLE,
    }
)
"""Violations whose message says more to a person than their name."""


def asked_in(chain: ChainView | ChildView) -> Iterator[RequestView]:
    """The questions of a chain and of all chains below it."""
    yield from chain.requests
    for child in chain.children:
        yield from asked_in(child)


def is_edited(request: RequestView) -> bool:
    """Whether a person has approved a call with other arguments."""
    return request.answer is not None and request.answer.answer.arguments is not None


def details(request: RequestView) -> Iterator[str]:
    """What a person has to know beside the question, a line each: the agents that led to it,
    whom it is for, options, the call, the form, or the whole case.
    """
    if request.path:
        yield f"asked by: {' > '.join(request.path)}"
    if request.answerers.to:
        yield f"for: {' or '.join(request.answerers.to)}"
    if request.answerers.quorum > 1:
        names = ", ".join(vote.by for vote in request.votes) or "no one"
        yield f"{request.answerers.quorum} people have to say yes; so far: {names}"
    yield from _options(request)
    if request.kind in (RequestKind.CONFIRMATION, RequestKind.IN_DOUBT):
        yield call(request.tool, request.arguments, width=10_000)
    yield from _sources(request.reasons)
    for other in request.others:
        yield call(request.tool, other.arguments, width=10_000)
        yield from _sources(other.reasons)
    if request.approved_preview and request.approved_preview != request.preview:
        before = request.approved_preview.splitlines()
        yield from ("shown at the last yes:", *before, "as it would run now:")
    yield from (request.preview or "").splitlines()
    if request.kind is RequestKind.INPUT and request.form is not None:
        yield from fields(request.form)
    if request.kind is RequestKind.ESCALATION:
        yield from _case(request)


def _options(request: RequestView) -> Iterator[str]:
    """One line each, aligned and numbered from 1; with how sure the tool is, if it says so."""
    wide = max((len(option.title) for option in request.options), default=0)
    for number, option in enumerate(request.options, 1):
        sure = "" if option.confidence is None else f"{option.confidence:.0%}"
        title = f"{option.title:<{wide}}  {sure:>4}"
        yield f"{number}  {title}  {option.subtitle}".rstrip()


def _sources(reasons: Iterable[Reason]) -> Iterator[str]:
    """Each value that is asked about with the place where it was found, and the text around it."""
    for reason in reasons:
        source = reason.source
        if source is not None:
            found = source.where or "no result, and not in your words"
            around = f": “{source.excerpt}”" if source.excerpt else ""
            value = value_text(reason.value, WIDTH)
            name = reason.parameter or ""
            yield f"{name} = {value}  from {found} ({source.source.value}){around}"


def _case(request: RequestView) -> Iterator[str]:
    """What was asked, what was wrong, what the model said at last, and what is missing."""
    if asked := request.step or request.goal:
        yield f"asked:    {asked}"
    routing = request.path[-1:] == (SUPERVISOR,)
    faults = Counter(_fault(strike, routing=routing) for strike in request.strikes)
    for fault, times in faults.items():
        often = f" ({times} times)" if times > 1 else ""
        yield f"wrong:    {fault}{often}"
    for strike in request.strikes[-1:]:
        if words := model_words(strike.said, strike.tool):
            yield f"model:    {words}"
    if request.tool:
        yield f"missing:  a receipt of {request.tool}"


def _fault(strike: Strike, *, routing: bool) -> str:
    """What was wrong, for a person; of arguments also where."""
    words = broken(strike.violation, routing=routing)
    if strike.violation not in _EXPLAINED:
        return words
    return f"{words}: {_cut(strike.message)}"


def model_words(said: str, tool: str | None = None) -> str:
    """What a model said, in a line: a call as one would write it, words in quotes. `tool`: it is
    about a call of this one, of which the arguments may be all that was said.
    """
    try:
        proposed = json.loads(said)
        calls = proposed if isinstance(proposed, list) else [proposed]
        return ", ".join(_call(one, tool) for one in calls)
    except (ValueError, TypeError, KeyError, AttributeError):
        return f"“{_cut(said)}”" if said.strip() else ""


def _call(proposed: Any, tool: str | None) -> str:
    """A call of a model as one would write it. Raises the error of the reader where it
    is no call.
    """
    if tool and "name" not in proposed:
        return call(tool, dict(proposed))
    name, arguments = proposed["name"], proposed.get("arguments", {})
    read = json.loads(arguments) if isinstance(arguments, str) else arguments
    called = name.strip()
    return call(called, dict(read))


def _cut(words: str) -> str:
    line = " ".join(words.split())
    return cut(line, WIDTH)


def answer_words(request: RequestView, answer: Answer) -> str:
    """An answer in one line: the option, or the decision with the words that came with it."""
    if answer.decision is Choice.SELECT:
        titles = {option.id: option.title for option in request.options}
        option = answer.option_id or "?"
        return f"{titles.get(option, '?')}  ({option})"
    words = answer.text or answer.comment
    if not words and answer.value is not None:
        words = value_text(answer.value, 120)
    decision = answer.decision.value.replace("_", " ")
    return f"{decision}: {words}" if words else decision


def fields(form: JsonObject) -> Iterator[str]:
    """The fields of a form, each with what is wanted in words."""
    required = form.get("required", ())
    for name, wanted in form.get("properties", {}).items():
        schema = wanted if isinstance(wanted, dict) else {}  # `true` says nothing
        choice = schema.get("enum") or [schema.get("type", "any")]
        kind = " | ".join(map(str, choice))
        optional = "" if name in required else ", optional"
        about = schema.get("description") or schema.get("title") or ""
        yield f"{name}: {kind}{optional}  {about}".rstrip()
