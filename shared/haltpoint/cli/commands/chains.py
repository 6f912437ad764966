"""`haltpoint chain`: list, show, watch, cancel, undo and correct chains."""

from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from haltpoint.cli.errors import Exit
from haltpoint.cli.gateway import talk
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from haltpoint.client import Client
    from haltpoint.contracts.views.chains import ChainView
    from haltpoint.contracts.views.steps import ActionRecord
    from haltpoint.contracts.views.undoing import UndoView

T = TypeVar("T")
_ID = Annotated[str, typer.Argument(metavar="CHAIN", help="The chain's id, or its beginning.")]
_SHORT = 12  # characters of an id that name it well enough at a terminal
_WHY_LEFT = {
    "no_undo": "its tool declares no undo",
    "in_doubt": "it is unknown whether it happened, or was undone",
}


app = typer.Typer(help="List, show, watch, cancel and correct chains.", no_args_is_help=True)


@verb(app, "list", gateway=True)
def list_(
    shell: Shell,
    status: Annotated[str | None, typer.Option(help="Only chains with this status.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 20,
) -> None:
    """List chains, the most recently changed first."""
    page = talk(shell, lambda client: client.chains(status, limit=limit))
    most = _SHORT if shell.out.is_terminal else None
    rows = []
    for chain in page.items:
        begun = f"{chain.created_at:%d %b %H:%M}"
        rows.append((chain.id[:most], chain.status, begun, chain.goal, chain.agent))
    shell.table(
        page, ("chain", "state", "begun (UTC)", "goal", "agent"), rows, empty="No chains yet."
    )


@verb(app, "show", gateway=True)
def show(shell: Shell, chain: _ID) -> None:
    """Show one chain: its steps, actions and questions, and calls that never ran."""
    story = not shell.json
    view = _about(shell, chain, lambda client, name: client.chain(name, story=story))
    if shell.json:
        shell.emit(view)
        return
    from haltpoint.cli.render.picture import print_story
    from haltpoint.cli.render.tree import tree
    from haltpoint.cli.wording import outline
    from haltpoint.contracts.doors import in_full

    print_story(shell.out, view)
    asked = list(outline(in_full(view.bounds) if view.bounds else {}, "    "))
    if asked:
        shell.show(view, ["  what the goal asks of tools:", *asked])
    if view.children:
        shell.show(view, ["", f" chains below {view.id}"])
        shell.show(view, tree(view, "   "))


@verb(app, "watch", gateway=True)
def watch(shell: Shell, chain: _ID) -> int:
    """Show a chain live until it ends. Exit codes: 0 completed, 1 failed."""
    from haltpoint.cli.commands.run import watch_to_end
    from haltpoint.cli.render.following import exit_code

    def follow(client: "Client", name: str) -> "Awaitable[ChainView]":
        return watch_to_end(shell, client, name, live=True, stay=True)

    ended = _about(shell, chain, follow)
    return exit_code(ended)


@verb(app, "cancel", gateway=True)
def cancel(
    shell: Shell,
    chain: _ID,
    reason: Annotated[str, typer.Option(help="Stored in the chain's log.")] = "",
) -> None:
    """Cancel a chain: nothing new starts, and its open questions are withdrawn."""
    _about(shell, chain, lambda client, name: client.cancel(name, reason))
    shell.show({"chain_id": chain, "cancelled": True}, note=f"{chain} is being cancelled")


@verb(app, "undo", gateway=True)
def undo(shell: Shell, chain: _ID) -> int:
    """Undo the deeds of an ended chain, the last one first, and watch it.

    Exit codes: 0 everything is undone, 1 something is left.
    """
    from haltpoint.cli.commands.run import watch_to_end
    from haltpoint.cli.render.following import exit_code

    found = _about(shell, chain, lambda client, name: client.undo(name))
    for line in _undo_lines(found):
        shell.note(line)
    code = Exit.FAILED if found.left else Exit.OK
    if (undoing := found.chain_id) is None:
        shell.show(found)
        return code
    ended = talk(shell, lambda client: watch_to_end(shell, client, undoing, live=True))
    is_left = ended.answer is not None and ended.answer.not_done
    return Exit.FAILED if is_left else exit_code(ended) or code


@verb(app, "actions", gateway=True)
def actions(shell: Shell, chain: _ID) -> None:
    """Show the action log: each call with its status, time and tokens.

    With --json also input and result.
    """
    found = _about(shell, chain, lambda client, name: client.actions(name))
    names = ("action", "tool", "status", "took", "runs", "tokens", "began (UTC)")
    shell.table(found, names, map(_record, found), right=("took", "runs", "tokens"))


@verb(app, "wrong", gateway=True)
def wrong(
    shell: Shell,
    chain: _ID,
    words: Annotated[str, typer.Argument(help="What was wrong.")] = "",
    action: Annotated[
        str | None, typer.Option(help="The action that was wrong, by its id.")
    ] = None,
) -> None:
    """Report a chain, or one of its actions, as wrong. `haltpoint stats` counts the reports."""
    _about(shell, chain, lambda client, name: client.feedback(name, words, action_id=action))
    shell.show({"chain_id": chain, "recorded": True}, note="recorded, thank you")


def _record(one: "ActionRecord") -> tuple[object, ...]:
    status = f"{one.status}: {one.error.type}" if one.error else one.status
    took = None if one.duration_ms is None else f"{one.duration_ms} ms"
    began = f"{one.time:%H:%M:%S}" if one.time else ""
    name = one.action_id.partition(".")[2]
    return name, one.tool, status, took, one.attempts, one.tokens, began


def _about(shell: Shell, name: str, ask: "Callable[[Client, str], Awaitable[T]]") -> T:
    """Ask the gateway about one chain, which may be named by the beginning of its id."""
    from haltpoint.cli.naming import chain_named

    async def whole(client: "Client") -> T:
        return await ask(client, await chain_named(client, name))

    return talk(shell, whole)


def _undo_lines(found: "UndoView") -> "Iterator[str]":
    """What was undone before, what is left, and that there is nothing to undo."""
    for deed in found.undone:
        yield f"undone before: {deed.says} ({deed.action_id})"
    for call in found.left:
        why = _WHY_LEFT[call.why]
        yield f"stays as it is: {call.says} ({call.action_id}): {why}"
    if found.chain_id is None:
        yield "There is nothing to undo."
