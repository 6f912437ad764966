"""All of it by itself: `python -m examples.support [careless]`.

The orders are those of a new shop, or of the one that SUPPORT_DATABASE names.
"""

import asyncio
import os
import tempfile

from examples.alone import alone, told
from haltpoint.contracts.people.humans import RequestKind

GOALS = {
    "I want my money back": {RequestKind.INPUT: "A-1042", RequestKind.CLARIFICATION: "billing"},
    "It does not start, please repair it": {
        RequestKind.INPUT: "B-2077",
        RequestKind.CLARIFICATION: "technical",
    },
    "When do you open on Saturdays?": {RequestKind.CLARIFICATION: "general"},
}
"""What customers write, and how a person answers the questions when there is no terminal."""


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = os.environ.get("SUPPORT_DATABASE", f"{folder}/shop.db")
        async with alone("support", SUPPORT_DATABASE=database) as client:
            for goal, answers in GOALS.items():
                await told(client, goal, answers)


asyncio.run(main())
