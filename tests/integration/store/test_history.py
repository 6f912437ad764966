"""The failure history (CONTRACT D5): counted with what is committed, once, whatever is repeated."""

from collections import Counter
from datetime import UTC, datetime

from msgspec import structs
from redis.asyncio import Redis

from haltpoint.chain.model.outputs import Decision
from haltpoint.chain.model.state import Chain, Routing
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import thought_id
from haltpoint.contracts.doors import in_full
from haltpoint.contracts.events import ActionProposed, TaskSubmitted, ToolCompleted
from haltpoint.contracts.facts import Fact, FactType
from haltpoint.contracts.results import Below, ErrorInfo, ErrorType, Metadata, NextAction, Outcome
from haltpoint.contracts.work.routing import ROUTE, SUPERVISOR, Routed, Strategy
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import Proposal, Strike, Usage, Violation
from haltpoint.runtime.store.counting import count
from haltpoint.runtime.views.history import History
from tests.support.builders import literal_task
from tests.support.desk import Desk, desk_at

FAILED = Outcome(success=False, next_action=NextAction.ERROR, error=ErrorInfo(ErrorType.PERMISSION, "no"))


async def counted(desk: Desk) -> tuple[int, int]:
    found = await History(desk.redis, desk.topology).read(1)
    (day,) = found.days
    (row,) = found.tools
    assert (row.calls, row.failures) == (day.calls, day.failures)
    return row.calls, row.failures


async def test_d5_every_call_is_counted_once(redis: Redis) -> None:
    async with desk_at(redis) as desk:
        for _ in range(2):
            await desk.submit(literal_task(3))
        await desk.run()
        assert await counted(desk) == (6, 0)
        await desk.submit(literal_task(3))
        await desk.decide_all()
        await desk.work_all(FAILED)
        await desk.decide_all()
        assert await counted(desk) == (7, 1)


async def test_d5_what_was_counted_is_forgotten_after_a_month(redis: Redis) -> None:
    async with desk_at(redis) as desk:
        await desk.submit(literal_task(1))
        await desk.run()
        (key,) = await desk.redis.keys("*:stats:*")
        assert 30 * 86400 < await desk.redis.ttl(key) <= 31 * 86400


async def test_d5_a_history_without_calls_is_empty(redis: Redis) -> None:
    async with desk_at(redis) as desk:
        found = await History(desk.redis, desk.topology).read(30)
        assert (found.tools, found.models, len(found.days)) == ((), (), 30)


def violated(thought: str, violation: Violation, **more: str | bool) -> Fact:
    details = {"thought_id": thought, "violation": violation.value, "message": "no", "strikes": 1, **more}
    return Fact(FactType.CONTRACT_VIOLATED, details)


def counts_of(*facts: Fact, case: tuple[Strike, ...] = (), agent: str | None = None) -> Counter[str]:
    chain = Chain(id="c", task=Task(goal="x", agent=agent), case=case)
    data = ActionProposed.Data(thought_id="t", step_id="s", proposal=Proposal(), usage=Usage(model="m"))
    message = ActionProposed(id="t/reply", source="x", subject="c", data=data)
    counts: Counter[str] = Counter()
    count(counts, chain, message, Decision(chain, facts=facts))
    return counts


def test_d5_violations_are_counted_by_model_and_tool_and_strikes_by_thought() -> None:
    thought = thought_id("c", "s", 1, 1)
    facts = (
        violated(thought, Violation.BAD_ARGUMENTS, tool="send"),
        violated(thought, Violation.UNKNOWN_TOOL, tool="invented"),
        violated(thought, Violation.NO_CALL, tool="write_file"),
    )
    assert counts_of(*facts) == {
        "model:calls:m": 1,
        "model:violations:m": 3,
        "model:strikes:m": 1,
        "tool:violations:send": 1,
        "tool:strikes:send": 1,
        "tool:violations:?": 1,
        "tool:violations:write_file": 1,
    }
    again = Strike(place="s", thought_id=thought, violation=Violation.NO_CALL, message="no")
    assert "model:strikes:m" not in counts_of(*facts, case=(again,))
    told = counts_of(violated(thought, Violation.BAD_ARGUMENTS, counted=False))
    assert (told["model:violations:m"], told["model:strikes:m"]) == (1, 0)


def test_d5_a_supervisors_wrong_call_counts_for_the_tool_and_a_wrong_agent_for_none() -> None:
    facts = (
        violated("t1", Violation.UNKNOWN_TOOL, tool="returns"),
        violated("t2", Violation.NOT_ALLOWED, tool="billing", agent=True),
        violated("t3", Violation.BAD_ARGUMENTS, tool="billing", agent=True),
        violated("t4", Violation.BAD_ARGUMENTS, tool="find_order", counted=False),
    )
    told = counts_of(*facts, agent=SUPERVISOR)
    assert [name for name in told if name.startswith("tool:")] == ["tool:violations:find_order"]
    assert told["model:violations:m"] == 4


def test_d5_an_escalation_is_counted_for_what_is_missing() -> None:
    told = {"request_id": "c.r1", "reason": "no", "strikes": 3, "missing": ["send"]}
    assert counts_of(Fact(FactType.CHAIN_ESCALATED, told)) == {
        "model:calls:m": 1,
        "model:escalations:m": 1,
        "tool:escalations:send": 1,
    }


