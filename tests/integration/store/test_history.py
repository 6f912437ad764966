"""The failure history: counted with what is committed, once, whatever is repeated."""

from collections import Counter

from msgspec import structs

from haltpoint.chain.model.outputs import Decision
from haltpoint.chain.model.state import Chain, StrikeRow
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import thought_id
from haltpoint.contracts.events import ActionProposed, Message, TaskSubmitted, ToolCompleted
from haltpoint.contracts.facts import Fact, FactType
from haltpoint.contracts.people.humans import Question, RequestKind
from haltpoint.contracts.results import Below, ErrorInfo, ErrorType, Metadata, NextAction, Outcome
from haltpoint.contracts.work.routing import ROUTE, SUPERVISOR
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import Proposal, Strike, Usage, Violation
from haltpoint.runtime.store.counting import Total, count, read_totals
from haltpoint.runtime.views.history import History
from tests.support.builders import literal_task
from tests.support.desk import Desk

FAILED = Outcome(
    success=False, next_action=NextAction.ERROR, error=ErrorInfo(ErrorType.PERMISSION, "no")
)
BUSY = Outcome(
    success=False,
    next_action=NextAction.ERROR,
    error=ErrorInfo(ErrorType.RATE_LIMIT, "slow down", recoverable=True),
    metadata=Metadata(limit="one a second"),
)
CHAIN = Chain(id="c", task=Task(goal="x"))
OF_BILLING = Chain(id="c", task=Task(goal="x", agent="billing"))
OF_SUPERVISOR = Chain(id="c", task=Task(goal="x", agent=SUPERVISOR))
SUBMITTED = TaskSubmitted(id="c", source="x", subject="c", data=CHAIN.task)
BEGUN = Fact(FactType.CHAIN_STARTED, {"agent": "billing"})
FAILS = Fact(FactType.CHAIN_FAILED, {"code": "HP-201"})


def proposed(step: str = "s") -> ActionProposed:
    data = ActionProposed.Data(
        thought_id="t", step_id=step, proposal=Proposal(), usage=Usage(model="m")
    )
    return ActionProposed(id="t/reply", source="x", subject="c", data=data)


def violated(thought: str, violation: Violation, **more: str | bool) -> Fact:
    details = {
        "thought_id": thought,
        "violation": violation.value,
        "message": "no",
        "strikes": 1,
        **more,
    }
    return Fact(FactType.CONTRACT_VIOLATED, details)


def counts_of(*facts: Fact, chain: Chain = CHAIN, message: Message = SUBMITTED) -> Counter[str]:
    counts: Counter[str] = Counter()
    count(counts, chain, message, Decision(chain, facts=facts))
    return counts


async def calls_and_failures(desk: Desk) -> tuple[int, int]:
    (row,) = (await History(desk.redis, desk.topology).read(1)).tools
    return row.calls, row.failures


async def test_every_call_is_counted_once(desk: Desk) -> None:
    for _ in range(2):
        await desk.submit(literal_task(3))
    await desk.run()
    assert await calls_and_failures(desk) == (6, 0)
    await desk.submit(literal_task(3))
    await desk.decide_all()
    await desk.work_all(FAILED)
    await desk.decide_all()
    assert await calls_and_failures(desk) == (7, 1)


async def test_totals_stay_when_the_days_are_forgotten(desk: Desk) -> None:
    chain = await desk.submit(literal_task(1))
    await desk.decide_all()
    await desk.work_all(BUSY)
    await desk.decide_all()
    totals = await read_totals(desk.redis, desk.topology)
    assert totals[Total.RETRIES] == {("RATE_LIMIT", "note"): 1}
    key = desk.topology.key(desk.topology.partition(chain), "totals")
    assert await desk.redis.ttl(key) == -1


async def test_the_counters_of_a_day_are_forgotten_after_a_month(desk: Desk) -> None:
    await desk.submit(literal_task(1))
    await desk.run()
    (key,) = await desk.redis.keys("*:stats:*")
    assert 30 * 86400 < await desk.redis.ttl(key) <= 31 * 86400


async def test_calls_without_a_question_are_direct_of_a_tool_that_may_ask(desk: Desk) -> None:
    desk_day = (await desk.redis.time())[0] // 86_400
    fields = {
        "tool:calls:look": 5,
        "tool:failures:look": 1,
        "tool:clarified:look": 2,
        "tool:calls:send": 3,
    }
    await desk.redis.hset(desk.topology.key(0, "stats", str(desk_day)), mapping=fields)
    look, send = (await History(desk.redis, desk.topology).read(1, {"look", "gone"})).tools
    assert (look.direct, send.direct) == (2, 0)


async def test_chains_are_counted_by_hour_and_answers_by_the_time_that_they_took(
    desk: Desk,
) -> None:
    day = (await desk.redis.time())[0] // 86_400
    nine = {"hour:chains:9": 3, "hour:failures:9": 1, "hour:questions:9": 4}
    fields = {**nine, "hour:chains:14": 2}
    waits = {"wait:answers:4": 8, "wait:answers:64": 1, "wait:answers:1024": 1}
    key = desk.topology.key(0, "stats", str(day))
    await desk.redis.hset(key, mapping={**fields, **waits})
    stats = await History(desk.redis, desk.topology).read(1)
    hours = [(row.hour, row.chains, row.failures, row.questions) for row in stats.hours]
    assert hours == [(9, 3, 1, 4), (14, 2, 0, 0)]
    assert (stats.waited_p50, stats.waited_p95) == (4, 1024)


