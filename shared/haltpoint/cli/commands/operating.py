"""`haltpoint worker`, `queue` and `dlq`: who runs calls, and what could not be processed."""

import os
import signal
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from haltpoint.cli.errors import Exit, usage
from haltpoint.cli.gateway import every, talk
from haltpoint.cli.naming import only
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from haltpoint.client import Client
    from haltpoint.contracts.views.deployment import LetterView, QueueState, WorkerView

_Queue = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name.")]
_Reason = Annotated[str | None, typer.Option(help="All dead letters with this reason.")]
_LETTER = "The id of a dead letter, as `haltpoint dlq list` shows it."
_OneLetter = Annotated[str, typer.Argument(metavar="LETTER", help=_LETTER)]
_Letters = Annotated[list[str] | None, typer.Argument(metavar="[LETTER]...", help=_LETTER)]
_MOST = 100  # dead letters of a page
_NOT_DONE = ("no_such_letter", "not_needed")


worker = typer.Typer(help="List and drain tool workers.", no_args_is_help=True)


@verb(worker, "list", gateway=True)
def workers(shell: Shell) -> None:
    """List the live tool workers with the calls that each has in hand."""
    alive = talk(shell, lambda client: client.workers())
    names = ("worker", "calls", "slots", "queues", "tools", "since (UTC)")
    empty = "No worker is alive. Start one: haltpoint up tool-worker --tools MODULE"
    shell.items(alive, names, map(_at_work, alive), empty=empty, right=("calls", "slots", "tools"))


def _at_work(worker: "WorkerView") -> tuple[object, ...]:
    since = f"{worker.since:%d %b %H:%M}"
    calls = len(worker.holds or ())
    tools = len(worker.tools)
    queues = ", ".join(worker.queues)
    return worker.instance, calls, worker.slots, queues, tools, since


@verb(worker, "drain", gateway=True)
def drain(
    shell: Shell,
    name: Annotated[str, typer.Argument(metavar="WORKER", help="Its name, or the beginning.")],
) -> None:
    """Let a worker of this machine finish its calls and stop.

    `haltpoint up` starts a new one in its place.
    """
    workers = talk(shell, lambda client: client.workers())
    alive = {each.instance: each for each in workers}
    chosen = alive[only("worker", name, alive)]
    if chosen.host != socket.gethostname():
        why = f"it runs on {chosen.host}"
        raise usage(f"{chosen.instance} runs on another machine", why, "Send it SIGTERM there")
    os.kill(chosen.pid, signal.SIGTERM)
    shell.show({"worker": chosen.instance}, note=f"{chosen.instance} finishes its calls and stops")


queue = typer.Typer(help="List, pause and resume queues.", no_args_is_help=True)


@verb(queue, "list", gateway=True)
def queues(shell: Shell) -> None:
    """List the queues with their waiting, running and resting calls.

    For resting calls it names the limits that they wait for.
    """
    known = talk(shell, lambda client: client.queues())
    rows = []
    for each in known:
        resting = sum(row.calls for row in each.resting)
        rows.append((each.name, each.waiting, each.running, resting, held_up(each)))
    numbers = ("waiting", "running", "resting")
    empty = "No worker has offered a tool within a day, so there are no queues."
    shell.items(known, ("queue", *numbers, "held up by"), rows, empty=empty, right=numbers)


@verb(queue, "pause", gateway=True)
def pause(shell: Shell, name: _Queue) -> None:
    """Pause a queue: its workers take no new calls, and running calls finish."""
    talk(shell, lambda client: client.pause(name))
    shell.show({"queue": name, "paused": True}, note=f"paused: haltpoint queue resume {name}")


@verb(queue, "resume", gateway=True)
def resume(shell: Shell, name: _Queue) -> None:
    """Resume a queue."""
    talk(shell, lambda client: client.resume(name))
    shell.show({"queue": name, "paused": False}, note=f"{name} continues")


def held_up(queue: "QueueState") -> str:
    """What calls of this queue wait for, in words."""
    reasons = [f"{row.calls} for {row.why}" for row in queue.resting]
    if queue.paused:
        reasons.insert(0, "paused")
    if queue.left_over:
        held = f"{queue.left_over} of its workers' slots are held"
        reasons.append(f"{held} by calls that do not end (HP-036)")
    return "; ".join(reasons)


dlq = typer.Typer(
    help="List, requeue and drop dead letters: messages that could not be processed.",
    no_args_is_help=True,
)


@verb(dlq, "list", gateway=True)
def letters(shell: Shell, reason: _Reason = None) -> None:
    """List dead letters, the oldest first."""
    found = talk(shell, lambda client: _letters(client, reason))
    rows = [(each.id, each.stream, each.reason, each.chain_id, each.detail) for each in found]
    names = ("dead letter", "stream", "reason", "chain", "detail")
    shell.items(found, names, rows, empty="No dead letters.")


@verb(dlq, "show", gateway=True)
def show(shell: Shell, letter: _OneLetter) -> None:
    """Show one dead letter, with the beginning of its message."""
    from haltpoint.cli.wording import outline

    found = talk(shell, lambda client: _letters(client, None))
    known = {each.id: each for each in found}
    shown = known[only("dead letter", letter, known)]
    fields = shown.model_dump(mode="json")
    shell.show(shown, outline(fields))


@verb(dlq, "requeue", gateway=True)
def requeue(shell: Shell, letters: _Letters = None, reason: _Reason = None) -> int:
    """Put dead letters back into their streams, once each. Exit code 1: one was refused."""
    return _each(shell, letters, reason, "requeued", lambda client: client.requeue)


@verb(dlq, "drop", gateway=True)
def drop(shell: Shell, letters: _Letters = None, reason: _Reason = None) -> int:
    """Drop dead letters. A chain that waits for one waits until its deadline.

    Exit code 1: one was missing.
    """
    return _each(shell, letters, reason, "dropped", lambda client: client.drop)


def _each(
    shell: Shell,
    names: list[str] | None,
    reason: str | None,
    done: str,
    act_of: "Callable[[Client], Callable[[str], Awaitable[None]]]",
) -> int:
    """Do it to each of these letters, or to all with this reason, once all are known; the exit
    code.
    """
    if bool(names) == (reason is not None):
        why = "Give ids or --reason, not both"
        raise usage("name dead letters or a reason", why, "haltpoint dlq list")

    async def whole(client: "Client") -> dict[str, str]:
        act = act_of(client)
        known = [letter.id for letter in await _letters(client, reason)]
        chosen = [only("dead letter", name, known) for name in names or known]
        return {name: await _outcome(act(name), done) for name in chosen}

    outcomes = talk(shell, whole)
    shell.table(outcomes, ("dead letter", "outcome"), outcomes.items())
    return Exit.OK if {*outcomes.values()} <= {done} else Exit.FAILED


async def _outcome(act: "Awaitable[None]", done: str) -> str:
    from haltpoint.client import GatewayError

    try:
        await act
    except GatewayError as error:
        if error.code not in _NOT_DONE:
            raise
        return error.detail
    return done


async def _letters(client: "Client", reason: str | None) -> "list[LetterView]":
    return [letter async for letter in every(client.letters, limit=_MOST, reason=reason)]
