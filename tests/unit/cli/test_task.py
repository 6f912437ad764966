"""The options of `haltpoint run` as the body that the gateway gets."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from haltpoint.cli.task import context_of, deadline_of, task_of
from haltpoint.contracts.doors import door
from haltpoint.contracts.work.tasks import Task

NOON = datetime.fromisoformat("2030-01-31T12:00").astimezone()


def test_only_what_was_given_is_sent() -> None:
    nothing = {"context": None, "budget": None, "tools": None, "mode": None, "plan": None}
    assert task_of({"goal": "Tell Jane hello", **nothing}) == {"goal": "Tell Jane hello"}


def test_every_option_is_a_field_of_the_task() -> None:
    body = task_of(
        {
            "goal": "Tell Jane hello",
            "context": '{"team": "a"}',
            "tools": ["lookup_*", "askHuman"],
            "budget": "turns=5, cost=0.5",
            "deadline": "2h",
            "mode": "advisory",
            "style": "react",
            "max_turns": 3,
            "user": "jane",
            "conversation_id": "c1",
        }
    )
    task = door(Task).validate_python(body)
    assert task.tools == ("lookup_*", "askHuman")
    assert (task.context, task.user) == ({"team": "a"}, "jane")
    assert (task.budget.turns, task.budget.cost) == (5, 0.5)
    assert task.deadline
    assert task.deadline > datetime.now(UTC)


def test_a_context_is_json_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "context.json").write_text('{"team": "b"}')
    assert context_of('{"team": "a"}') == {"team": "a"}
    assert context_of(f"@{tmp_path / 'context.json'}") == {"team": "b"}


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("90s", "2030-01-31T12:01:30"),
        ("2h", "2030-01-31T14:00"),
        ("1d", "2030-02-01T12:00"),
        ("2030-02-01T08:00", "2030-02-01T08:00"),
        ("2030-02-01T08:00Z", "2030-02-01T08:00Z"),
    ],
)
def test_a_deadline_is_a_length_or_a_time_of_this_machine(text: str, moment: str) -> None:
    assert (
        datetime.fromisoformat(deadline_of(text, NOON))
        == datetime.fromisoformat(moment).astimezone()
    )
