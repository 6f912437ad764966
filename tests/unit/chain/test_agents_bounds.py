"""What binds the agents of a tree (CONTRACT I1): effects side by side, and what users and persons
say of agents.
"""

import pytest

from haltpoint.chain.model.outputs import Dispatch, StartChild
from haltpoint.contracts.people.humans import Choice
from haltpoint.contracts.reasons import ReasonKind, SourceKind
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.bounds import Bounds
from haltpoint.contracts.work.plans import Plan, ProposedCall
from haltpoint.contracts.work.tasks import Task
from tests.support.builders import ALL_LISTS, call, owing, plan, tool_step
from tests.unit.chain import test_agents as known
from tests.unit.chain.story import Story
from tests.unit.chain.test_agents import FILE, Tree, confirm, tree

MAILS = "Mail ann@shop.example hi"
FRONT = Agent(
    name="front", description="Takes everything.", agents=("post", "reader", "billing", "letters")
)
LETTERS = Agent(name="letters", description="Sends letters.", tools=("newsletter",))


@pytest.fixture
def newsletter(monkeypatch: pytest.MonkeyPatch) -> None:
    """A skill that sends a mail."""
    steps = plan(tool_step("w", call("mail", to="ann@shop.example")))
    monkeypatch.setitem(
        known.TOOLS, "newsletter", ToolSpec(name="newsletter", kind=ToolKind.SKILL, plan=steps)
    )


def side_by_side(first: str, second: str) -> tuple[Tree, bool]:
    """A plan of two steps that call these two side by side, and whether the second waits."""
    tools = [name if name in known.TOOLS else "route" for name in (first, second)]
    steps = plan(owing("a", tools[0]), owing("b", tools[1]))
    whole = Tree(
        Task(goal=MAILS, agent="front", parallel=2),
        Agents(agents=(*FILE.agents[1:], FRONT, LETTERS)),
    )
    root = whole.root
    root.submit()
    root.draft(steps, bounds=ALL_LISTS)
    one, other = root.thoughts[-2:]
    root.propose(call_of(first), thought=one)
    assert sent(root)
    root.propose(call_of(second, "again"), thought=other)
    return whole, not sent(root)


def sent(story: Story) -> list[StartChild | Dispatch]:
    return story.sends(StartChild, Dispatch)


def call_of(tool: str, words: str = "Do it") -> ProposedCall:
    said = {"mail": {"to": "ann@shop.example", "text": "hi"}, "find_order": {"query": "17"}}
    if tool in said:
        return call(tool, **said[tool])
    return call("route", target_agent=tool, task=words)


def writes_a_mail(story: Story) -> None:
    story.draft(Plan(steps=(owing("w", "mail"),)), bounds=ALL_LISTS)
    story.propose(call_of("mail"))
    story.read(Bounds())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("post", "post"),
        ("post", "mail"),
        ("mail", "post"),
        ("post", "letters"),
        ("reader", "reader"),
        ("reader", "post"),
    ],
)
@pytest.mark.usefixtures("newsletter")
def test_i3_one_agent_works_at_a_time_and_no_effect_is_under_way_beside_it(
    first: str, second: str
) -> None:
    assert side_by_side(first, second)[1]


def test_c8_a_call_that_only_reads_runs_beside_an_agent() -> None:
    assert not side_by_side("post", "find_order")[1]


def test_i3_agents_of_a_literal_plan_work_one_after_the_other_too() -> None:
    steps = [tool_step(name, call(name, task="Do it")) for name in ("reader", "post")]
    whole = Tree(Task(goal=MAILS, agent="front", plan=plan(*steps), parallel=2))
    child = whole.begun(whole.root.submit(), read=False)
    assert len(sent(whole.root)) == 1
    child.cancel("enough")
    assert child.chain.task.agent == "reader"


def test_c14_what_a_person_denied_one_agent_the_one_beside_it_may_not_do() -> None:
    whole, _ = side_by_side("post", "post")
    first = whole.begun(whole.root.decisions[-2], read=False)
    writes_a_mail(first)
    first.result(confirm(first))
    first.reject(text="no")
    first.lose(f"{first.chain.id}/timer")
    whole.report(first)
    second = whole.begun(whole.root.last, read=False)
    writes_a_mail(second)
    assert "A person denied exactly this call" in second.correction


# ---- what users and persons say
# -------------------------------------------------------------------------------------


def test_c11_a_persons_words_in_the_place_of_an_agents_task_count_as_the_users() -> None:
    whole = tree()
    child = whole.hand_on(whole.root, "post", "Write to her")
    for _ in range(3):
        child.calls("nonsense")
    child.rule(Choice.REPHRASE, text="Mail bob@shop.example")
    child.calls("mail", to="bob@shop.example")
    (order,) = sent(child)
    assert isinstance(order, Dispatch)
    assert (order.sources["to"].source, [one.kind for one in order.reasons]) == (
        SourceKind.GOAL,
        [ReasonKind.UNASKED],
    )
