"""The record of what really happened: one JSON line for each run of a tool, written by the tool alone.

It is outside of Redis and knows nothing of chains' states: the judge believes it and no report.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

PLACE: Final = "EVALS_EFFECTS"
"""The variable that names the file."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a tool: under which action, from when to when (ns), whether it succeeded, and what it did.

    `asks`: it ended with a question to a person. `target`: whom or what its effect hit, empty without an effect, and
    `text` the words that went there.
    """

    action: str
    tool: str
    began: int
    ended: int
    ok: bool = True
    asks: bool = False
    target: str = ""
    text: str = ""
    options: tuple[str, ...] = ()


def write(path: Path, ran: Ran) -> None:
    """Add a line; whole lines of several processes do not mix."""
    line = json.dumps(asdict(ran), separators=(",", ":")) + "\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def read(path: Path) -> list[Ran]:
    """All runs, in the order in which they ended."""
    if not path.exists():
        return []
    lines: list[dict[str, Any]] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Ran(options=tuple(line.pop("options")), **line) for line in lines]
