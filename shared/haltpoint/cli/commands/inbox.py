"""`haltpoint inbox` and `haltpoint answer`: what people are asked, and what they say."""

import json
import re
from collections.abc import AsyncIterator
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haltpoint.cli.arguments import texts_of, values_of
from haltpoint.cli.errors import usage
from haltpoint.cli.gateway import talk
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from haltpoint.client import Client
    from haltpoint.contracts.views.chains import RequestView

_REACHES = ("call", "value", "parameter", "tool")
_EVERY = 1.0  # seconds between two looks at the inbox
_PAGE = 200


def add_to(app: typer.Typer) -> None:
    """Add the verbs."""

    @verb(app, "inbox", gateway=True)
    def inbox(
        shell: Shell,
        watch: Annotated[
            bool,
            typer.Option(
                "--watch", "-w", help="Keep running and show new questions as they arrive."
            ),
        ] = False,
    ) -> None:
        """List the questions that wait for an answer, urgent ones first, and how to answer them."""

        async def look(client: "Client") -> None:
            seen: set[str] = set()
            while True:
                began = monotonic()
                async for request in _open(client):
                    if request.id not in seen:
                        seen.add(request.id)
                        _print(shell, request)
                if not watch:
                    break
                # A look at thousands takes a while: the gateway has as long without one.
                await asyncio.sleep(max(_EVERY, monotonic() - began))
            if not seen:
                shell.note("Inbox empty: nothing is waiting for an answer.")

        import asyncio

        talk(shell, look)

    @verb(app, "answer", gateway=True)
    def answer(
        shell: Shell,
        request: Annotated[str, typer.Argument(metavar="REQUEST", help="The question's id.")],
        result: Annotated[
            str | None,
            typer.Argument(metavar="JSON", help="With --happened: the result, if you know it."),
        ] = None,
        option: Annotated[
            str | None, typer.Option(metavar="ID", help="Choose this option.")
        ] = None,
        none: Annotated[
            str | None,
            typer.Option(metavar="WORDS", help="None of them; the model reads your words."),
        ] = None,
        approve: Annotated[bool, typer.Option("--approve", help="Approve the call.")] = False,
        reach: Annotated[
            str | None,
            typer.Option(
                "--for",
                metavar="SCOPE",
                help="With --approve, until the chain ends: call, value, parameter or tool.",
            ),
        ] = None,
        edit: Annotated[
            list[str] | None,
            typer.Option(
                metavar="K=V",
                help="With --approve: run it with this argument instead. May be repeated.",
            ),
        ] = None,
        reject: Annotated[
            str | None,
            typer.Option(metavar="WORDS", help="Reject the call; the model reads your words."),
        ] = None,
        text: Annotated[
            str | None, typer.Option(metavar="WORDS", help="The answer in words.")
        ] = None,
        value: Annotated[
            str | None, typer.Option(metavar="JSON", help="The completed form.")
        ] = None,
        rephrase: Annotated[
            str | None, typer.Option(metavar="WORDS", help="Ask the model again in these words.")
        ] = None,
        manual: Annotated[
            str | None,
            typer.Option(
                metavar="JSON|WORDS",
                help="Give the result yourself; in words if no tool is required.",
            ),
        ] = None,
        skip: Annotated[
            str | None,
            typer.Option(metavar="WORDS", help="The step is not needed; the model reads why."),
        ] = None,
        retry: Annotated[
            bool,
            typer.Option(
                "--retry", help="Ask the model once more, or the second model if one is set."
            ),
        ] = False,
        continue_: Annotated[
            bool, typer.Option("--continue", help="Give the step its turns once more.")
        ] = False,
        accept: Annotated[
            bool, typer.Option("--accept", help="Leave out what the model wants to leave out.")
        ] = False,
        insist: Annotated[
            str | None,
            typer.Option(metavar="WORDS", help="It is to be done; the model reads your words."),
        ] = None,
        happened: Annotated[
            bool, typer.Option("--happened", help="It happened; its result may follow as JSON.")
        ] = False,
        not_happened: Annotated[
            bool, typer.Option("--not-happened", help="It did not happen; run it again.")
        ] = False,
        failed: Annotated[
            bool,
            typer.Option(
                "--failed", help="It did not happen; record the error and do not run it again."
            ),
        ] = False,
        abort: Annotated[bool, typer.Option("--abort", help="Cancel the chain that asks.")] = False,
        comment: Annotated[str, typer.Option(help="Stored with the answer.")] = "",
    ) -> None:
        """Answer a question."""
        given: dict[str, dict[str, Any]] = {}
        if option is not None:
            given["--option"] = {"option_id": option}
        for name, words in (
            ("none", none),
            ("reject", reject),
            ("rephrase", rephrase),
            ("skip", skip),
            ("insist", insist),
        ):
            if words is not None and words.startswith("--"):
                raise usage(
                    f"--{name} takes words", f"{words} is an option", f"--{name} 'your words'"
                )
            if words is not None:
                given[f"--{name}"] = {"decision": name, "text": words}
        if text is not None:
            given["--text"] = {"decision": "answer", "text": text}
        if value is not None:
            given["--value"] = {"decision": "answer", "value": _object("--value", value)}
        if manual is not None:
            is_json = manual.lstrip().startswith("{")
            said = {"value": _object("--manual", manual)} if is_json else {"text": manual}
            given["--manual"] = {"decision": "manual", **said}
        if happened:
            given["--happened"] = {
                "decision": "happened",
                "value": result and _object("--happened", result),
            }
        bare = {
            "approve": approve,
            "retry": retry,
            "not_happened": not_happened,
            "failed": failed,
            "abort": abort,
        }
        bare |= {"continue": continue_, "accept": accept}
        given |= {
            f"--{name.replace('_', '-')}": {"decision": name}
            for name, wanted in bare.items()
            if wanted
        }
        if result is not None and not happened:
            raise usage(
                f"{result!r} is not expected", "only --happened takes a result", "--happened '{}'"
            )
        if reach is not None and (not approve or reach not in _REACHES):
            raise usage(
                "--for goes with --approve",
                f"it takes {', '.join(_REACHES)}",
                "--approve --for parameter",
            )
        if edit and not approve:
            raise usage(
                "--edit goes with --approve",
                "it changes the call that you approve",
                "--approve --edit to=ann",
            )
        edited = texts_of(edit or [])
        if len(given) != 1:
            why = f"{' and '.join(given)} were given together" if given else "none was given"
            raise usage(
                "give exactly one answer", why, "haltpoint inbox lists the possible answers"
            )
        (chosen,) = given.values()

        from haltpoint.cli.render.case import commands
        from haltpoint.client import GatewayError

        async def say(client: "Client") -> "RequestView":
            if manual is not None and "text" in chosen:
                asked = await client.request(request)
                if (
                    asked.kind == "escalation" and asked.tool
                ):  # the result of a tool: words are none
                    _object("--manual", manual)
            arguments = await _edited(client, request, edited) if edited else None
            try:
                return await client.answer(
                    request, comment=comment, reach=reach, arguments=arguments, **chosen
                )
            except GatewayError as error:
                if "allowed" not in error.problem:
                    raise
                ways = ", ".join(way for way, _ in commands(await client.request(request)))
                raise GatewayError(
                    error.status, {**error.problem, "hint": f"Possible answers: {ways}"}
                ) from error

        answered = talk(shell, say)
        if shell.json:
            shell.emit(answered.model_dump(mode="json"))
        else:
            shell.note(f"answered: haltpoint chain watch {answered.chain_id}")


