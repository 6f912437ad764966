"""How many chains a root may have below it, and how deep (CONTRACT I3)."""

from itertools import count
from random import Random

import pytest
from msgspec import structs

from haltpoint.chain.checks.knowledge import MOST_KNOWN
from haltpoint.chain.model.outputs import StartChild
from haltpoint.chain.model.state import FromBelow
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.known import KnownReceipt
from haltpoint.contracts.work.tasks import MOST_CHAINS, Style
from tests.support.builders import call, open_task
from tests.unit.chain.test_agents import GOAL, Tree

NAMES = ("one", "two", "three")
FILE = Agents(
    agents=tuple(
        Agent(name=name, description="d", tools=(), agents=NAMES, style=Style.REACT)
        for name in NAMES
    )
)


def whole_tree() -> Tree:
    tree = Tree(open_task(GOAL, agent="one", max_turns=100), FILE)
    tree.root.submit(read=False)
    return tree


@pytest.mark.parametrize("seed", range(50))
def test_i3_no_root_has_more_chains_than_it_may(seed: int) -> None:
    chance, tasks = Random(seed), count()
    tree = whole_tree()
    stories = [tree.root]
    while stories:
        story = stories[-1]
        if story.chain.requests:  # a person decides: three violations in a row
            story.cancel("it is enough")
        elif len(tree.stories) > 1 and chance.random() < 0.3:
            story.propose(content="Done.")
        else:
            story.propose(
                call("route", target_agent=chance.choice(NAMES), task=f"part {next(tasks)}")
            )
        if any(isinstance(order, StartChild) for order in story.last.outputs):
            stories.append(tree.begun(story.last, read=False))
        while stories and stories[-1].final_facts:
            ended = stories.pop()
            if stories:
                tree.report(ended)
    assert tree.root.final_facts
    assert len(tree.stories) <= MOST_CHAINS
    assert tree.root.last.chain.below.spent.chains == len(tree.stories) - 1


def test_c13_what_is_too_large_to_be_made_known_leaves_room_for_the_rest() -> None:
    tree = whole_tree()
    child = tree.hand_on(tree.root, "two", "part")
    small, large = ('{"id": "a"}', '{"text": "' + "x" * MOST_KNOWN + '"}')
    receipts = tuple(
        KnownReceipt(f"c~1.{n}", "find", "{}", data) for n, data in enumerate((small, large, small))
    )
    child.chain = structs.replace(child.chain, below=FromBelow(known=receipts))
    child.propose(content="Done.")
    tree.report(child)
    assert [receipt.data for receipt in tree.root.chain.below.known] == [small, small]
