"""Draw docs/pictures/architecture.svg from the table of messages: `python -m
tests.pictures.architecture`.
"""

from pathlib import Path
from typing import Final

from haltpoint.contracts.catalogue import CATALOGUE, Party
from tests.pictures.svg import arrow, box, picture, text

PICTURE: Final = Path(__file__).parents[2] / "docs" / "pictures" / "architecture.svg"


def messages(sender: Party, receiver: Party) -> list[str]:
    """The names of what one service sends to another."""
    rows = (row for row in CATALOGUE if (row.sender, row.receiver) == (sender, receiver))
    return [row.type.rpartition(".")[0] for row in rows]


def drawn() -> str:
    """The picture: the executor in the middle, and a line for each direction with the messages that
    go there.
    """
    parts = [
        box(20, 40, 170, 70, "client", "HTTP, or the stream"),
        box(20, 150, 170, 160, "gateway asks", "inbox, answers,", "HTTP API"),
        box(20, 370, 170, 50, "people"),
        box(410, 40, 170, 380, "executor decides", "a pure core,", "one atomic commit"),
        *(
            text(422, 360 + 18 * n, one)
            for n, one in enumerate(("to itself:", *messages(Party.EXECUTOR, Party.EXECUTOR)))
        ),
        box(
            800, 40, 170, 210, "planner thinks", "plans, proposals,", "the only one with", "a model"
        ),
        box(800, 300, 170, 120, "tool worker acts", "validates, claims,", "runs, records"),
        arrow((90, 310), (90, 370)),
        arrow((120, 370), (120, 310)),
    ]
    parts += _line((190, 410), 75, messages(Party.CLIENT, Party.EXECUTOR))
    parts += _line((410, 190), 210, messages(Party.EXECUTOR, Party.GATEWAY))
    parts += _line((190, 410), 280, messages(Party.GATEWAY, Party.EXECUTOR))
    parts += _line((580, 800), 125, messages(Party.EXECUTOR, Party.PLANNER))
    parts += _line((800, 580), 238, messages(Party.PLANNER, Party.EXECUTOR))
    parts += _line((580, 800), 340, messages(Party.EXECUTOR, Party.WORKER))
    parts += _line((800, 580), 390, messages(Party.WORKER, Party.EXECUTOR))
    return picture(990, 450, "Four services, and every message between them", parts)


def _line(ends: tuple[int, int], y: int, names: list[str]) -> list[str]:
    """An arrow from one end to the other, with names above it."""
    words = [text(min(ends) + 20, y - 8 - 18 * n, name) for n, name in enumerate(reversed(names))]
    return [arrow((ends[0], y), (ends[1], y)), *words]


if __name__ == "__main__":
    PICTURE.write_text(drawn())
