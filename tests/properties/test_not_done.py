"""However a random chain ends: what it promised and did not do is told, and nothing of it twice (F1)."""

from collections import Counter
from typing import Any

import pytest

from haltpoint.chain.checks import human_tool
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.contracts.answers import FinalAnswer, WhyNot
from haltpoint.runtime.streams.wire import encode
from haltpoint.runtime.views.chain_view import view_of
from haltpoint.runtime.views.log_view import LogLine
from haltpoint.runtime.views.record import ChainRecord
from tests.support.random_chain import SPECS, Walk
from tests.support.stored import stored_action
from tests.unit.chain.story import Story

CHAINS = 300
EVENTS = 80
EFFECTS = {name for name, tool in SPECS.items() if not (tool.read_only or tool.plan or name == human_tool.NAME)}
"""Tools with effects that no other chain carries out."""


def actions_of(story: Story) -> dict[str, Action]:
    """Every action that there was, as it was last."""
    found: dict[str, Action] = {}
    for decision in story.decisions:
        found |= decision.chain.actions
    found |= {one.action.id: one.action for one in story.resolved}
    return found


def answer_of(story: Story) -> FinalAnswer:
    """What a user reads of the chain that is over."""
    chain, log = story.chain, []
    for number, decision in enumerate(story.decisions):
        facts = tuple((fact.type.value, fact.details) for fact in decision.facts)
        log.append(LogLine(number, story.now, "x", None, facts))
    record = ChainRecord(
        id=chain.id,
        head={"status": chain.status.value, "origin": chain.origin or "", "created": "1", "updated": "2"},
        task=chain.task,
        plan=chain.plan,
        runs=chain.runs,
        end={"answer": chain.answer, "not_done": [to_json(one) for one in chain.not_done]},
        log=tuple(log),
        actions={
            name: stored_action(
                name, one.tool, one.arguments, receipt=encode(one.outcome) if one.outcome is not None else ""
            )
            for name, one in actions_of(story).items()
        },
    )
    found = view_of(record).answer
    assert found is not None
    return found


def to_json(one: Any) -> Any:
    return {"action_id": one.action_id, "tool": one.tool, "says": one.says, "why": one.why, "message": one.message}


def unkept(story: Story) -> list[set[str]]:
    """The promises of tools with effects, as their names, that no step has kept and no tool elsewhere either."""
    chain = story.chain
    done = {one.tool for one in actions_of(story).values() if one.satisfies}
    found: list[set[str]] = []
    for index, run in enumerate(chain.runs):
        for bit, names in enumerate(chain.graph.promises[index]):
            if not run.receipts >> bit & 1 and EFFECTS.issuperset(names) and done.isdisjoint(names):
                found.append(set(names))
    return found


@pytest.mark.parametrize("end", ["as it comes", "cancelled", "too late"])
def test_f1_an_unkept_promise_is_told_at_every_end_and_nothing_is_told_twice(end: str) -> None:
    seen = Counter[str]()
    for seed in range(CHAINS):
        walk = Walk(seed)
        if walk.troubled:  # which call replaces which is not in this test's picture
            continue
        story = walk.story
        for number in range(EVENTS):
            if story.chain.status.final or (end != "as it comes" and number > seed % 20 + 3):
                break
            walk.step()
        if not story.chain.status.final:
            story.cancel() if end == "cancelled" else story.due(at=story.chain.deadline)
        if not story.chain.status.final:
            continue
        answer = answer_of(story)
        told = [one.tools for one in answer.not_done]
        names = {name for tools in told for name in tools}
        missing = unkept(story)
        note = f"seed {seed}: {story.chain.status} {missing} {answer.not_done}"
        assert all(names & one for one in missing), note
        seen[f"{story.chain.status} {bool(missing)}"] += 1
        if story.chain.origin is PlanOrigin.DRAFTED:
            silent = Counter(one.tool for one in answer.not_done if one.why is WhyNot.NOT_CALLED)
            drops = {(at["step_id"], at["tool"]) for at in story.told("action.never_executed")}
            begun = {(one.step, one.tool) for one in actions_of(story).values()}
            for tool, count in silent.items():
                steps = [
                    index
                    for index, step in enumerate(story.chain.plan.steps if story.chain.plan else ())
                    if tool in step.promised_tools and (step.id, tool) not in drops and (index, tool) not in begun
                ]
                assert count <= len(steps), note
    print(dict(seen))
    assert len(seen) > 1
