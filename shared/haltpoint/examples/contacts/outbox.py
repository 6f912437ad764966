"""The outbox: an append-only file of JSON lines, one per message, each under the key of the action
that sent it.

The provider at the other end of a real messaging API, small enough to be read with `cat`. Like a
good provider it takes an idempotency key: a second message under the same key is not sent, the
first one is returned.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Message:
    """One message that went out. `key` is the idempotency key, `at` an RFC 3339 time."""

    key: str
    to: str
    name: str
    address: str
    content: str
    at: str = ""


class Outbox:
    """One file; several processes may write to it at once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def send(self, message: Message) -> tuple[Message, bool]:
        """Write it and be sure that it is on disk; return it and True, or the first one under this
        key and False.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            first = _under(message.key, _messages(file))
            if first is not None:
                return first, False
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            sent = replace(message, at=now)
            line = json.dumps(asdict(sent), ensure_ascii=False)
            if _torn(self.path):  # a writer died in the middle of its line, which then is none
                line = f"\n{line}"
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())
            return sent, True

    def read(self) -> list[Message]:
        """All messages in the order in which they went out; none when the file does not exist."""
        if not self.path.exists():
            return []
        with self.path.open(encoding="utf-8") as file:
            return list(_messages(file))

    def find(self, key: str) -> Message | None:
        """The message that went out under this key: what a person looks up who is asked whether it
        happened.
        """
        return _under(key, self.read())


def _under(key: str, messages: Iterable[Message]) -> Message | None:
    for message in messages:
        if message.key == key:
            return message
    return None


def _messages(lines: Iterator[str]) -> Iterator[Message]:
    for line in lines:
        try:
            yield Message(**json.loads(line))
        except (ValueError, TypeError):
            continue


def _torn(path: Path) -> bool:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
        return size > 0 and file.read(1) != b"\n"
