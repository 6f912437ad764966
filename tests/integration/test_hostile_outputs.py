"""Hostile outputs from a model's server, over HTTP and through the real planner: a sample, some of every kind."""

from collections import Counter

import msgspec
import pytest
from redis.asyncio import Redis

from haltpoint.contracts.doors import door
from haltpoint.contracts.events import ActionProposed
from haltpoint.contracts.tools import END_STEP
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import Topology
from haltpoint.testing.script_model import ScriptedModel
from tests.integration.planning import Board, script
from tests.support import wait_until
from tests.support.hostile_outputs import KINDS, TOOLS, Hostile, hostile_outputs, only_words
from tests.unit.chain.story import Story

PLANS = {
    ThoughtKind.ACT: Plan(steps=(Step(id="s1", description="Note it and tell him", required_tools=("note", "send")),)),
    ThoughtKind.REASON: Plan(steps=(Step(id="s1", description="Note it and tell him"),)),
}
OF_EACH_KIND = 4


def sample() -> list[Hostile]:
    """The first of each kind that a script can say as they are."""
    taken: Counter[str] = Counter()
    chosen = []
    for hostile in hostile_outputs():
        if "{{" not in hostile.words and taken[hostile.kind] < OF_EACH_KIND:
            taken[hostile.kind] += 1
            chosen.append(hostile)
    return chosen


@pytest.mark.parametrize("kind", PLANS)
async def test_c6_c9_hostile_outputs_through_the_planner_have_no_effect(
    server: EmbeddedServer, redis: Redis, kind: ThoughtKind
) -> None:
    outputs = sample()
    assert {one.kind for one in outputs} == set(KINDS)
    rules = [
        {
            "times": 1,
            "say": {"content": one.words, "calls": [{"name": name, "arguments": text} for name, text in one.calls]},
        }
        for one in outputs
    ]
    topology = Topology(2)
    await topology.ensure(redis, [])
    async with AutoPipeline(redis) as calls:
        board = Board(server.url, redis, topology, calls)
        await board.know(*TOOLS)
        async with ScriptedModel(script(*rules)) as model, board.planner(model):
            thoughts = []
            for _ in outputs:
                chain = await board.chain(Task(goal="tell John"), PLANS[kind])
                name = f"{chain}.s1.t1.1"
                thoughts.append(await board.ask(chain, kind, thought_id=name, step_id="s1"))

            async def all_said() -> bool:
                return all([len(await board.replies(thought)) == 1 for thought in thoughts])

            await wait_until(all_said)
            assert len(model.requests) == len(outputs)
            replies = [(await board.replies(thought))[0] for thought in thoughts]
    for hostile, reply in zip(outputs, replies, strict=True):
        proposed = door(ActionProposed).validate_python(reply)
        story = Story(Task(goal="tell John"), *TOOLS)
        story.submit()
        story.draft(PLANS[kind])
        same = msgspec.structs.replace(proposed.data, thought_id=story.thought.thought_id)
        story.hear(msgspec.structs.replace(proposed, data=same))
        if asked_first := [one for one in story.dispatches if one.reasons]:
            assert story.dispatches == asked_first
            assert proposed.data.proposal.repaired, "a person sees the guess before it runs (C9)"
            continue
        assert story.dispatches == []
        ends = any(call.tool == END_STEP for call in proposed.data.proposal.calls)
        if not ends and (kind is ThoughtKind.ACT or not only_words(hostile)):
            assert proposed.data.proposal.shown or story.told("contract.violated")
            assert story.thought.corrections
