"""Asking the person at the terminal: what may be typed for each kind of question, and what it
means.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from haltpoint.cli.render.case import CLOSED, answer_words, fields
from haltpoint.cli.render.following import read_line
from haltpoint.cli.wording import visible
from haltpoint.contracts.base import root_of
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import Choice, RequestKind, choices
from haltpoint.contracts.reasons import Reach

if TYPE_CHECKING:
    from haltpoint.client import Client
    from haltpoint.contracts.views.chains import RequestView

_CLOSING: Final = frozenset(
    {FactType.REQUEST_ANSWERED, FactType.REQUEST_EXPIRED, FactType.REQUEST_WITHDRAWN}
)

ReadLine = Callable[[str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Said:
    """An answer before it is sent: an option, or a decision."""

    option_id: str | None = None
    decision: Choice = Choice.SELECT
    text: str = ""
    value: dict[str, Any] | None = None
    reach: Reach | None = None


_KEYS: dict[RequestKind, dict[str, Choice]] = {
    RequestKind.CLARIFICATION: {"n": Choice.NONE, "a": Choice.ABORT},
    RequestKind.CONFIRMATION: {"y": Choice.APPROVE, "n": Choice.REJECT, "a": Choice.ABORT},
    RequestKind.INPUT: {},
    RequestKind.ESCALATION: {
        "r": Choice.REPHRASE,
        "m": Choice.MANUAL,
        "s": Choice.SKIP,
        "t": Choice.RETRY,
        "c": Choice.CONTINUE,
        "a": Choice.ABORT,
    },
    RequestKind.LEAVE_OUT: {"y": Choice.ACCEPT, "i": Choice.INSIST, "a": Choice.ABORT},
    RequestKind.IN_DOUBT: {
        "h": Choice.HAPPENED,
        "n": Choice.NOT_HAPPENED,
        "f": Choice.FAILED,
        "a": Choice.ABORT,
    },
}
_NAMES = {
    Choice.REPHRASE: "rephrase WORDS",
    Choice.MANUAL: "give it by hand",
    Choice.SKIP: "skip WORDS",
    Choice.RETRY: "try again",
    Choice.ACCEPT: "leave it out",
    Choice.INSIST: "insist WORDS",
}
_LEAVE = "/abort"
"""Instead of words: where every word may be the answer, a letter is no command."""


def understand(request: "RequestView", typed: str) -> Said | None:
    """What was meant: an option's number or id, or a letter; words behind it go to the model. None:
    not understood.
    """
    first, _, words = typed.strip().partition(" ")
    by_number = {str(number): one.id for number, one in enumerate(request.options, 1)}
    by_id = {one.id: one.id for one in request.options}
    if chosen := by_number.get(first) or by_id.get(first):
        return Said(option_id=chosen)
    if request.kind is RequestKind.INPUT:
        return _understand_input(request, typed.strip())
    decision = _keys(request).get(first.lower()[:1]) if first else None
    if decision is Choice.APPROVE and words.strip() in list(Reach):
        return Said(decision=decision, reach=Reach(words.strip()))
    if decision in (Choice.REPHRASE, Choice.SKIP) and not words.strip():
        return None
    takes_result = decision is Choice.MANUAL or decision is Choice.HAPPENED
    if decision is not None and takes_result and words.strip().startswith("{"):
        value = _object(words)
        return None if value is None else Said(decision=decision, value=value)
    return Said(decision=decision, text=words.strip()) if decision else None


def _understand_input(request: "RequestView", typed: str) -> Said | None:
    if typed == _LEAVE:
        return Said(decision=Choice.ABORT)
    if not typed or request.form is None:
        return Said(decision=Choice.ANSWER, text=typed) if typed else None
    value = _object(typed)
    return None if value is None else Said(decision=Choice.ANSWER, value=value)


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _keys(request: "RequestView") -> dict[str, Choice]:
    keys = _KEYS[request.kind]
    return (
        keys
        if request.step_id
        else {key: one for key, one in keys.items() if one in choices(request.kind, step=False)}
    )


def prompt_for(request: "RequestView") -> str:
    """What may be typed, in one line."""
    if request.kind is RequestKind.INPUT:
        wanted = f"1-{len(request.options)} or words" if request.options else "words"
        if request.form is not None:
            wanted = "JSON, or Enter for each field"
        below = request.chain_id != root_of(request.chain_id)
        return (
            f"    Your answer ({wanted}; {_LEAVE} ends "
            f"{'only the chain that asks' if below else 'the chain'}): "
        )
    named = {
        letter: _NAMES.get(one, one.value.replace("_", " "))
        for letter, one in _keys(request).items()
    }
    keys = ", ".join(f"{letter} {name}" for letter, name in named.items())
    numbers = (
        f"1-{len(request.options)}, "
        if len(request.options) > 1
        else "1, "
        if request.options
        else ""
    )
    return f"    Your choice ({numbers}{keys}): "


class _ClosedElsewhereError(Exception):
    """The question is open no more, and not by what was typed here."""


async def ask(client: "Client", request: "RequestView", read: ReadLine = read_line) -> None:
    """Ask until it is understood and fits, then answer; a question that is closed elsewhere is
    withdrawn, with who answered it and what. Raises GatewayError when another answer was a moment
    faster, EOFError.
    """
    closed = asyncio.create_task(_closed(client, request))

    async def typed(prompt: str) -> str:
        line = asyncio.ensure_future(read(prompt))
        try:
            await asyncio.wait((line, closed), return_when=asyncio.FIRST_COMPLETED)
            if not line.done():
                raise _ClosedElsewhereError
            return line.result()
        finally:
            line.cancel()
            await asyncio.gather(line, return_exceptions=True)

    try:
        await _converse(client, request, typed)
    except _ClosedElsewhereError:
        print(f"\n    {_withdrawn(await client.request(request.id))}")
    finally:
        closed.cancel()
        await asyncio.gather(closed, return_exceptions=True)


async def _closed(client: "Client", request: "RequestView") -> None:
    """Return when the chain's log says that the question is open no more; not when the log cannot
    be read.
    """
    from haltpoint.client import GatewayError

    with suppress(GatewayError):
        async for event in client.events(request.chain_id):
            if event.type in _CLOSING and event.details.get("request_id") == request.id:
                return
    await asyncio.get_running_loop().create_future()


def _withdrawn(request: "RequestView") -> str:
    if request.answer is None:
        return f"The question {CLOSED[request.status]}."
    by = visible(request.answer.by) or "Another person"
    return f"{by} has already answered the request: {answer_words(request, request.answer.answer)}"


async def _converse(client: "Client", request: "RequestView", read: ReadLine) -> None:
    from haltpoint.client import GatewayError

    while True:
        typed = await read(prompt_for(request))
        said = understand(request, typed)
        if request.form is not None and said is None and not typed.strip():
            said = Said(decision=Choice.ANSWER) if request.kind is RequestKind.INPUT else None
        if said is None:
            continue
        if (
            said.value is None
            and request.form is not None
            and said.decision in (Choice.ANSWER, Choice.MANUAL)
        ):
            said = await _fill_in(said, request.form, read)
        try:
            await client.answer(request.id, **asdict(said))
        except GatewayError as error:
            if error.code != "invalid_answer":
                raise
            print(f"    {visible(error.detail)}")
        else:
            return


async def _fill_in(said: Said, form: dict[str, Any], read: ReadLine) -> Said:
    """Ask for each field of a form; an empty line leaves an optional one out."""
    value: dict[str, Any] = {}
    required = form.get("required", ())
    for name, wanted, schema in fields(form):
        typed = ""
        while not typed:
            typed = (await read(f"      {name} ({wanted}): ")).strip()
            if not typed and name not in required:
                break
        if typed:
            value[name] = _typed(typed, schema)
    return replace(said, value=value)


def _typed(text: str, schema: Any) -> Any:
    """What a person types into a field: words where words are wanted, else JSON where it reads as
    such.
    """
    if isinstance(schema, dict) and schema.get("type") == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