def test_an_end_is_counted_in_its_hour_and_an_answer_by_how_long_it_took() -> None:
    at = (24 * 20_000 + 7) * 3_600_000
    ended = structs.replace(CHAIN, updated_at=at, asked=2)
    assert counts_of(FAILS, chain=ended) == {
        "hour:chains:7": 1,
        "hour:failures:7": 1,
        "hour:questions:7": 2,
    }
    question = Question(
        request_id="c.r1", kind=RequestKind.INPUT, question="?", asked_at=at - 5000, deadline=at
    )
    asked = structs.replace(ended, requests=(question,))
    answered = Fact(FactType.REQUEST_ANSWERED, {"request_id": "c.r1", "decision": "answer"})
    counted = counts_of(answered, chain=asked)
    assert counted["wait:answers:8"] == 1
    assert counted["total:answers:input:answer:8"] == 1
    assert counted["total:waited:input:answer"] == 5
    expired = Fact(FactType.REQUEST_EXPIRED, {"request_id": "c.r1"})
    assert counts_of(expired, chain=asked)["total:undecided:input"] == 1


def test_violations_are_counted_by_model_and_tool_and_strikes_by_thought() -> None:
    thought = thought_id("c", "s", 1, 1)
    facts = (
        violated(thought, Violation.BAD_ARGUMENTS, tool="send"),
        violated(thought, Violation.UNKNOWN_TOOL, tool="invented"),
        violated(thought, Violation.NO_CALL, tool="write_file"),
    )
    assert counts_of(*facts, message=proposed()) == {
        "model:calls:m": 1,
        "model:violations:m": 3,
        "model:strikes:m": 1,
        "tool:violations:send": 1,
        "tool:strikes:send": 1,
        "tool:violations:?": 1,
        "tool:violations:write_file": 1,
        "total:violations:bad_arguments:strict": 1,
        "total:violations:unknown_tool:strict": 1,
        "total:violations:no_call:strict": 1,
        "total:strikes:bad_arguments": 1,
    }
    again = Strike(place="s", thought_id=thought, violation=Violation.NO_CALL, message="no")
    struck = structs.replace(CHAIN, row=StrikeRow(case=(again,)))
    assert "model:strikes:m" not in counts_of(*facts, chain=struck, message=proposed())
    told = counts_of(violated(thought, Violation.BAD_ARGUMENTS, counted=False), message=proposed())
    assert (told["model:violations:m"], told["model:strikes:m"]) == (1, 0)
    assert told["total:violations:bad_arguments:advisory"] == 1
    assert told["total:strikes:bad_arguments"] == 0


def test_an_escalation_is_counted_for_the_missing_tools() -> None:
    escalated = Fact(
        FactType.CHAIN_ESCALATED,
        {"request_id": "c.r1", "reason": "no", "strikes": 3, "missing": ["send"]},
    )
    assert counts_of(escalated) == {"model:escalations:?": 1, "tool:escalations:send": 1}


def test_an_outcome_that_a_person_gave_is_no_call() -> None:
    given = {"tool": "send", "by": "ada", "next_action": "continue"}
    assert counts_of(Fact(FactType.ACTION_COMPLETED, given)) == {}


def test_a_call_that_needs_a_yes_is_counted_when_it_runs() -> None:
    asks = {"tool": "drop", "next_action": NextAction.CONFIRMATION_NEEDED}
    runs = {**asks, "next_action": NextAction.CONTINUE}
    facts = [Fact(FactType.ACTION_COMPLETED, details) for details in (asks, runs)]
    assert counts_of(*facts)["tool:calls:drop"] == 1


def test_open_chains_are_counted_by_agent_from_the_moment_at_which_one_is_at_work() -> None:
    assert counts_of(BEGUN, chain=OF_BILLING) == {"open:billing": 1}
    assert counts_of(BEGUN, FAILS, chain=OF_BILLING)["open:billing"] == 0
    nameless = counts_of(Fact(FactType.CHAIN_STARTED, {}), FAILS, chain=OF_BILLING)
    assert "open:billing" not in nameless, "there is no such agent"
    under_way = structs.replace(OF_BILLING, status=ChainStatus.EXECUTING)
    assert counts_of(FAILS, chain=under_way)["open:billing"] == -1
    alone = counts_of(*map(Fact, (FactType.CHAIN_STARTED, FactType.CHAIN_COMPLETED)))
    assert set(alone) == {"hour:chains:0"}, "I5"


def test_an_agent_and_a_function_that_routes_are_no_tool_and_no_model() -> None:
    done = Fact(FactType.ACTION_COMPLETED, {"tool": ROUTE, "next_action": "continue"})
    outcome = Outcome(
        success=True,
        next_action=NextAction.CONTINUE,
        metadata=Metadata(below=Below(agent="billing")),
    )
    data = ToolCompleted.Data(action_id="c.route.1", outcome=outcome)
    completed = ToolCompleted(id="d", source="x", subject="c", data=data)
    assert counts_of(done, chain=OF_SUPERVISOR, message=completed) == {}
    assert counts_of(chain=OF_SUPERVISOR, message=proposed(step="")) == {}
