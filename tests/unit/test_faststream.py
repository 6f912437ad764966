"""What users of FastStream give us is checked before anything is sent."""

import asyncio

import pytest
from faststream.redis import RedisBroker
from pydantic import ValidationError

from haltpoint.faststream import TaskPublisher, TaskSubmitted, facts


def test_a_task_that_does_not_fit_is_refused_in_our_words_and_shows_nothing_of_it() -> None:
    publisher = TaskPublisher(RedisBroker())
    private = {"session": "only for tools"}
    with pytest.raises(ValueError, match=r"^data.mode: must be 'strict', 'advisory' or 'off'$"):
        asyncio.run(publisher.publish("Do it", mode="strickt", private=private))
    with pytest.raises(ValidationError) as told:
        TaskSubmitted.model_validate({"data": {"private": private}})
    assert "only for tools" not in str(told.value)


def test_facts_are_read_through_an_application() -> None:
    with pytest.raises(TypeError, match="FastStream"):
        facts(RedisBroker(), "chain.completed", group="shop")  # type: ignore[arg-type]
