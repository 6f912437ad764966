"""Public facts: each is what its class says, and says what a program outside needs."""

from typing import Any

from pydantic_core import from_json

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.doors import door, in_full
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.public_facts import PUBLIC
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.streams.outgoing import public_facts
from tests.support.builders import asks, literal_task, spec
from tests.unit.chain.story import START, Story, submitted

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def begun(**task: Any) -> Story:
    return submitted(door(Task).validate_python({**in_full(literal_task()), **task}), spec())


def told(story: Story, trace: str | None = None) -> JsonObject:
    """The public facts so far by their names. Their classes know all that is said."""
    found: JsonObject = {}
    for decision in story.decisions:
        for text in public_facts(decision, START, trace):
            name = from_json(text)["type"].removesuffix(".v1")
            fact = PUBLIC[FactType(name)].model_validate_json(text)
            assert fact.model_dump(mode="json", exclude_unset=True) == from_json(text)
            assert name not in found
            found[name] = fact
    return found


def test_a_chain_that_is_asked_answered_and_completed() -> None:
    story = begun(tenant="acme", conversation_id="c1")
    assert told(story) == {}
    story.result(asks("ann", "bob"))
    story.pick("ann")
    facts = told(story, TRACE)
    assert list(facts) == ["request.opened", "request.answered", "chain.completed"]
    opened, answered, completed = facts.values()
    assert (opened.id, opened.subject, opened.time, opened.traceparent) == (
        "c.r1/request.opened",
        "c",
        "1970-01-01T00:16:40.000+00:00",
        TRACE,
    )
    assert (opened.data.tenant, opened.data.conversation_id, opened.data.request_id) == (
        "acme",
        "c1",
        "c.r1",
    )
    assert (opened.data.question, [one.id for one in opened.data.options]) == (
        "Which one?",
        ["ann", "bob"],
    )
    assert (opened.data.kind, opened.data.step_id) == (RequestKind.CLARIFICATION, "s1")
    assert opened.data.deadline > START
    assert (answered.data.decision, answered.data.by) == (Choice.SELECT, "ann")
    assert (completed.id, completed.data.answer) == ("c/chain.completed", story.final_answer)


def test_a_chain_that_is_cancelled_while_it_asks() -> None:
    story = begun()
    story.result(asks())
    story.cancel("no longer needed")
    facts = told(story)
    assert list(facts) == ["request.opened", "request.withdrawn", "chain.cancelled"]
    assert facts["request.withdrawn"].data.reason == "no longer needed"
    assert (facts["chain.cancelled"].data.by, facts["chain.cancelled"].data.reason) == (
        "ann",
        "no longer needed",
    )
