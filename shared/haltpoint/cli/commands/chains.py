"""`haltpoint chain`: list, show, watch, cancel and correct chains."""

from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from haltpoint.cli.errors import Exit
from haltpoint.cli.gateway import talk
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from rich.text import Text

    from haltpoint.client import Client
    from haltpoint.contracts.views.chains import ChainSummary, ChainView, Page
    from haltpoint.contracts.views.steps import ActionRecord
    from haltpoint.contracts.views.undoing import UndoView

T = TypeVar("T")
_ROOM_FOR_TIMES = 100  # columns
_ID = Annotated[str, typer.Argument(metavar="CHAIN", help="The chain's id, or its beginning.")]


app = typer.Typer(help="List, show, watch, cancel and correct chains.", no_args_is_help=True)


@verb(app, "list", gateway=True)
def list_(
    shell: Shell,
    status: Annotated[str | None, typer.Option(help="Only chains with this status.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 20,
) -> None:
    """List chains, the most recently changed first."""
    _table(shell, talk(shell, lambda client: client.chains(status, limit=limit)))


@verb(app, "show", gateway=True)
def show(shell: Shell, chain: _ID) -> None:
    """Show one chain: its steps, actions and questions, and calls that never ran."""
    found = _about(shell, chain, lambda client, name: client.chain(name))
    if shell.json:
        shell.emit(found.model_dump(mode="json"))
    else:
        _whole(shell, found)


@verb(app, "watch", gateway=True)
def watch(shell: Shell, chain: _ID) -> int:
    """Show a chain live until it ends. Exit codes: 0 completed, 1 failed."""
    from haltpoint.cli.commands.run import watch_to_end

    return _about(
        shell,
        chain,
        lambda client, name: watch_to_end(shell, client, name, live=True, stay=True),
    )


@verb(app, "cancel", gateway=True)
def cancel(
    shell: Shell,
    chain: _ID,
    reason: Annotated[str, typer.Option(help="Stored in the chain's log.")] = "",
) -> None:
    """Cancel a chain: nothing new starts, and its open questions are withdrawn."""
    _about(shell, chain, lambda client, name: client.cancel(name, reason))
    shell.emit({"chain_id": chain, "cancelled": True}) if shell.json else shell.note(
        f"{chain} is being cancelled"
    )


@verb(app, "undo", gateway=True)
def undo(shell: Shell, chain: _ID) -> int:
    """Undo what a chain that has ended did, the last deed first, and watch the chain that does
    it.

    Exit codes: 0 all of it is undone, 1 something is left.
    """
    return _undo(shell, chain)


@verb(app, "actions", gateway=True)
def actions(shell: Shell, chain: _ID) -> None:
    """Show the action log: one line for each action, with what it took; --json has input and
    result too.
    """
    found = _about(shell, chain, lambda client, name: client.actions(name))
    if shell.json:
        shell.emit([one.model_dump(mode="json") for one in found])
    else:
        _actions(shell, found)


@verb(app, "wrong", gateway=True)
def wrong(
    shell: Shell,
    chain: _ID,
    words: Annotated[str, typer.Argument(help="What was wrong.")] = "",
    action: Annotated[
        str | None, typer.Option(help="The action that was wrong, by its id.")
    ] = None,
) -> None:
    """Say that a chain, or one of its actions, was wrong. It is in the log, and `haltpoint
    stats` counts it.
    """
    _about(
        shell,
        chain,
        lambda client, name: client.feedback(name, words, action_id=action),
    )
    shell.emit({"chain_id": chain, "recorded": True}) if shell.json else shell.note(
        "recorded, thank you"
    )


def _about(shell: Shell, name: str, ask: "Callable[[Client, str], Awaitable[T]]") -> T:
    """Ask the gateway about one chain, which may be named by the beginning of its id."""
    from haltpoint.cli.naming import chain_named

    async def whole(client: "Client") -> T:
        return await ask(client, await chain_named(client, name))

    return talk(shell, whole)


def _undo(shell: Shell, chain: str) -> int:
    """Undo, list what is left, and watch the chain that undoes to its end."""
    from haltpoint.cli.commands.run import watch_to_end

    found = _about(shell, chain, lambda client, name: client.undo(name))
    for line in _undo_lines(found):
        shell.note(line)
    code = Exit.FAILED if found.left else Exit.OK
    if (undoing := found.chain_id) is None:
        if shell.json:
            shell.emit(found.model_dump(mode="json"))
        return code
    ended = talk(shell, lambda client: watch_to_end(shell, client, undoing, live=True))
    answer = talk(shell, lambda client: client.chain(undoing)).answer
    failed = answer is not None and answer.not_done
    return Exit.FAILED if failed else ended or code


def _undo_lines(found: "UndoView") -> "Iterator[str]":
    """What was undone before, what is left, and that there is nothing to undo."""
    from haltpoint.cli.wording import visible

    whys = {
        "no_undo": "its tool declares no undo",
        "in_doubt": "it is unknown whether it happened, or was undone",
    }
    for deed in found.undone:
        yield f"undone before: {visible(deed.says)} ({deed.action_id})"
    for call in found.left:
        yield f"left: {visible(call.says)} ({call.action_id}): {whys[call.why]}"
    if found.chain_id is None:
        yield "nothing of it can be undone"


def _actions(shell: Shell, found: "Sequence[ActionRecord]") -> None:
    names = ("action", "tool", "status", "took", "runs", "tokens", "began (UTC)")
    shown = len(names) if _is_wide(shell) else 4
    rows = (_action(one)[:shown] for one in found)
    shell.table(names[:shown], rows, right=("took", "runs", "tokens"))


def _action(one: "ActionRecord") -> list["str | Text"]:
    from rich.text import Text

    from haltpoint.cli.wording import visible

    style = "red" if one.error else "green" if one.status == "done" else "yellow"
    status = visible(f"{one.status}: {one.error.type}" if one.error else one.status)
    return [
        one.action_id.partition(".")[2],
        one.tool,
        Text(status, style=style),
        "" if one.duration_ms is None else f"{one.duration_ms} ms",
        str(one.attempts),
        "" if one.tokens is None else str(one.tokens),
        f"{one.time:%Y-%m-%dT%H:%M:%SZ}" if one.time else "",
    ]


def _table(shell: Shell, page: "Page[ChainSummary]") -> None:
    from rich.text import Text

    if shell.json:
        shell.emit(page.model_dump(mode="json"))
        return
    styles = {"completed": "green", "failed": "red", "cancelled": "magenta"}
    rows: list[list[str | Text]] = []
    for one in page.items:
        status = Text(one.status, style=styles.get(one.status, "yellow"))
        begun = [f"{one.created_at:%Y-%m-%dT%H:%M:%SZ}"] if _is_wide(shell) else []
        rows.append([one.id, status, *begun, one.goal or "a literal plan"])
    begun = ["begun (UTC)"] if _is_wide(shell) else []
    shell.table(["chain", "state", *begun, "goal"], rows)
    if not rows:
        shell.note("No chains yet.")


def _is_wide(shell: Shell) -> bool:
    """Whether there is room for times; a pipe has it."""
    return not shell.out.is_terminal or shell.out.width >= _ROOM_FOR_TIMES


def _whole(shell: Shell, chain: "ChainView") -> None:
    from rich.text import Text

    from haltpoint.cli.render.picture import Lines, picture
    from haltpoint.cli.render.story import bounds_lines
    from haltpoint.cli.render.tree import tree

    if shell.out.is_terminal:
        shell.out.print(picture(chain))
    else:
        Lines(shell.out).show(chain)
    if chain.bounds is not None and not shell.quiet:
        for line in bounds_lines(chain.bounds):
            shell.out.print(Text(f"   {line}", style="dim"))
    if chain.children and not shell.quiet:
        shell.out.print(Text(f"\n chains below {chain.id}", style="dim"))
        for line in tree(chain):
            shell.out.print(Text(f"   {line}", style="dim"), soft_wrap=True)
