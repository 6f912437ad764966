"""All of it by itself: `python -m examples.delegation [careless]`.

The calendar is a new one, or the one that DELEGATION_DATABASE names.
"""

import asyncio
import os
import tempfile

from examples.alone import alone, told
from haltpoint.contracts.people.humans import RequestKind

GOALS = {
    "Write the sales report": {RequestKind.INPUT: "Tuesday", RequestKind.CLARIFICATION: "urgent"},
    "Prepare the team meeting for Friday": {
        RequestKind.INPUT: "Friday",
        RequestKind.CLARIFICATION: "normal",
    },
    "Sort the old photos when there is time": {
        RequestKind.INPUT: "any time",
        RequestKind.CLARIFICATION: "background",
    },
}
"""What is to be done, and how a person answers the questions when there is no terminal."""


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = os.environ.get("DELEGATION_DATABASE", f"{folder}/calendar.db")
        async with alone("delegation", DELEGATION_DATABASE=database) as client:
            for goal, answers in GOALS.items():
                await told(client, goal, answers)


asyncio.run(main())
