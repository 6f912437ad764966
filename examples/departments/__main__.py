"""All of it by itself: `python -m examples.departments [careless]`."""

import asyncio

from examples.alone import alone, told
from haltpoint.contracts.people.humans import RequestKind

GOALS = {
    "How many days of leave do I have?": {RequestKind.CLARIFICATION: "hr"},
    "May I use this library?": {
        RequestKind.INPUT: "its licence",
        RequestKind.CLARIFICATION: "legal",
    },
    "Who takes my badge and my desk when I leave?": {RequestKind.CLARIFICATION: "security"},
}
"""What employees ask, and how a person answers the questions when there is no terminal."""


async def main() -> None:
    async with alone("departments") as client:
        for goal, answers in GOALS.items():
            await told(client, goal, answers)


asyncio.run(main())
