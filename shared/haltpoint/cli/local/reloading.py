"""`up --reload`: tool workers that start again when their files change."""

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from haltpoint.cli.local.keeper import Say
from haltpoint.cli.local.system import System
from haltpoint.runtime.config.settings import Settings

Files = dict[Path, int]
_LOOK: Final = 0.5
"""Seconds between two looks at the files."""


async def reload_tools(system: System, say: Say) -> None:
    """Let the tool workers start again whenever a file of their tools, hooks or skills has changed.
    Each finishes the calls that it runs before its successor starts. Runs until it is cancelled.
    """
    before = state_of(system.settings)
    while True:
        await asyncio.sleep(_LOOK)
        now = state_of(system.settings)
        changed = {path.name for path, _ in now.items() ^ before.items()}
        if not changed:
            continue
        before = now
        names = ", ".join(sorted(changed))
        say(f"{names} changed: reloading the tools")
        for child in system.keeper.children:
            if child.service == "tool-worker":
                child.signal(signal.SIGTERM)


def state_of(settings: Settings) -> Files:
    """The files that these settings make a worker read, each with the time of its last change."""
    found = Files()
    for path in _files(settings):
        with suppress(OSError):  # it is gone since
            status = path.stat()
            found[path] = status.st_mtime_ns
    return found


def _files(settings: Settings) -> Iterator[Path]:
    for skills in settings.skills:
        yield from filter(Path.is_file, Path(skills).rglob("*"))
    for name in (*settings.tools, *settings.hooks):
        top = name.partition(":")[0].partition(".")[0]
        spec = PathFinder.find_spec(top, [str(Path.cwd()), *sys.path])
        for folder in (spec and spec.submodule_search_locations) or ():
            yield from Path(folder).rglob("*.py")
        if spec and spec.origin and not spec.submodule_search_locations:
            yield from Path(spec.origin).parent.glob("*.py")  # and what it imports from beside it
