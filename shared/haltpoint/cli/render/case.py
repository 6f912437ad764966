"""A question to people in words: the case of an escalation, the form of an input, what may be
decided and how.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from haltpoint.cli.wording import call, value_text, visible
from haltpoint.contracts.people.humans import Answer, Choice, RequestKind, RequestStatus
from haltpoint.contracts.reasons import Source
from haltpoint.contracts.results import Option
from haltpoint.contracts.views.chains import RequestView
from haltpoint.contracts.work.routing import SUPERVISOR
from haltpoint.contracts.work.thoughts import Strike, Violation, broken

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


def details(request: RequestView) -> Iterator[str]:
    """What a person has to know beside the question, a line each: the agents that led to it,
    options, the call, the form, or the whole case.
    """
    if request.path:
        yield f"asked by: {' > '.join(map(visible, request.path))}"
    yield from _options(request)
    if request.kind in (RequestKind.CONFIRMATION, RequestKind.IN_DOUBT):
        yield call(request.tool, request.arguments, width=10_000)
    for reason in request.reasons:
        if reason.source is not None:
            yield _source(reason.parameter or "", reason.value, reason.source)
    if request.approved_preview and request.approved_preview != request.preview:
        yield from ("approved:", *_lines(request.approved_preview), "now:")
    yield from _lines(request.preview)
    if request.kind is RequestKind.INPUT and request.form is not None:
        yield from (f"{name}: {words}" for name, words, _ in fields(request.form))
    if request.kind is RequestKind.ESCALATION:
        yield from _case(request)


def _lines(preview: str | None) -> Iterator[str]:
    return (visible(line) for line in (preview or "").splitlines())


def _options(request: RequestView) -> Iterator[str]:
    """One line each, aligned and numbered from 1; with how sure the tool is, if it says so of
    any.
    """
    wide = max((len(visible(option.title)) for option in request.options), default=0)
    rated = any(option.confidence is not None for option in request.options)
    for number, one in enumerate(request.options, 1):
        sure = "" if one.confidence is None else f"{one.confidence:.0%}"
        confidence = f"  {sure:>4}" if rated else ""
        yield (
            f"{number}  {visible(one.title):<{wide}}{confidence}  {visible(one.subtitle)}"
        ).rstrip()


def _source(parameter: str, value: Any, source: Source) -> str:
    """A value with the place where it was found, and the text around it."""
    found = visible(source.where) if source.where else "no result, and not in your words"
    around = f": “{visible(source.excerpt)}”" if source.excerpt else ""
    return (
        f"{visible(parameter)} = {value_text(value, WIDTH)}  from {found} "
        f"({source.source.value}){around}"
    )


def _case(request: RequestView) -> Iterator[str]:
    if request.step:
        yield f"asked:    {visible(request.step)}"
    elif request.goal:
        yield f"asked:    {visible(request.goal)}"
    routing = request.path[-1:] == (SUPERVISOR,)
    faults = Counter(_fault(strike, routing=routing) for strike in request.strikes)
    for number, (fault, times) in enumerate(faults.items()):
        yield f"{'' if number else 'wrong:':<8}  {fault}{f' ({times} times)' if times > 1 else ''}"
    for strike in request.strikes[-1:]:
        if words := model_words(strike.said):
            yield f"reply:    {words}"
    if request.tool:
        yield f"missing:  a receipt of {visible(request.tool)}"


def _fault(strike: Strike, *, routing: bool) -> str:
    """What was wrong, for a person; of arguments also where."""
    words = broken(strike.violation, routing=routing)
    return f"{words}: {_cut(strike.message)}" if strike.violation in _EXPLAINED else words


def model_words(said: str) -> str:
    """What a model said, in a line: a call as one would write it, words in quotes."""
    try:
        proposed = json.loads(said)
    except ValueError:
        return quoted(said)
    calls = proposed if isinstance(proposed, list) else [proposed]
    written = [_call(one) for one in calls]
    return ", ".join(written) if written and all(written) else quoted(said)


def _call(proposed: Any) -> str:
    """A call of a model as one would write it; empty where it is none."""
    if not isinstance(proposed, dict) or not isinstance(proposed.get("name"), str):
        return ""
    arguments = proposed.get("arguments", {})
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return ""
    return call(proposed["name"], arguments) if isinstance(arguments, dict) else ""


def quoted(words: str) -> str:
    """Words of a model, cut and in quotes; nothing for none."""
    return f"“{_cut(words)}”" if words.strip() else ""


def _cut(words: str) -> str:
    line = visible(" ".join(words.split()))
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"


def answer_words(request: RequestView, answer: Answer) -> str:
    """An answer in one line: the option, or the decision with the words that came with it."""
    if answer.decision is Choice.SELECT:
        chosen = next(
            (one for one in request.options if one.id == answer.option_id),
            Option(id="?", title="?"),
        )
        return f"{visible(chosen.title)}  ({visible(chosen.id)})"
    words = visible(answer.text or answer.comment)
    if not words and answer.value is not None:
        words = value_text(answer.value, 120)
    return answer.decision.value.replace("_", " ") + (f": {words}" if words else "")


def fields(form: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """The fields of a form: name, what is wanted in words, and the schema of each."""
    properties = form.get("properties")
    if not isinstance(properties, dict):
        return []
    required = form.get("required", ())
    return [
        (
            visible(str(name)),
            _wanted(schema if isinstance(schema, dict) else {}, name in required),
            schema,
        )
        for name, schema in properties.items()
    ]


def _wanted(schema: dict[str, Any], required: bool) -> str:
    kind = schema.get("type", "any")
    choice = schema.get("enum")
    words = (
        " | ".join(visible(str(one)) for one in choice) if isinstance(choice, list) else str(kind)
    )
    about = schema.get("description") or schema.get("title") or ""
    optional = "" if required else ", optional"
    note = f"  {visible(str(about))}" if about else ""
    return f"{visible(words)}{optional}{note}"
