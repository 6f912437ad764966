"""How the chains that a tree may have are shared among agents (CONTRACT I3)."""

from itertools import count
from random import Random

import pytest

from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.outputs import StartChild
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.intent import Intent
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.routing import SUPERVISOR, Supervisor
from haltpoint.contracts.work.tasks import MOST_CHAINS, Style, Task
from tests.support.builders import call
from tests.unit.chain.story import Story
from tests.unit.chain.test_agents import GOAL, Tree
from tests.unit.chain.test_routing import decision

NAMES = ("one", "two", "three", "four", "five")
READER = Agent(name="reader", description="Looks things up.", tools=("find_*",), style=Style.REACT)


def agents(*names: str, alone: tuple[str, ...] = ()) -> Agents:
    """A front and a supervisor for agents of which all but some may hand on to a reader."""
    front = Agent(name="front", description="Takes everything.", agents=(*names, "reader"))
    own = (
        Agent(name=name, description="d", tools=(), style=Style.REACT, agents=() if name in alone else ("reader",))
        for name in names
    )
    return Agents(agents=(front, *own, READER), supervisor=Supervisor(agents=names))


def begun(tree: Tree, story: Story | None = None) -> list[Story]:
    """The chains of agents that a chain, the root, has just begun."""
    last = (story or tree.root).last
    number = sum(isinstance(one, StartChild) for one in last.outputs)
    return [tree.begun(last, which) for which in range(number)]


def chains_left(story: Story) -> int:
    assigned = story.chain.task.assigned
    return assigned.chains - story.chain.below.chains if assigned else 0


def shares(stories: list[Story]) -> list[int]:
    return [one.chain.task.assigned.chains for one in stories if one.chain.task.assigned]


def routed(parallel: int, file: Agents, *names: str) -> Tree:
    tree = Tree(Task(goal=GOAL, agent=SUPERVISOR, parallel=parallel), file)
    tree.root.submit(read=False)
    tree.root.read(Intent())
    tree.root.take(decision(*names))
    return tree


def test_i3_agents_that_begin_together_share_the_chains_and_all_may_hand_on() -> None:
    tree = routed(5, agents(*NAMES), *NAMES)
    children = begun(tree)
    assert shares(children) == [2, 2, 2, 2, 3]
    for child in children:
        assert tree.hand_on(child, "reader", "Look").chain.task.agent == "reader"
    assert len(tree.stories) == 11


def test_i3_agents_that_hand_nothing_on_need_no_share_but_are_chains() -> None:
    assert shares(begun(routed(3, agents(*NAMES, alone=("one", "three")), "one", "two", "three"))) == [0, 8, 0]


@pytest.mark.parametrize(("parallel", "found"), [(1, [9]), (2, [5, 6]), (3, [4, 4, 4])])
def test_i3_only_agents_that_begin_together_share(parallel: int, found: list[int]) -> None:
    assert shares(begun(routed(parallel, agents(*NAMES), *NAMES[: parallel + 1]))) == found


@pytest.mark.parametrize("own", [None, 5])
def test_i3_agents_of_a_literal_plan_share_the_chains_in_one_step_and_in_several(own: int | None) -> None:
    calls = [call(name, task=name) for name in NAMES]
    steps = [Step(id=one.tool, actions=(one,)) for one in calls] if own is None else [Step("s", actions=tuple(calls))]
    task = Task(goal=GOAL, agent="front", parallel=None if own else 5)
    plan = Plan(steps=tuple(Step(id=one.id, actions=one.actions, parallel=own) for one in steps))
    tree = Tree(Task(goal=GOAL, agent="front", plan=plan, parallel=task.parallel), agents(*NAMES))
    tree.root.submit()
    assert shares(begun(tree)) == [2, 2, 2, 2, 3]


def test_i3_an_agent_without_a_share_reads_why_it_may_not_hand_on() -> None:
    tree = routed(5, agents(*NAMES), *NAMES)
    child = begun(tree)[0]
    for number in range(2):
        below = tree.hand_on(child, "reader", f"Look {number}")
        below.propose(content="Nothing.")
        tree.report(below)
    tree.look(child).propose(call("reader", task="Look once more"))
    (fault,) = child.thought.corrections
    words = "reader cannot take it: of the 20 chains of a task none is left for this agent. Continue without it."
    assert fault.message == words


@pytest.mark.parametrize("seed", range(200))
def test_i3_no_tree_has_more_chains_than_it_may_and_each_share_is_enough_where_there_are_enough(seed: int) -> None:
    chance, tasks = Random(seed), count()
    file = Agents(
        agents=tuple(
            Agent(
                name=name,
                description="d",
                agents=NAMES if name == "one" or chance.random() < 0.8 else (),
                tools=("find_*",),
            )
            for name in NAMES
        )
    )
    most = chance.randint(1, 6)
    tree = Tree(
        Task(goal=GOAL, agent="one", style=Style.REACT, max_turns=100, parallel=most), file, Policy(actions_per_turn=6)
    )
    tree.root.submit(read=False)
    tree.root.read(Intent())
    idle = [tree.root]
    while idle:
        story = chance.choice(idle)
        left = chains_left(story)
        if story.chain.requests:  # a person decides: three violations in a row
            story.cancel("it is enough")
        elif len(tree.stories) > 1 and chance.random() < 0.4:
            story.propose(content="Done.")
        else:
            named = chance.sample(NAMES, chance.randint(1, 5))
            tree.look(story).propose(*(call(name, task=f"part {next(tasks)}") for name in named))
        heard: Story | None = story
        while heard is not None:
            new = begun(tree, heard)
            able = [one for one in new if (agent := file.named(one.chain.task.agent)) and agent.agents]
            assert 0 not in shares(able) or left < 2 * len(new) + 1
            idle = [one for one in (*idle, *new) if one is not heard]
            above = tree.stories.get(heard.chain.id.rpartition("~")[0])
            if not heard.final_facts:
                above, waits = None, any(heard.chain.runs[0].pending)
                idle += [] if waits else [heard]
            elif above is not None:
                left = chains_left(above)
                tree.report(heard)
            heard = above
    assert tree.root.final_facts
    assert len(tree.stories) <= MOST_CHAINS
    assert tree.root.last.chain.below.chains == len(tree.stories) - 1
