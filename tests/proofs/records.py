"""What really happened: files that every actor writes for itself, outside Redis; `history` judges
them.

    recorder = Recorder(folder, "provider")
    recorder.write(Effect(key=ctx.idempotency_key, effects="other", arguments=digest))

A record is on the disk before `write` returns: SIGKILL of its actor loses at most the record that
was being written. What was recorded has happened; what has happened may lack its record when its
actor died just then. So the rules are worded such that a missing record never makes a violation of
a right history, but for the two observers who do not die: the client (`Submitted`, `Answered`,
`Ended`) and the watcher (`Told`, `Receipt`).
"""

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

DESTRUCTIVE: Final = "destructive"


# ---- what is recorded: a closed set ----------


@dataclass(frozen=True, slots=True)
class Submitted:
    """A client was told that its task was accepted, as this chain. `key`: what it calls the task
    itself.
    """

    key: str
    chain: str


@dataclass(frozen=True, slots=True)
class Effect:
    """The provider was called: written before anything else, so each start counts. `arguments` is a
    hash.
    """

    key: str
    effects: str  # read_only | idempotent | other | destructive
    arguments: str
    confirmed: bool = False
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """The provider was called and does nothing; `said`: its caller hears that."""

    key: str
    tool: str
    said: bool


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The provider was asked whether an action has happened."""

    key: str
    happened: bool


@dataclass(frozen=True, slots=True)
class Claimed:
    """A worker was given this entry of an action, under this epoch."""

    action: str
    entry: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Decided:
    """An executor's commit was applied and made this version of the chain."""

    chain: str
    version: str


@dataclass(frozen=True, slots=True)
class Answered:
    """A person's answer: before it is sent (not `taken`), and again when the inbox has taken it.
    `arguments` is the hash of those that a yes lets run.
    """

    request: str
    action: str
    decision: str
    taken: bool
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """What a client reads in the answer of a chain that is over: the actions of each list."""

    chain: str
    status: str
    deeds: list[str]
    not_done: list[str]


@dataclass(frozen=True, slots=True)
class Told:
    """The watcher saw a fact of a chain, in the order of the feed. `action` when the fact is about
    one.
    """

    chain: str
    fact: str
    action: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The watcher found the receipt of an action's attempt. `receipt` is a hash of outcome and
    data.
    """

    action: str
    attempt: int
    receipt: str
    success: bool


Record = (
    Submitted
    | Effect
    | Refused
    | Reconciliation
    | Claimed
    | Decided
    | Answered
    | Ended
    | Told
    | Receipt
)
_KINDS: Final[dict[str, type[Any]]] = {kind.__name__: kind for kind in get_args(Record)}
R = TypeVar("R", bound=Record)


def hash_of(text: str) -> str:
    """What a record keeps of arguments."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Recorder:
    """One actor's file, `<folder>/<actor>.<pid>.jsonl`. Each record is on the disk when `write`
    returns.
    """

    def __init__(self, folder: Path, actor: str) -> None:
        self.path = folder / f"{actor}.{os.getpid()}.jsonl"
        self._file = os.open(
            self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
        )

    def write(self, record: Record) -> None:
        """Append one record with the machine's monotonic time."""
        line = {"at": time.monotonic_ns(), "kind": type(record).__name__, **asdict(record)}
        os.write(self._file, json.dumps(line).encode() + b"\n")
        os.fsync(self._file)

    def close(self) -> None:
        """Give the file back."""
        os.close(self._file)


@dataclass(frozen=True, slots=True)
class Seen:
    """A record with its place: monotonic ns, file and line."""

    at: int
    file: str
    line: int
    record: Record

    @property
    def process(self) -> int:
        """The id of its writer."""
        return int(self.file.split(".")[-2])


def read(files: Iterable[Path]) -> list[Seen]:
    """All records in the order of time. A torn last line, its writer's last breath, is left out."""
    seen = []
    for path in files:
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
            if not line.endswith(b"\n"):
                continue
            fields = json.loads(line)
            at, kind = fields.pop("at"), fields.pop("kind")
            seen.append(Seen(at, path.name, number, _KINDS[kind](**fields)))
    return sorted(seen, key=lambda each: (each.at, each.file, each.line))


def of(seen: Iterable[Seen], kind: type[R]) -> Iterator[tuple[Seen, R]]:
    """The records of one kind, each with its place."""
    return ((each, each.record) for each in seen if isinstance(each.record, kind))


def effects_in(history: str | Path) -> list[Effect]:
    """What the provider has written down, in the order of time."""
    return [effect for _, effect in of(read(Path(history).glob("provider.*.jsonl")), Effect)]
