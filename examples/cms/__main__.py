"""All of it by itself: `python -m examples.cms [careless]`.

The site is a new one, or the one that CMS_DATABASE names.
"""

import asyncio
import os
import tempfile
from pathlib import Path

from examples.alone import CONSOLE, alone, told

CHANGES = (
    (
        "Create the page Opening hours at opening-hours with the hero We are open: Daily "
        "from ten to five."
    ),
    "Change the hero of visit to: Wear good shoes, it is windy at the top.",
    "Delete the hero of visit",
)
WHOLE = "Name the hero of about-us Fennick Light, after reading the whole page"
PART = "Name the hero of about-us Fennick Point, after reading only that section"


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = os.environ.get("CMS_DATABASE", str(Path(folder) / "site.db"))
        async with alone("cms", CMS_DATABASE=database) as client:
            for goal in CHANGES:
                await told(client, goal)
            whole, part = [(await told(client, goal)).usage.tokens for goal in (WHOLE, PART)]
    CONSOLE.print(f"\nTokens: {whole} with include_content, {part} with getSectionContent")


asyncio.run(main())
