"""`haltpoint inbox` and `haltpoint answer`: what people are asked, and what they say."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haltpoint.cli.errors import usage
from haltpoint.cli.gateway import talk
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from haltpoint.client import Client
    from haltpoint.contracts.views import RequestView

_EVERY = 1.0  # seconds between two looks at the inbox


def add_to(app: typer.Typer) -> None:
    """Add the verbs."""

    @verb(app, "inbox", gateway=True)
    def inbox(
        shell: Shell,
        watch: Annotated[
            bool, typer.Option("--watch", "-w", help="Stay, and show new questions as they come.")
        ] = False,
    ) -> None:
        """Open questions, and how to answer them."""

        async def look(client: "Client") -> None:
            seen: set[str] = set()
            while True:
                page = await client.requests(limit=100)
                for request in reversed(page.items):
                    if request.id not in seen:
                        seen.add(request.id)
                        _print(shell, request)
                if not watch:
                    if not page.items:
                        shell.note("Nobody is asked anything.")
                    return
                await asyncio.sleep(_EVERY)

        import asyncio

        talk(shell, look)

    @verb(app, "answer", gateway=True)
    def answer(
        shell: Shell,
        request: Annotated[str, typer.Argument(metavar="REQUEST", help="The question's id.")],
        option: Annotated[str | None, typer.Option(metavar="ID", help="Choose this option.")] = None,
        none: Annotated[
            str | None, typer.Option(metavar="WORDS", help="None of them; the model gets the words.")
        ] = None,
        approve: Annotated[bool, typer.Option("--approve", help="Yes, do it.")] = False,
        reject: Annotated[str | None, typer.Option(metavar="WORDS", help="No; the model gets the words.")] = None,
        happened: Annotated[str | None, typer.Option(metavar="JSON", help="It happened; this is its result.")] = None,
        not_happened: Annotated[bool, typer.Option("--not-happened", help="It did not: it runs again.")] = False,
        abort: Annotated[bool, typer.Option("--abort", help="End the chain as cancelled.")] = False,
        comment: Annotated[str, typer.Option(help="Kept with the answer.")] = "",
    ) -> None:
        """Answer a question."""
        given: dict[str, dict[str, Any]] = {}
        if option is not None:
            given["--option"] = {"option_id": option}
        if none is not None:
            given["--none"] = {"decision": "none", "text": none}
        if approve:
            given["--approve"] = {"decision": "approve"}
        if reject is not None:
            given["--reject"] = {"decision": "reject", "text": reject}
        if happened is not None:
            given["--happened"] = {"decision": "happened", "value": _object(happened)}
        if not_happened:
            given["--not-happened"] = {"decision": "not_happened"}
        if abort:
            given["--abort"] = {"decision": "abort"}
        if len(given) != 1:
            why = f"{' and '.join(given)} were given together" if given else "no answer was given"
            raise usage("an answer is one thing", why, "haltpoint inbox shows what may be said")
        (said,) = given.values()
        answered = talk(shell, lambda client: client.answer(request, comment=comment, **said))
        if shell.json:
            shell.emit(answered.model_dump(mode="json"))
        else:
            shell.note(f"answered: haltpoint chain watch {answered.chain_id}")


def how_to_answer(request: "RequestView") -> str:
    """A question with its options and the commands that answer it."""
    from haltpoint.cli.story import call, options, visible
    from haltpoint.contracts.humans import RequestKind

    start = f"haltpoint answer {request.id}"
    lines = [f"■ {visible(request.question)}", *(f"    {text}" for text in options(request))]
    if request.kind is not RequestKind.CLARIFICATION:
        lines.append(f"    {call(request.tool, request.arguments, width=10_000)}")
    if request.preview:
        lines.append(f"    {visible(request.preview)}")
    match request.kind:
        case RequestKind.CLARIFICATION:
            lines += [f"  {start} --option {visible(one.id)}" for one in request.options]
            lines.append(f"  {start} --none WORDS")
        case RequestKind.CONFIRMATION:
            lines.append(f"  {start} --approve | --reject WORDS")
        case RequestKind.IN_DOUBT:
            lines.append(f"  {start} --happened JSON | --not-happened")
    return "\n".join(lines)


def _print(shell: Shell, request: "RequestView") -> None:
    if shell.json:
        shell.emit(request.model_dump(mode="json"))
    else:
        shell.out.print(how_to_answer(request), markup=False, highlight=False)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise usage("--happened takes JSON", str(error), '--happened \'{"message_id": "17"}\'') from error
    if not isinstance(value, dict):
        raise usage("--happened takes a JSON object", f"this is {type(value).__name__}", "--happened '{}'")
    return value
