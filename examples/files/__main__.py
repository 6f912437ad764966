"""All of it by itself: `python -m examples.files [careless]`.

The folder is a new one, or the one that FILES_FOLDER names.
"""

import asyncio
import os
import tempfile
from pathlib import Path

from examples.alone import CONSOLE, alone, told

GOALS = (
    "Write notes/today.md: Water the plants",
    "In notes/today.md write cactus in place of plants",
    "Write notes/old.md: Buy a watering can",
    "Delete notes/old.md",
    "Write ../outside.md: I was here",
)


async def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(os.environ.get("FILES_FOLDER", f"{temporary}/files"))
        async with alone("files", FILES_FOLDER=str(folder)) as client:
            for goal in GOALS:
                await told(client, goal)
        show(folder)


def show(folder: Path) -> None:
    for file in sorted(one for one in folder.rglob("*") if one.is_file()):
        CONSOLE.print(f"\n{file.relative_to(folder)}: {file.read_text()}", markup=False)


asyncio.run(main())