async def _open(client: "Client") -> AsyncIterator["RequestView"]:
    """All open questions, page by page."""
    cursor: str | None = None
    while True:
        page = await client.requests(cursor=cursor, limit=_PAGE)
        for request in page.items:
            yield request
        if page.next_cursor is None:
            return
        cursor = page.next_cursor


async def _edited(client: "Client", request_id: str, texts: dict[str, str]) -> dict[str, Any]:
    """The arguments of the call that is asked about, these ones replaced, typed by the tool's
    schema.
    """
    asked = await client.request(request_id)
    schema = next((tool.parameters for tool in await client.tools() if tool.name == asked.tool), {})
    return {**asked.arguments, **values_of(texts, schema)}


def how_to_answer(request: "RequestView", width: int = 80) -> str:
    """A question with all that belongs to it, and the commands that answer it, each with what it
    means; of one below a root also how the whole task is cancelled.

    Lines are wrapped to `width` columns, between words only: an id is never broken. A command that
    has no room for its meaning has it below, and one that is itself too long continues in the next
    line as shells read it.
    """
    from haltpoint.cli.render.case import commands, details
    from haltpoint.cli.wording import visible, wrapped
    from haltpoint.contracts.base import root_of

    urgent = f"  [{visible(request.priority)}]" if request.priority not in (None, "normal") else ""
    lines = wrapped(f"■ {visible(request.question)}{urgent}", width, "  ")
    for text in details(request):
        lines += wrapped(f"    {text}", width, "      ")
    answer, root = f"  haltpoint answer {request.id}", root_of(request.chain_id)
    ways = [(answer, way, meaning) for way, meaning in commands(request)]
    if request.chain_id != root:
        ways.append(("  haltpoint chain cancel", root, "cancel the whole task"))
    wide = max(len(command) + 1 + min(len(way), 48) for command, way, _ in ways)
    beside = [f"{f'{command} {way}':<{wide}}  {meaning}" for command, way, meaning in ways]
    if max(map(len, beside)) <= width:
        return "\n".join([*lines, *beside])
    for command, way, meaning in ways:
        whole = f"{command} {way}"
        lines += (
            [whole]
            if len(whole) <= width
            else [f"{command} \\", *_in_quotes(f"      {way}", width)]
        )
        lines += wrapped(f"      {meaning}", width, "      ")
    return "\n".join(lines)


def _in_quotes(way: str, width: int) -> list[str]:
    """What a shell may read in several lines: JSON between quotes, broken behind commas."""
    from haltpoint.cli.wording import wrapped

    kept = re.sub(r"(?<!,) ", "\0", way)
    return [line.replace("\0", " ") for line in wrapped(kept, width, "        ")]


def _print(shell: Shell, request: "RequestView") -> None:
    if shell.json:
        shell.emit(request.model_dump(mode="json"))
    else:
        shell.out.print(how_to_answer(request, shell.out.width), markup=False, soft_wrap=True)


def _object(option: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise usage(
            f"{option} takes JSON", str(error), f'{option} \'{{"message_id": "17"}}\''
        ) from error
    if not isinstance(value, dict):
        raise usage(
            f"{option} takes a JSON object", f"this is {type(value).__name__}", f"{option} '{{}}'"
        )
    return value
