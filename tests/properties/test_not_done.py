"""However a random chain ends: what it promised and did not do is told, and nothing of it twice
(F1).
"""

from collections import Counter

import pytest

from haltpoint.chain.checks.bounds import NO_BOUNDS
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.contracts.answers import OR, WhyNot
from haltpoint.contracts.tools import ASK_HUMAN
from tests.support.random_chain import SPECS, Walk
from tests.unit.chain.story import Story

CHAINS = 160
EVENTS = 80
EFFECTS = {
    name for name, tool in SPECS.items() if not (tool.read_only or tool.plan or name == ASK_HUMAN)
}
"""Tools with effects that no other chain carries out."""


def actions_of(story: Story) -> dict[str, Action]:
    """Every action that there was, as it was last."""
    found: dict[str, Action] = {}
    for decision in story.decisions:
        found |= decision.chain.actions
    found |= {one.action.id: one.action for one in story.resolved}
    return found


def unkept(story: Story) -> list[set[str]]:
    """The promises of tools with effects, as their names, that no step has kept and no tool
    elsewhere either.
    """
    chain = story.chain
    done = {one.tool for one in actions_of(story).values() if one.satisfies}
    found: list[set[str]] = []
    steps = () if chain.plan is None else chain.plan.steps
    for index, run in enumerate(chain.runs):
        for bit, names in enumerate(steps[index].promised):
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
        not_done = story.chain.end.not_done
        names = {name for line in not_done for name in line.tools}
        missing = unkept(story)
        note = f"seed {seed}: {story.chain.status} {missing} {not_done}"
        if (
            story.chain.origin is not PlanOrigin.LITERAL
        ):  # of its calls views tell, off the receipts
            assert all(names & one for one in missing), note
        seen[f"{story.chain.status} {bool(missing)}"] += 1
        if story.chain.origin is PlanOrigin.DRAFTED:
            silent = Counter(line.tool for line in not_done if line.why is WhyNot.NOT_CALLED)
            steps = story.chain.plan.steps if story.chain.plan else ()
            bounds = story.chain.bounds or NO_BOUNDS
            promises = [promise for step in steps for promise in step.promised]
            promises += [bound.tools for bound in bounds.required_tools]
            promised = Counter(map(OR.join, promises))
            assert all(promised[tool] >= count for tool, count in silent.items()), note
    assert len(seen) > 1
