"""`haltpoint inbox` and `haltpoint answer`: what people are asked, and what they say."""

from collections.abc import Iterator
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from haltpoint.cli.errors import usage
from haltpoint.cli.gateway import every, talk
from haltpoint.cli.naming import request_named
from haltpoint.cli.shell import Shell
from haltpoint.cli.shell import verb as command

if TYPE_CHECKING:
    from haltpoint.client import Client
    from haltpoint.contracts.views.chains import RequestView

_EVERY = 1.0  # seconds between two looks at the inbox
_PAGE = 200


app = typer.Typer()


@command(app, "inbox", gateway=True)
def inbox(
    shell: Shell,
    watch: Annotated[
        bool,
        typer.Option("--watch", "-w", help="Keep running and show new questions as they arrive."),
    ] = False,
    mine: Annotated[
        bool,
        typer.Option(
            "--mine", help="Only questions that a rule addresses to you, or that you have claimed."
        ),
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="How many to show; --json shows all.")] = 20,
) -> None:
    """List the questions that wait for an answer, urgent ones first, and how to answer them."""
    import asyncio

    from haltpoint.contracts.people.phrases import count

    seen: set[str] = set()

    async def look(client: "Client") -> None:
        while True:
            began = monotonic()
            async for request in every(client.requests, limit=_PAGE, mine=mine):
                is_new = request.id not in seen
                seen.add(request.id)
                if is_new and (watch or shell.json or len(seen) <= limit):
                    shell.show(request, (*card(request, shell.out.width), ""))
            if not watch:
                return
            # A look at thousands takes a while: the gateway has as long without one.
            await asyncio.sleep(max(_EVERY, monotonic() - began))

    talk(shell, look)
    some = f", {limit} shown: --limit {len(seen)}" if len(seen) > limit else "."
    shell.note(f"Open: {count(len(seen), 'question')}{some}")


@command(app, "answer", gateway=True)
def answer(
    shell: Shell,
    request: Annotated[
        str, typer.Argument(metavar="REQUEST", help="The question's id, or its beginning.")
    ],
    verb: Annotated[
        str,
        typer.Argument(
            metavar="ANSWER", help="An option, by its number or id, or a word that the inbox names."
        ),
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORDS | JSON]", help="Words or JSON that go with the answer."),
    ] = None,
    comment: Annotated[str, typer.Option(help="Stored with the answer.")] = "",
) -> None:
    """Answer a question: haltpoint answer ID 2, haltpoint answer ID approve.

    The inbox lists for each question what may be answered.
    """
    from haltpoint.cli.answering import NotUnderstoodError, understand

    typed = " ".join([verb, *(words or ())])

    async def say(client: "Client") -> "RequestView":
        asked = await request_named(client, request)
        try:
            said = understand(asked, typed)
        except NotUnderstoodError as error:
            fix = f"haltpoint inbox shows the question {asked.id}"
            raise usage("the answer is not understood", str(error), fix) from error
        return await client.answer(asked.id, comment=comment, **said)

    answered = talk(shell, say)
    done = "your vote is recorded" if answered.status == "open" else "answered"
    shell.show(answered, note=f"{done}: haltpoint chain watch {answered.chain_id}")


def card(request: "RequestView", width: int = 80) -> Iterator[str]:
    """A question with all that belongs to it, and how it is answered. Lines are wrapped to `width`
    columns, between words only: an id is never broken.
    """
    from haltpoint.cli.wording import wrapped
    from haltpoint.runtime.views.question import details

    usual = request.priority in (None, "normal")
    urgent = "" if usual else f"  [{request.priority}]"
    yield from wrapped(f"■ {request.question}{urgent}", width, "  ")
    for text in (f"goal: {request.goal}", *details(request)):
        yield from wrapped(f"    {text}", width, "      ")
    yield from how_to_answer(request, width)


def how_to_answer(request: "RequestView", width: int = 80) -> Iterator[str]:
    """What may be answered, each with what it means; of a question below a root also how the whole
    task is cancelled.
    """
    from haltpoint.cli.answering import numbers_of, ways
    from haltpoint.cli.wording import wrapped
    from haltpoint.contracts.base import root_of
    from haltpoint.contracts.reasons import ReasonKind

    yield f"  haltpoint answer {request.id} ..."
    rows = [(numbers_of(request), "choose that option")] if request.options else []
    rows += [(way.usage, way.meaning) for way in ways(request)]
    if any(reason.kind is ReasonKind.TARGET for reason in request.reasons):
        meaning = "approve every later value of it too; also: call, value, tool"
        rows.insert(1, ("approve for parameter", meaning))
    wide = max(len(row) for row, _ in rows)
    for row, meaning in rows:
        yield from wrapped(f"    {row:<{wide}}  {meaning}", width, "      ")
    root = root_of(request.chain_id)
    if request.chain_id != root and "~undo-" not in request.chain_id:  # what is undone has ended
        yield f"  haltpoint chain cancel {root}  cancels the whole task"