def test_d5_what_a_person_gave_is_no_call() -> None:
    given = {"tool": "send", "by": "ada", "next_action": "continue"}
    assert "tool:calls:send" not in counts_of(Fact(FactType.ACTION_COMPLETED, given))


def counts_of_agent(chain: Chain, *facts: Fact, before: Chain | None = None) -> Counter[str]:
    message = TaskSubmitted(id="c", source="x", subject="c", data=chain.task)
    counts: Counter[str] = Counter()
    count(counts, before or chain, message, Decision(chain, facts=facts))
    return counts


def test_chains_decisions_and_questions_are_counted_by_agent() -> None:
    chain = Chain(id="c", task=Task(goal="x", agent="billing"), created_at=1000, updated_at=4000)
    begun = Fact(FactType.CHAIN_STARTED, {"agent": "billing"})
    asked = Fact(FactType.REQUEST_OPENED, {"request_id": "c.r1", "kind": "input"})
    failed = Fact(FactType.CHAIN_FAILED, {"code": "HP-201"})
    assert counts_of_agent(chain, begun, asked, failed) == {
        "agent:begun:billing": 1,
        "agent:asked:billing": 1,
        "agent:ended:billing": 1,
        "agent:failures:billing": 1,
        "agent:ms:billing": 3000,
        "open:billing": 0,
        "tool:asked:?": 1,
    }
    gone = Fact(FactType.CHAIN_FAILED, {"code": "HP-216"})
    assert counts_of_agent(chain, Fact(FactType.CHAIN_STARTED, {}), gone) == {}, "there is no such agent"
    under_way = structs.replace(chain, status=ChainStatus.EXECUTING)
    assert counts_of_agent(chain, gone, before=under_way)["agent:ended:billing"] == 1, "its file is gone"
    told = Routed(target_agent="billing", strategy=Strategy.LLM, timestamp=1)
    routed = Fact(FactType.CHAIN_ROUTED, in_full(told))
    assert counts_of_agent(chain, routed) == {"agent:routed:billing": 1}
    before = structs.replace(chain, routing=Routing(decisions=1))
    assert counts_of_agent(chain, routed, before=before)["agent:rerouted:billing"] == 1


def test_an_agent_and_a_function_that_routes_are_no_tool_and_no_model() -> None:
    counts: Counter[str] = Counter()
    chain = Chain(id="c", task=Task(goal="x", agent=SUPERVISOR))
    done = Fact(FactType.ACTION_COMPLETED, {"tool": ROUTE, "next_action": "continue"})
    outcome = Outcome(success=True, next_action=NextAction.CONTINUE, metadata=Metadata(below=Below(agent="billing")))
    told = ToolCompleted(
        id="d", source="x", subject="c", data=ToolCompleted.Data(action_id="c.route.1", outcome=outcome)
    )
    count(counts, chain, told, Decision(chain, facts=(done,)))
    choice = ActionProposed.Data(thought_id="t", step_id="", proposal=Proposal())
    count(counts, chain, ActionProposed(id="t/reply", source="x", subject="c", data=choice), Decision(chain))
    assert counts == {}


def test_questions_of_routing_are_the_supervisors_and_its_wrong_names_are_no_tools() -> None:
    chain = Chain(id="c", task=Task(goal="x", agent=SUPERVISOR))
    asked = Fact(FactType.REQUEST_OPENED, {"request_id": "c.r1", "kind": "clarification"})
    wrong = violated("c.route.t1.1", Violation.NOT_ALLOWED, tool="billing", agent=True)
    assert counts_of_agent(chain, asked, wrong) == {
        "agent:asked:supervisor": 1,
        "tool:asked:supervisor": 1,
        "tool:clarified:supervisor": 1,
        "model:violations:?": 1,
        "model:strikes:?": 1,
    }


def test_i5_without_agents_nothing_is_counted_by_agent() -> None:
    chain = Chain(id="c", task=Task(goal="x"))
    facts = (FactType.CHAIN_STARTED, FactType.CHAIN_COMPLETED)
    assert counts_of_agent(chain, *map(Fact, facts)) == {}


async def test_the_history_has_a_row_for_each_agent(redis: Redis) -> None:
    async with desk_at(redis) as desk:
        assert (await History(desk.redis, desk.topology).read(1)).model_dump().keys().isdisjoint({"agents"})
        day = (datetime.now(UTC) - datetime(1970, 1, 1, tzinfo=UTC)).days
        counted = {"begun": 3, "ended": 2, "failures": 1, "ms": 5000, "routed": 3, "rerouted": 1, "asked": 4}
        fields = {f"agent:{what}:billing": number for what, number in counted.items()} | {"agent:begun:legal": 1}
        await desk.redis.hset(desk.topology.key(0, "stats", str(day)), mapping=fields)
        billing, legal = (await History(desk.redis, desk.topology).read(1)).agents
        numbers = {"chains": 3, "failures": 1, "routed": 3, "rerouted": 1, "asked": 4, "mean_ms": 2500}
        assert billing.model_dump() == {"name": "billing", **numbers}
        assert (legal.name, legal.chains, legal.mean_ms) == ("legal", 1, None)
