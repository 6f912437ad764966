"""The executor's README and the picture of its states show the machine as it is."""

from typing import get_args

from haltpoint.chain.model.outputs import Next
from haltpoint.chain.turns.scheduling import CARRIED_OUT
from tests.pictures import states
from tests.pictures.matrix import README, matrix, with_matrix


def test_the_matrix_in_the_readme_is_that_of_the_code() -> None:
    page = README.read_text()

    assert with_matrix(page) == page, "stale: run `python -m tests.pictures.matrix`"


def test_every_state_and_every_event_has_a_place_in_the_matrix() -> None:
    header, _, *rows = matrix().partition("\n\n")[0].splitlines()

    assert header.count("|") == 12
    assert [row.count("|") for row in rows] == [12] * 11
    assert f"| `tool.completed` | · | · |{' Record the receipt |' * 5} · | · | · |" in rows


def test_the_picture_of_the_states_is_that_of_the_matrix() -> None:
    assert states.PICTURE.read_text() == states.drawn(), (
        "stale: run `python -m tests.pictures.states`"
    )


def test_everything_that_a_step_may_want_is_carried_out() -> None:
    assert set(CARRIED_OUT) == set(get_args(Next))
