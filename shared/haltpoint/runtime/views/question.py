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
from haltpoint.runtime.views.wording import about, call, cut, joined, spaced, value_text

WIDTH: Final = 160
"""Characters of the model's words in one line."""
_WHOLE: Final = 10_000
"""Characters of a value of a call that is asked about."""

CLOSED: Final = {RequestStatus.EXPIRED: "has expired", RequestStatus.WITHDRAWN: "was withdrawn"}
"""How a question is closed that gets no answer."""

_EXPLAINED: Final = frozenset(
    {
        Violation.BAD_PLAN,
        Violation.BAD_ARGUMENTS,
        Violation.NO_PROVENANCE,
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
    yield from _people(request)
    yield from _options(request)
    if request.kind in (RequestKind.CONFIRMATION, RequestKind.IN_DOUBT):
        yield call(request.tool, request.arguments, width=_WHOLE)
    yield from _sources(request.reasons)
    for other in request.others:
        yield call(request.tool, other.arguments, width=_WHOLE)
        yield from _sources(other.reasons)
    now = request.preview or ""
    before = request.approved_preview or now
    if before != now:
        yield from ("shown at the last yes:", *before.splitlines(), "as it would run now:")
    yield from now.splitlines()
    if request.kind is RequestKind.INPUT and request.form is not None:
        yield from fields(request.form)
    if request.kind is RequestKind.ESCALATION:
        yield from _case(request)


def _people(request: RequestView) -> Iterator[str]:
    """The agents that led to it, and the people whom it is for."""
    asked = request.answerers
    if request.path:
        path = " > ".join(request.path)
        yield f"asked by: {path}"
    if asked.to or asked.not_requester:
        yield f"for: {who_may(request)}"
    if asked.quorum > 1 and request.is_open:
        votes = []
        for vote in request.votes:  # the same count together
            said = vote.answer
            parts = filter(None, (said.arguments, said.for_, said.text))
            votes.append(" ".join((vote.by, *(value_text(part, WIDTH) for part in parts))))
        so_far = joined(*votes) or "no one"
        yield f"{asked.quorum} people have to say the same yes; so far: {so_far}"


def who_may(request: RequestView) -> str:
    """Who may answer, in words."""
    people = " or ".join(request.answerers.to) or "each person whose key may answer"
    but = f", but not for {request.requester}, who submitted the task"
    return people + but if request.answerers.not_requester else people


def _options(request: RequestView) -> Iterator[str]:
    """One line each, aligned and numbered from 1; with how sure the tool is, if it says so."""
    wide = max((len(option.title) for option in request.options), default=0)
    for number, option in enumerate(request.options, 1):
        sure = "" if option.confidence is None else f"{option.confidence:.0%}"
        title = f"{option.title:<{wide}}  {sure:>4}"
        line = f"{number}  {title}  {option.subtitle}"
        yield line.rstrip()


def _sources(reasons: Iterable[Reason]) -> Iterator[str]:
    """Each value that is asked about with the place where it was found, and the text around it."""
    for reason in reasons:
        source = reason.source
        if source is not None:
            value = value_text(reason.value, WIDTH)
            name = reason.parameter or ""
            found = source.where or "no result, and not in your words"
            around = about(": “{}”", source.excerpt)
            yield f"{name} = {value}  from {found} ({source.source.value}){around}"


def _case(request: RequestView) -> Iterator[str]:
    """What was asked, what was wrong, what the model said at last, and what is missing."""
    routing = request.path[-1:] == (SUPERVISOR,)
    faults = Counter(_fault(strike, routing=routing) for strike in request.strikes)
    lines = [about("asked:    {}", request.step or request.goal)]
    for fault, times in faults.items():
        often = f" ({times} times)" if times > 1 else ""
        lines.append(f"wrong:    {fault}{often}")
    for strike in request.strikes[-1:]:
        words = model_words(strike.said, strike.tool)
        lines.append(about("model:    {}", words))
    lines.append(about("missing:  a receipt of {}", request.tool))
    yield from filter(None, lines)


def _fault(strike: Strike, *, routing: bool) -> str:
    """What was wrong, for a person; of arguments also where."""
    words = broken(strike.violation, routing=routing)
    if strike.violation not in _EXPLAINED:
        return words
    message = _cut(strike.message)
    return f"{words}: {message}"


def model_words(said: str, tool: str | None = None) -> str:
    """What a model said, in a line: calls as one would write them, words in quotes. `tool`: it is
    about a call of this one, of which the arguments may be all that was said.
    """
    whole = said.strip()
    calls = _calls(whole, tool)
    if calls or not whole:
        return calls
    words, _, last = whole.rpartition("\n")
    calls = _calls(last, tool)  # native ones follow the words, a line each
    if words and calls:
        before = model_words(words, tool)
        return f"{before}, {calls}"
    return f"“{_cut(whole)}”"


def _calls(text: str, tool: str | None) -> str:
    """The calls that a text is; nothing where it is none."""
    try:
        proposed = json.loads(text)
        calls = proposed if isinstance(proposed, list) else [proposed]
        return joined(*(_call(one, tool) for one in calls))
    except (ValueError, TypeError, KeyError, AttributeError):
        return ""


def _call(proposed: Any, tool: str | None) -> str:
    """A call of a model. Raises the error of the reader where it is none."""
    if tool and "name" not in proposed:
        return call(tool, dict(proposed))
    arguments = proposed.get("arguments", {})
    if isinstance(arguments, str):
        arguments = json.loads(arguments)
    name = proposed["name"].strip()
    return call(name, dict(arguments))


def _cut(words: str) -> str:
    line = " ".join(words.split())
    return cut(line, WIDTH)


def answer_words(request: RequestView, answer: Answer) -> str:
    """An answer in one line: the option, or the decision with the words that came with it."""
    if answer.decision is Choice.SELECT:
        titles = {option.id: option.title for option in request.options}
        option = answer.option_id or "?"
        title = titles.get(option, "?")
        return f"{title}  ({option})"
    words = answer.text or answer.comment
    if not words and answer.value is not None:
        words = value_text(answer.value, 120)
    decision = spaced(answer.decision)
    return decision + about(": {}", words)


def fields(form: JsonObject) -> Iterator[str]:
    """The fields of a form, each with what is wanted in words."""
    required = form.get("required", ())
    for name, given in form.get("properties", {}).items():
        wanted = given if isinstance(given, dict) else {}  # `true` says nothing
        choice = wanted.get("enum") or [wanted.get("type", "any")]
        kind = " | ".join(map(str, choice))
        optional = "" if name in required else ", optional"
        words = wanted.get("description") or wanted.get("title") or ""
        line = f"{name}: {kind}{optional}  {words}"
        yield line.rstrip()
