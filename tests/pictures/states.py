"""Draw docs/pictures/states.svg from the executor's matrix: `python -m tests.pictures.states`."""

from pathlib import Path
from typing import Final

from haltpoint.chain.model.state import WAITING
from haltpoint.chain.model.statuses import ChainStatus
from tests.pictures.matrix import matrix
from tests.pictures.svg import arrow, box, picture, text

PICTURE: Final = Path(__file__).parents[2] / "docs" / "pictures" / "states.svg"
ACCEPTED, PLANNING, EXECUTING = ChainStatus.ACCEPTED, ChainStatus.PLANNING, ChainStatus.EXECUTING
ASKING: Final = tuple(dict.fromkeys(WAITING.values()))
WAITS: Final = "waiting for a person"
ARROWS: Final = {
    *((ACCEPTED, PLANNING), (ACCEPTED, EXECUTING), (ACCEPTED, WAITS)),
    *((PLANNING, EXECUTING), (PLANNING, WAITS)),
    *((EXECUTING, WAITS), (EXECUTING, ChainStatus.COMPLETED)),
    *((WAITS, PLANNING), (WAITS, EXECUTING), (WAITS, ChainStatus.COMPLETED)),
    *((live, ChainStatus.FAILED) for live in (ACCEPTED, PLANNING, EXECUTING, WAITS)),
    *((live, ChainStatus.CANCELLED) for live in (ACCEPTED, PLANNING, EXECUTING, WAITS)),
}
"""The arrows of the picture. Every test that tells a chain's story checks that one event moves it
along one of them.
"""


def place(status: ChainStatus) -> str:
    """The box of a state: the states that wait for a person share one."""
    return WAITS if status in ASKING else status


def events() -> dict[str, list[str]]:
    """What each state does not ignore, as the matrix says."""
    header, _, *rows = (
        line.strip("|").split("|") for line in matrix().partition("\n\n")[0].splitlines()
    )
    taken: dict[str, list[str]] = {}
    for name, *cells in rows:
        for status, cell in zip(header[1:], cells, strict=True):
            if cell.strip() != "·":
                taken.setdefault(status.strip(), []).append(name.strip(" `"))
    return taken


def drawn() -> str:
    """The picture: live states in one frame, each with the events that it takes; ends beside it."""
    taken = events()
    asking = {tuple(taken[status]) for status in ASKING}
    assert len(asking) == 1, "the states that wait for a person share a box"
    parts = [box(20, 20, 680, 510, "live", quiet=True)]
    bottoms: dict[ChainStatus, int] = {}
    for x, status in ((40, ACCEPTED), (265, PLANNING), (490, EXECUTING)):
        height = 44 + 18 * len(taken[status])
        parts.append(box(x, 80, 190, height, status.value, *taken[status]))
        bottoms[status] = 80 + height
    parts.append(box(265, 350, 415, 160, WAITS, " · ".join(ASKING[:2]), " · ".join(ASKING[2:])))
    parts += [
        text(277 + 180 * (n % 2), 440 + 18 * (n // 2), name)
        for n, name in enumerate(taken[ASKING[0]])
    ]
    ends = (
        ("completed", "from executing,", "or with an answer"),
        ("failed", "from any live state,", "with a code"),
        ("cancelled", "from any live state,", "on request"),
    )
    for y, end in zip((80, 200, 320), ends, strict=True):
        parts += [box(770, y, 160, 82, *end), arrow((700, y + 41), (770, y + 41))]
    parts += [arrow((230, 105), (265, 105)), arrow((455, 105), (490, 105))]
    parts += [arrow((135, 80), (135, 55), (585, 55), (585, 80))]
    parts.append(arrow((135, bottoms[ACCEPTED]), (135, 430), (265, 430)))
    parts += [
        arrow((340, 350), (340, bottoms[PLANNING])),
        arrow((370, bottoms[PLANNING]), (370, 350)),
    ]
    parts += [
        arrow((570, 350), (570, bottoms[EXECUTING])),
        arrow((600, bottoms[EXECUTING]), (600, 350)),
    ]
    return picture(940, 550, "The states of a chain, with the events that each takes", parts)


if __name__ == "__main__":
    PICTURE.write_text(drawn())
