"""`haltpoint dlq`: what could not be processed, and giving it back. Dead letters are called
`<partition>/<id>`.
"""

import json
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haltpoint.cli.errors import Exit, usage
from haltpoint.cli.server import opened, wait
from haltpoint.cli.shell import Shell, verb
from haltpoint.cli.wording import cut
from haltpoint.runtime.config.errors import HaltpointError

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from haltpoint.runtime.streams.topology import Topology

Letter = dict[str, Any]
"""One dead letter, each field of it in words; `at` in ms."""

_PAGE = 100  # dead letters that are read at a time: each may have megabytes
_SHOWN = 1024  # characters of a message
_TEXTS = ("stream", "reason", "chain", "detail")
_WORDS = {
    "requeued": "requeued",
    "gone": "no dead letter has this id",
    "done": "not requeued: its action has an outcome, its chain has ended, or a person decides",
}


app = typer.Typer(help="Dead letters: messages that could not be processed.", no_args_is_help=True)


@verb(app, "list")
def list_(
    shell: Shell,
    reason: Annotated[str | None, typer.Option(help="Only with this reason.")] = None,
) -> None:
    """List dead letters, the oldest first."""
    letters = wait(_letters(shell, reason))
    names = ("id", *_TEXTS)
    rows = [[letter[name] for name in names] for letter in letters]
    document = {"items": letters, "next_cursor": None}
    shell.table(document, ("dead letter", *_TEXTS), rows, empty="No dead letters.")


@verb(app, "requeue")
def requeue(
    shell: Shell,
    letters: Annotated[list[str] | None, typer.Argument(metavar="[LETTER]...")] = None,
    reason: Annotated[str | None, typer.Option(help="All dead letters with this reason.")] = None,
) -> int:
    """Put dead letters back into their streams, each once. Exit code 1: one could not be
    requeued.
    """
    if bool(letters) == (reason is not None):
        why = "Give ids or --reason, not both"
        raise usage("name dead letters or a reason", why, "haltpoint dlq list")
    statuses = wait(_requeue(shell, letters or [], reason))
    rows = [(letter, _WORDS[status]) for letter, status in statuses.items()]
    shell.table(statuses, ("dead letter", "outcome"), rows)
    return Exit.OK if {*statuses.values()} == {"requeued"} else Exit.FAILED


async def _letters(shell: Shell, reason: str | None) -> list[Letter]:
    async with opened(shell) as (redis, topology, _):
        await topology.check(redis)
        letters = []
        for partition in range(topology.partitions):
            letters += [letter async for letter in _in_partition(redis, topology, partition)]
    fitting = [letter for letter in letters if reason in (None, letter["reason"])]
    return sorted(fitting, key=lambda letter: (letter["at"], letter["id"]))


async def _in_partition(
    redis: "Redis", topology: "Topology", partition: int
) -> AsyncIterator[Letter]:
    key, behind = topology.key(partition, "dead"), "-"
    server: Any = redis
    while rows := await server.xrange(key, behind, count=_PAGE):
        for entry, fields in rows:
            yield _letter(f"{partition}/{entry.decode()}", fields)
        behind = f"({rows[-1][0].decode()}"


async def _requeue(shell: Shell, letters: list[str], reason: str | None) -> dict[str, str]:
    from haltpoint.runtime.store.dead_letters import DeadLetters

    names = letters
    if reason is not None:
        names = [letter["id"] for letter in await _letters(shell, reason)]
    async with opened(shell, patience=5.0) as (_, topology, calls):
        dead = DeadLetters(calls, topology)
        statuses: Letter = {}
        for name in names:
            written = re.fullmatch(r"(\d+)/(.*-.*)", name)
            partition = int(written[1]) if written else topology.partitions
            if not written or partition >= topology.partitions:
                what, why = f"{name!r} is not the id of a dead letter", "it is PARTITION/ID"
                raise HaltpointError("HP-055", what, why, "haltpoint dlq list")
            status = await dead.requeue(partition, written[2])
            statuses[name] = status.value
        return statuses


def _letter(name: str, fields: dict[bytes, bytes]) -> Letter:
    letter: Letter = {"id": name}
    for text in _TEXTS:
        value = fields.get(text.encode(), b"")
        letter[text] = value.decode(errors="replace")
    letter["at"] = int(fields.get(b"at") or 0)
    message = _shown_of(fields.get(b"__data__", b""))
    letter["message"] = cut(message, _SHOWN + 1)
    return letter


def _shown_of(data: bytes) -> str:
    """The message as it is shown: what a task gave to its tools alone stays out of it (C15)."""
    from haltpoint.runtime.streams.foreign_formats import body_of

    message = body_of(data).decode(errors="replace")
    if '"private"' not in message:
        return message
    with suppress(ValueError, AttributeError, RecursionError):
        told = json.loads(message)
        tasks = [one for one in (told, told.get("data")) if isinstance(one, dict)]
        hidden = [one.pop("private", None) for one in tasks]
        if any(hidden):
            return json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    return message
