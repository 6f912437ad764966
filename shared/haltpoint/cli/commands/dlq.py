"""`haltpoint dlq`: what could not be processed, and giving it back. Dead letters are called
`<partition>/<id>`.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, cast

import typer

from haltpoint.cli.errors import CliError, Exit, usage
from haltpoint.cli.shell import Shell, verb

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from haltpoint.runtime.store.dead_letters import RequeueStatus
    from haltpoint.runtime.streams.topology import Topology

_PAGE = 100  # dead letters that are read at a time: each may have megabytes
_SHOWN = 1024  # characters of a message

_Rows = list[tuple[bytes, dict[bytes, bytes]]]


@dataclass(frozen=True, slots=True)
class Letter:
    """One dead letter. `at` in ms; `message` is its first kilobyte as text, with … behind it when
    there is more.
    """

    id: str
    stream: str
    reason: str
    detail: str
    chain: str
    at: int
    message: str


app = typer.Typer(help="Dead letters: messages that could not be processed.", no_args_is_help=True)


@verb(app, "list")
def list_(
    shell: Shell,
    reason: Annotated[str | None, typer.Option(help="Only with this reason.")] = None,
) -> None:
    """List dead letters, the oldest first."""
    import asyncio

    letters = asyncio.run(_letters(shell, reason))
    if shell.json:
        shell.emit({"items": [asdict(letter) for letter in letters], "next_cursor": None})
        return
    rows = [(one.id, one.stream, one.reason, one.chain, one.detail) for one in letters]
    shell.table(("letter", "stream", "reason", "chain", "detail"), rows)
    if not letters:
        shell.note("No dead letters.")


@verb(app, "requeue")
def requeue(
    shell: Shell,
    letters: Annotated[list[str] | None, typer.Argument(metavar="[LETTER]...")] = None,
    reason: Annotated[str | None, typer.Option(help="All dead letters with this reason.")] = None,
) -> int:
    """Put dead letters back into their streams, each once. Exit code 1: one could not be
    requeued.
    """
    import asyncio

    if bool(letters) == (reason is not None):
        raise usage(
            "name dead letters or a reason",
            "Give ids or --reason, not both",
            "haltpoint dlq list",
        )
    statuses = asyncio.run(_requeue(shell, letters or [], reason))
    if shell.json:
        shell.emit({letter: status.value for letter, status in statuses.items()})
    else:
        for letter, status in statuses.items():
            shell.out.print(f"{letter}: {_WORDS[status.value]}", markup=False)
    done = all(status.value == "requeued" for status in statuses.values())
    return Exit.OK if done else Exit.FAILED


_WORDS = {
    "requeued": "requeued",
    "gone": "no dead letter has this id",
    "done": "not requeued: its action has an outcome, its chain has ended, or a person decides",
}


@asynccontextmanager
async def _opened(shell: Shell) -> "AsyncGenerator[tuple[Redis, Topology]]":
    from haltpoint.runtime.service.address import redis_url
    from haltpoint.runtime.streams.connection import connect
    from haltpoint.runtime.streams.topology import Topology

    async with connect(redis_url(shell.settings)) as redis:
        topology = Topology(shell.settings.partitions)
        await topology.check(redis)
        yield redis, topology


async def _letters(shell: Shell, reason: str | None) -> list[Letter]:
    async with _opened(shell) as (redis, topology):
        found: list[Letter] = []
        for partition in range(topology.partitions):
            behind = "-"
            while rows := cast(
                "_Rows", await redis.xrange(topology.key(partition, "dead"), behind, count=_PAGE)
            ):
                letters = (
                    _letter(f"{partition}/{entry.decode()}", fields) for entry, fields in rows
                )
                found += [letter for letter in letters if reason in (None, letter.reason)]
                behind = f"({rows[-1][0].decode()}"
        return sorted(found, key=lambda letter: (letter.at, letter.id))


async def _requeue(
    shell: Shell, letters: list[str], reason: str | None
) -> "dict[str, RequeueStatus]":
    from haltpoint.runtime.store.dead_letters import DeadLetters
    from haltpoint.runtime.streams.connection import AutoPipeline

    wanted = letters or [letter.id for letter in await _letters(shell, reason)]
    async with _opened(shell) as (redis, topology), AutoPipeline(redis, patience=5.0) as calls:
        dead = DeadLetters(calls, topology)
        statuses: dict[str, RequeueStatus] = {}
        for name in wanted:
            partition, slash, entry = name.partition("/")
            if (
                not slash
                or not partition.isdigit()
                or int(partition) >= topology.partitions
                or "-" not in entry
            ):
                what, why = (
                    f"{name!r} is not the id of a dead letter",
                    "they are written PARTITION/ID",
                )
                raise CliError("HP-055", what, why, "haltpoint dlq list", exit_code=Exit.USAGE)
            statuses[name] = await dead.requeue(int(partition), entry)
        return statuses


def _letter(name: str, fields: dict[bytes, bytes]) -> Letter:
    text = {
        key.decode(errors="replace"): value.decode(errors="replace")
        for key, value in fields.items()
    }
    message = _shown_of(fields.get(b"__data__", b""))
    return Letter(
        id=name,
        **{field: text.get(field, "") for field in ("stream", "reason", "detail", "chain")},
        at=int(text.get("at") or 0),
        message=message if len(message) <= _SHOWN else f"{message[:_SHOWN]}…",
    )


def _shown_of(data: bytes) -> str:
    """The message as it is shown: what a task gave to its tools alone stays out of it (C15)."""
    message = data.decode(errors="replace")
    if '"private"' not in message:
        return message
    if not message.startswith("{"):
        return "not shown: it is no JSON object, and has private values"
    try:
        told = json.loads(message)
        tasks = [one for one in (told, told.get("data")) if isinstance(one, dict)]
    except (ValueError, AttributeError, RecursionError):
        return message
    hidden = [one.pop("private", None) for one in tasks]
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")) if any(hidden) else message
