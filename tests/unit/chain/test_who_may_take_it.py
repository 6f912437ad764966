"""Who may get a task that a model routes (CONTRACT I2, I3): what a person may choose is what the
model may name, and where the rounds and turns of routing end.
"""

from dataclasses import replace

from msgspec import structs

from haltpoint.chain.checks.agents import with_agents
from haltpoint.contracts.people.humans import RequestKind
from tests.unit.chain.test_agents import TOOLS
from tests.unit.chain.test_routing import (
    begun,
    decision,
    routing,
)

# ---- what a person may choose
# ----------------------------------------------------------------------------------------


def test_i2_where_no_chain_is_left_there_is_no_agent_to_choose() -> None:
    tree = routing(max_tool_retries=0)
    own = tree.root.chain.task.handed.assigned
    assert own is not None
    handed = structs.replace(tree.root.chain.task.handed, assigned=structs.replace(own, chains=0))
    task = structs.replace(tree.root.chain.task, handed=handed)
    tree.root.chain = structs.replace(tree.root.chain, task=task)
    tree.root.propose(content="Billing.")
    (asked,) = tree.root.questions
    assert (asked.kind, asked.options) == (RequestKind.ESCALATION, ())
    assert asked.question.endswith("(in its work: it named no agent)"), "it had no rounds of tools"


def test_i3_an_agent_that_left_the_file_while_a_person_thinks_gets_nothing() -> None:
    tree = routing(threshold=0.7)
    tree.root.take(decision("billing", sure=0.1))
    fewer = structs.replace(tree.file, agents=tree.file.agents[:1])
    tools = with_agents(TOOLS, fewer, tree.root.chain.task)
    tree.root.world = replace(tree.root.world, agents=fewer, tools=tools)
    tree.root.answer(RequestKind.CLARIFICATION, option="billing")
    assert (begun(tree.root), tree.root.told("chain.routed")) == ([], [])
    (fault,) = tree.root.thought.corrections
    assert '"target_agent":"technical"' in fault.form
