"""Asking the person at the terminal: what may be typed for each kind of question, and what it
means.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from haltpoint.chain.model.canonical import spelt_out
from haltpoint.cli.answering import (
    LEAVE,
    NotUnderstoodError,
    Said,
    numbers_of,
    option_named,
    understand,
    ways,
)
from haltpoint.cli.render.following import read_line
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.runtime.views.question import CLOSED, answer_words

if TYPE_CHECKING:
    from haltpoint.client import Client
    from haltpoint.contracts.views.chains import RequestView

_CLOSING: Final = frozenset(
    {FactType.REQUEST_ANSWERED, FactType.REQUEST_EXPIRED, FactType.REQUEST_WITHDRAWN}
)

ReadLine = Callable[[str], Awaitable[str]]


def prompt_for(request: "RequestView") -> str:
    """What may be typed, in one line."""
    typed = [numbers_of(request)] if request.options else []
    if request.kind is RequestKind.INPUT:
        typed.append("words" if request.form is None else "JSON")
        wanted = " or ".join(typed)
        return f"    Your answer ({wanted}; {LEAVE} cancels): "
    for way in ways(request):
        usage, _, _ = way.usage.partition(" [")
        typed.append(f"{way.key} {usage}")
    wanted = ", ".join(typed)
    return f"    Your choice ({wanted}): "


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
        await asyncio.wait((line, closed), return_when=asyncio.FIRST_COMPLETED)
        if line.done():
            return line.result()
        line.cancel()
        await asyncio.gather(line, return_exceptions=True)
        raise _ClosedElsewhereError

    try:
        await _converse(client, request, typed)
    except _ClosedElsewhereError:
        words = _withdrawn(await client.request(request.id))
        print(f"\n    {spelt_out(words)}")
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
            closed = event.details.get("request_id")
            if event.type in _CLOSING and closed == request.id:
                return
    await asyncio.get_running_loop().create_future()


def _withdrawn(request: "RequestView") -> str:
    if request.answer is None:
        return f"The question {CLOSED[request.status]}."
    by = request.answer.by or "Another person"
    return f"{by} has already answered the request: {answer_words(request, request.answer.answer)}"


async def _converse(client: "Client", request: "RequestView", read: ReadLine) -> None:
    from haltpoint.client import GatewayError

    while True:
        line = await read(prompt_for(request))
        typed = line.strip()
        try:
            said = _read(request, typed)
            await client.answer(request.id, **said)
        except NotUnderstoodError as error:
            print(f"    {spelt_out(str(error))}")
        except GatewayError as error:
            if error.code != "invalid_answer":
                raise
            print(f"    {spelt_out(error.detail)}")
        else:
            return


def _read(request: "RequestView", typed: str) -> Said:
    """What was typed at the prompt. Asked for input every word may be the answer."""
    is_input = request.kind is RequestKind.INPUT
    if is_input and typed == LEAVE:
        return {"decision": Choice.ABORT}
    if is_input and option_named(request, typed) is None:
        typed = f"{ways(request)[0].verb} {typed}"
    return understand(request, typed)
