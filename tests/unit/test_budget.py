"""The budgets of the rooms: what is counted, and what fails."""

from pathlib import Path

import pytest

from tests import budget

SOURCE = '''
"""A module."""
import os

LIMIT = 3


async def twice(x: int) -> int:
    """Double it."""
    for number in (x,):
        if number > LIMIT:
            return number * 2
    with open(x) as file, open(x):
        match x:
            case 1 if x:
                pass
    return 0
'''
COUNTED = 42
STATEMENTS = [1, 2, 3, 3, 4, 5, 9]
"""Counted by hand: match, return 0, for, case, if, return number * 2, with."""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    for name in (
        "shared/haltpoint/client.py",
        "shared/haltpoint/chain/model/state.py",
        "services/haltpoint_x/app.py",
    ):
        place = tmp_path / name
        place.parent.mkdir(parents=True)
        place.write_text(SOURCE)
    return tmp_path


def test_nodes_are_counted_without_docstrings_and_imports() -> None:
    room, bare = budget.Room(), budget.Room()
    room.add(SOURCE)
    bare.add(
        SOURCE.replace('"""A module."""\nimport os\n', "").replace('"""Double it."""', "# bare")
    )

    assert (room.nodes, sorted(room.statements), room.functions) == (COUNTED, STATEMENTS, [10])
    assert (bare.nodes, sorted(bare.statements)) == (COUNTED, STATEMENTS)


def test_a_folder_is_a_room_and_one_inside_of_it_when_it_has_a_row(house: Path) -> None:
    assert set(budget.rooms(house, set())) == {"top", "chain", "haltpoint_x"}
    assert set(budget.rooms(house, {"chain/model"})) == {"top", "chain/model", "haltpoint_x"}


def test_a_room_needs_its_row_and_a_row_its_room() -> None:
    figures = {"rooms": {"chain": 1000, "tools": 10}, "longest": {}}

    assert budget.faults({"rooms": {"chain": 1000, "tools": 10}}, figures) == []
    assert budget.faults(
        {"rooms": {"chain": 1000, "old": 7}, "longest": {"chain": 90}}, figures
    ) == [
        "[rooms] old: a row of 7, and nothing there that needs it; `make budget` takes it out",
        "[rooms] tools: 10, and no row",
        "[longest] chain: a row of 90, and nothing there that needs it; `make budget` takes it out",
    ]


@pytest.mark.parametrize(
    ("nodes", "fault"),
    [
        (1001, "[rooms] chain: 1001, and the row says 1000"),
        (1000, None),
        (980, None),
        (979, "[rooms] chain: only 979, and the row says 1000; `make budget` sets it down"),
    ],
)
def test_a_room_stays_close_below_its_row(nodes: int, fault: str | None) -> None:
    found = budget.faults({"rooms": {"chain": 1000}}, {"rooms": {"chain": nodes}})

    assert found == ([fault] if fault else [])


def test_setting_down_never_raises_a_row_or_adds_one() -> None:
    figures = {"rooms": {"chain": 900, "cli": 60, "new": 5}, "longest": {}}

    down = budget.lowered(
        {"rooms": {"chain": 1000, "cli": 50, "old": 7}, "longest": {"cli": 90}}, figures
    )

    assert down == {"rooms": {"chain": 900, "cli": 50}, "longest": {}}
