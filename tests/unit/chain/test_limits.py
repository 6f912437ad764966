"""Deadlines and what is remembered."""

from datetime import UTC, datetime

import pytest

from haltpoint.chain.model.limits import Policy, deadline_of
from haltpoint.chain.model.schemas import argument_faults, result_faults
from haltpoint.contracts.work.tasks import Budget, Task
from tests.support.builders import spec

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("task", "deadline"),
    [
        (Task(), NOW + 60_000),
        (Task(budget=Budget(seconds=2.5)), NOW + 2500),
        (Task(budget=Budget(seconds=99)), NOW + 60_000),
        (Task(deadline=datetime.fromtimestamp(NOW / 1000 + 7, UTC)), NOW + 7000),
        (
            Task(deadline=datetime.fromtimestamp(NOW / 1000 + 7, UTC).replace(tzinfo=None)),
            NOW + 7000,
        ),
    ],
)
def test_a_chain_ends_at_the_earliest_of_its_limits(task: Task, deadline: int) -> None:
    assert deadline_of(task, Policy(chain_timeout=60), NOW) == deadline


def test_a_fault_of_a_long_value_says_its_reason() -> None:
    tool = spec(
        "a",
        parameters={"type": "object", "properties": {"names": {"type": "array", "maxItems": 1}}},
    )

    [fault] = argument_faults(tool, {"names": ["x" * 500, "y"]})
    assert fault.startswith("arguments.names: ['xxx")
    assert fault.endswith("xxx', 'y'] is too long")
    assert len(fault) < 230


@pytest.mark.parametrize("unknown", [(), [("deep",)]], ids=["all known", "one not known yet"])
def test_a_choice_between_members_is_told_in_words_whatever_the_others_will_be(
    unknown: list[tuple[str]],
) -> None:
    rule = {"anyOf": [{"required": ["slug"]}, {"required": ["id"]}]}
    tool = spec("a", parameters={"type": "object", "allOf": [rule]})

    assert argument_faults(tool, {"slug": "x"}, unknown) == ()
    told = "arguments: 'slug' is missing or 'id' is missing"
    assert argument_faults(tool, {"deep": {"$from": "find.data"}}, unknown) == (told,)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("x", "arguments.sizes: 'x' is not a list or null"),
        (["x"], "arguments.sizes: 'x' is not a whole number"),
    ],
)
def test_what_an_optional_argument_takes_is_said_in_our_words(given: object, told: str) -> None:
    sizes = {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}
    tool = spec("a", parameters={"type": "object", "properties": {"sizes": sizes}})
    assert argument_faults(tool, {"sizes": given}) == (told,)


def test_a_result_is_an_object_and_fits_its_schema() -> None:
    tool = spec("a", result_schema={"type": "object", "required": ["id"]})

    assert result_faults(tool, [1]) == ("data: [1] is not an object",)
    assert result_faults(tool, {}) == ("data: 'id' is missing",)
    assert result_faults(spec("a"), {"x": 1}) == ()
