"""Random chains with up to five things and three questions under way: what holds after each event,
in any order.

`Story` also checks that a load would give the chain that is in memory;
`integration/test_random_chains.py` loads it.
"""

from collections import Counter
from random import SystemRandom
from typing import Final

from hypothesis import settings

from haltpoint.chain.model.limits import World
from haltpoint.chain.model.outputs import Decision, Dispatch, StartChild
from haltpoint.chain.model.state import Chain, next_due
from haltpoint.chain.model.statuses import ActionStatus, PlanOrigin, StepStatus
from haltpoint.chain.model.work import Work
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.events import TimerDue
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import Question
from haltpoint.contracts.work.tasks import Mode
from tests.support.random_chain import SPECS, Walk
from tests.support.replay import fold
from tests.unit.chain.story import Story

CHAINS: Final = 800
MORE: Final = 4000
"""Chains of one run: in the gate the same ones each time, in `make chaos` new ones."""
EVENTS: Final = 60


def reached(chain: Chain, decision: Decision, world: World) -> dict[str, bool]:
    """Whether this is one of the states that the walks have to reach, each at least once."""
    running = [one for one in chain.actions.values() if one.status is ActionStatus.DISPATCHED]
    resting = [rest for rest in chain.resting.values() if rest.until]
    under_way = Work.on(chain, "", world, 0).under_way()
    told = {fact.type for fact in decision.facts}
    stopped = bool(chain.requests)
    return {
        "five things under way": under_way >= 5,
        "three questions open": len(chain.requests) >= 3,
        "a proposal kept while stopped": stopped and any(run.here for run in chain.runs),
        "a step freed while stopped": stopped and any(run.freed for run in chain.runs),
        "resting for a retry": any(not rest.reconcile for rest in resting),
        "resting to be reconciled": any(rest.reconcile for rest in resting),
        "a card of several calls": any(question.others for question in chain.requests),
        "an approval given": bool(chain.approvals),
        "failing with calls under way": chain.failing is not None and bool(running),
        "a skill's chain under way": any(one.child for one in running),
        "hooks asked about a skill": any(
            SPECS[one.tool].hooks and not one.child for one in running
        ),
        "a person asked about a skill": any(
            SPECS[one.tool].plan and not one.child for one in running
        ),
        "a call left out before another": told
        >= {FactType.ACTION_NEVER_EXECUTED, FactType.ACTION_DISPATCHED},
        "turns used up beside a call": chain.failing is not None
        and chain.failing.error.code == "HP-208",
        "a case before a person, beside others": FactType.CHAIN_ESCALATED in told and under_way > 1,
    }


def sent_step(chain: Chain, output: Dispatch | StartChild | ThoughtRequest) -> int | None:
    """The step for which something is sent; None: the chain's own thought."""
    if isinstance(output, ThoughtRequest):
        return None if output.step_id is None else chain.graph.index[output.step_id]
    return output.action.step


def check_what_is_sent(before: Chain, decision: Decision) -> None:
    """Nothing while the chain fails, and from a question on nothing but for a step whose own
    question is closed.
    """
    after = decision.chain
    freed = {
        before.graph.index.get(one.step_id) for one in before.requests if one not in after.requests
    }
    freed |= {
        index for chain in (before, after) for index, run in enumerate(chain.runs) if run.freed
    }
    stopped = any(one in after.requests for one in before.requests)
    for output in decision.outputs:
        if isinstance(output, Dispatch | StartChild | ThoughtRequest):
            assert before.failing is None
            assert (
                not stopped
                or freed & {sent_step(after, output)}
                or (sent_step(after, output) is None and freed)
            )
        elif isinstance(output, Question):
            assert before.failing is None
            stopped, freed = True, set()


def check_side_by_side(chain: Chain, story: Story) -> None:
    """The cap, effects alone in their step, and a model's alone in its chain (C8)."""
    work = Work.on(chain, "", story.world, story.now)
    most = chain.task.parallel or story.world.policy.parallel
    steps = chain.plan.steps if chain.plan is not None else ()
    own_caps = [step.parallel or most for step in steps]
    assert work.under_way() <= max(most, *own_caps, 1)
    live = [one for one in chain.actions.values() if one.status is not ActionStatus.DONE]
    order = [(one.step, one.number) for one in live]
    assert order == sorted(order)
    for index, cap in enumerate(own_caps):
        own = [one for one in live if one.step == index]
        assert len(own) <= cap
        assert len(own) < 2 or all(SPECS[one.tool].read_only for one in own)
    effects = [
        one
        for one in live
        if one.status is ActionStatus.DISPATCHED and not SPECS[one.tool].read_only
    ]
    assert chain.origin is PlanOrigin.LITERAL or len(effects) <= 1


def check_what_is_used(chain: Chain, story: Story) -> None:
    """No budget is overshot, each question is answered once, and a chain ends once."""
    budget, policy = chain.task.budget, story.world.policy
    answered = story.each("request.answered", "request_id")
    assert len(answered) == len(set(answered))
    assert len(story.final_facts) == int(chain.status.final)
    assert (next_due(chain) == 0) == chain.status.final
    assert next_due(chain) <= chain.deadline
    assert chain.spent.turns <= min(budget.turns or policy.max_chain_turns, policy.max_chain_turns)
    assert budget.actions is None or chain.spent.actions <= budget.actions


def check_what_waits(chain: Chain, walk: Walk) -> None:
    """Something is under way or asked, or the chain wakes before its deadline; a step that asks
    waits, and one that has begun has what it depends on.
    """
    waits = list(walk.under_way())
    if chain.failing is not None:
        waits = [one for one in waits if not isinstance(one, ThoughtRequest)]
    assert waits or next_due(chain) < chain.deadline
    assert all(
        chain.runs[chain.graph.index[one.step_id]].status is StepStatus.WAITING
        for one in chain.requests
        if one.step_id
    )
    steps = () if chain.plan is None else chain.plan.steps
    for index, run in enumerate(chain.runs):
        if run.status is StepStatus.COMPLETED and (
            chain.origin is PlanOrigin.LITERAL or chain.task.mode is Mode.STRICT
        ):
            kept = (1 << len(steps[index].promised)) - 1
            assert run.receipts & kept == kept
        if run.status is StepStatus.IN_PROGRESS:
            assert all(chain.runs[one].status.done for one in chain.graph.dependencies[index])


def test_what_holds_after_every_event_of_a_random_chain() -> None:
    same = settings.default is not None and settings.default.derandomize
    first = 0 if same else SystemRandom().randrange(2**40)
    seen: Counter[str] = Counter()
    for seed in range(first, first + (CHAINS if same else MORE)):
        walk = Walk(seed)
        story = walk.story
        try:
            for _ in range(EVENTS):
                before = story.chain
                walk.step()
                assert (
                    not walk.repeat
                    or story.chain is before
                    or isinstance(story.log[-1][0].message, TimerDue)
                )
                check_what_is_sent(before, story.last)
                check_what_is_used(story.chain, story)
                seen.update(reached(story.chain, story.last, story.world))
                if story.chain.status.final:
                    break
                check_side_by_side(story.chain, story)
                check_what_waits(story.chain, walk)
            twice = [entry for entry in story.log for _ in range(2)]
            assert walk.gone or fold(story.first, twice, story.world) == story.chain
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
    print(dict(seen))
    assert not [name for name, count in seen.items() if not count], "not reached"
