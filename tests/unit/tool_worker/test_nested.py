"""Tools that call tools (CONTRACT A): what a nested call may do, what its caller hears, and what the receipt tells."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any

import msgspec
import pytest

from haltpoint import Ctx, FromResult, Option, Target, ToolError, ToolResult, hook, tool
from haltpoint.chain.checks.checked import signature_of
from haltpoint.chain.model.schemas import compiled
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import ActionStatus
from haltpoint.contracts.commands import ToolRequested
from haltpoint.contracts.people.approval_rules import ApprovalRule
from haltpoint.contracts.people.approvals import Approval, digest_of
from haltpoint.contracts.reasons import Reason, ReasonKind, Source, SourceKind
from haltpoint.contracts.results import ErrorType, Metadata, NestedCall, NextAction, Outcome
from haltpoint.runtime.observability.telemetry import Tracing
from haltpoint.runtime.store.receipts import Finished, Lease
from haltpoint.runtime.streams.topology import EntryRef
from haltpoint.tools import Tool, tool_of
from haltpoint_tool_worker.nested import MOST_CALLS
from haltpoint_tool_worker.pipeline import Pipeline
from haltpoint_tool_worker.registry import Registry
from haltpoint_tool_worker.results import progress
from haltpoint_tool_worker.running.job import Job
from haltpoint_tool_worker.running.runner import Runner
from haltpoint_tool_worker.skills.folders import skills_in
from tests.support.limits import no_effects, unlimited
from tests.unit.tool_worker.test_hooks import Paper, declared, post, pre

DONE: list[str] = []
KNOWN = Outcome(success=True, next_action=NextAction.CONTINUE, metadata=Metadata(action_id="c.find.1"))
LEFT: list[asyncio.Future[Any]] = []


class Signals:
    """`started`: the endless tool runs. `go`: the task that was left behind may call."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self.started, self.go = asyncio.Event(), asyncio.Event()


SIGNALS = Signals()


@pytest.fixture(autouse=True)
def diary() -> list[str]:
    DONE.clear()
    LEFT.clear()
    SIGNALS.renew()
    return DONE


@tool(internal=True)
async def book_keeping(entry: str, ctx: Ctx) -> dict[str, str]:
    DONE.append(f"{ctx.idempotency_key} {entry} {ctx.tenant}")
    return {"kept": entry}


@tool(internal=True, read_only=True)
def rate(currency: str) -> float:
    return {"EUR": 1.0, "USD": 0.5}[currency]


@tool(internal=True, idempotent=True)
async def upsert(entry: str) -> str:
    DONE.append(f"upserted {entry}")
    return entry


@tool(destructive=True)
async def wipe() -> None:
    DONE.append("wiped")


@tool(read_only=True, may_clarify=True)
async def which(ctx: Ctx) -> ToolResult[Any]:
    return ctx.clarify("which", "Which?", [Option(id="a", title="A")])


@tool(internal=True, timeout="50ms")
async def slow() -> None:
    await asyncio.sleep(60)


@tool(internal=True)
async def endless() -> None:
    SIGNALS.started.set()
    try:
        await asyncio.sleep(60)
    finally:
        DONE.append("stopped")


@tool(internal=True)
async def broken() -> None:
    raise ToolError.server("the line went dead", no_effect=True)


@tool(internal=True)
async def liar() -> Any:
    return {"success": True, "next_action": "error"}


@tool
async def send(to: Annotated[str, FromResult("find.id")]) -> dict[str, str]:
    return {"to": to}


@tool
async def crowded(ctx: Ctx, first: str) -> Any:
    """Another call, then a refusal."""
    await ctx.call(first, **({"entry": "x"} if first == "book_keeping" else {"currency": "EUR"}))
    raise ToolError.rate_limit("too many", retry_after=1)


@tool
async def recurse(ctx: Ctx, depth: int = 0) -> Any:
    DONE.append(f"level {depth}")
    return await ctx.call("recurse", depth=depth + 1)


@tool
async def outer(ctx: Ctx, name: str, given: dict[str, Any]) -> Any:
    """Calls whatever it is told to."""
    return await ctx.call(name, **given)


@tool(read_only=True)
async def reader(ctx: Ctx, name: str, given: dict[str, Any]) -> Any:
    return await ctx.call(name, **given)


@tool(idempotent=True)
async def again(ctx: Ctx, name: str, given: dict[str, Any]) -> Any:
    return await ctx.call(name, **given)


@tool(timeout="100ms")
async def hurried(ctx: Ctx) -> Any:
    return await ctx.call("endless")


async def call_later(ctx: Ctx) -> None:
    await SIGNALS.go.wait()
    await ctx.call("book_keeping", entry="late")


@tool(timeout="100ms")
async def leaves(ctx: Ctx, how: str) -> str:
    """Ends while one of its tasks is about to call, and another one does."""
    LEFT.append(asyncio.create_task(call_later(ctx)))
    LEFT.append(asyncio.ensure_future(ctx.call("endless")))
    await SIGNALS.started.wait()
    if how == "raises":
        raise ToolError.not_found("nothing there")
    if how == "times out":
        await asyncio.sleep(60)
    return how


@tool
async def patient(ctx: Ctx) -> Any:
    try:
        await ctx.call("broken")
    except ToolError as error:
        DONE.append(f"{error.error_type} {error.message} {error.no_effect}")
    await ctx.call("book_keeping", entry="two")
    return await asyncio.gather(*(ctx.call("rate", currency=one) for one in ("EUR", "USD")))


@tool
def in_a_thread(ctx: Ctx) -> Any:
    return ctx.call("book_keeping", entry="x")


@tool
async def tireless(ctx: Ctx) -> None:
    for _ in range(MOST_CALLS + 1):
        await ctx.call("rate", currency="EUR")


@tool(internal=True, idempotent=True)
async def part(number: int, ctx: Ctx) -> None:
    ctx.progress(number / 20, f"part {number}")


@tool
async def parts(ctx: Ctx) -> None:
    for number in range(20):
        await ctx.call("part", number=number)


TOOLS = (crowded, book_keeping, rate, upsert, wipe, which, slow, endless, broken, liar, send, recurse)
CALLERS = (outer, reader, again, hurried, leaves, patient, in_a_thread, tireless)


async def run_call(
    name: str,
    arguments: str = "{}",
    *hooks: Callable[..., Any],
    skills: Any = (),
    order: Mapping[str, Any] = {},
    paper: Paper | None = None,
    more: Sequence[Callable[..., Any]] = (),
    rules: Sequence[ApprovalRule] = (),
) -> Finished:
    registry = Registry()
    for one in (*TOOLS, *CALLERS, *more):
        found = tool_of(one)
        assert found is not None
        registry.add(found)
    for skill in skills:
        registry.add(skill)
    registry.surround([declared(one) for one in hooks], rules)
    found = registry.find(name)
    assert found is not None
    finished = await work(registry, found, paper or Paper(), arguments, order)
    assert finished is not None
    return finished


async def work(
    registry: Registry,
    found: Tool,
    paper: Paper,
    arguments: str = "{}",
    order: Mapping[str, Any] = {},
    age: Callable[[Job], None] = lambda _: None,
) -> Finished | None:
    """`age` gets the job before it runs."""
    runner = Runner()
    request = ToolRequested.Data(
        action_id="c.s.1",
        tool=found.spec.name,
        repeatable=found.spec.repeatable,
        timeout=found.spec.timeout,
        deadline=time.time_ns() // 1_000_000 + 20_000,
        tenant="acme",
        **order,
    )
    job = Job(EntryRef.of("hp:{0}:tools:default", "1-0"), request, arguments, None, 1, time.monotonic())
    age(job)
    pipeline = Pipeline(registry, paper, runner, Tracing(None), 10.0, unlimited(), no_effects())  # type: ignore[arg-type]
    finished = await pipeline.work(job, lambda *_: pytest.fail("a tool was left behind"))
    runner.close()
    return finished


def calling(name: str, given: str = "{}") -> str:
    return f'{{"name": "{name}", "given": {given}}}'


def error(finished: Finished) -> str:
    assert finished.outcome.error is not None
    return f"{finished.outcome.error.error_type.value}: {finished.outcome.error.message}"


def calls(finished: Finished) -> tuple[NestedCall, ...]:
    assert finished.metadata is not None
    return finished.metadata.calls


async def test_a_tool_calls_an_internal_one_under_a_key_of_its_own() -> None:
    finished = await run_call("outer", calling("book_keeping", '{"entry": "rent"}'))
    assert (finished.data, DONE) == ('{"kept":"rent"}', ["c.s.1/1 rent acme"])
    (told,) = calls(finished)
    assert (told.tool, told.key, told.error, told.hooks) == ("book_keeping", "c.s.1/1", None, ())


async def test_its_keys_follow_the_order_of_the_calls_and_a_failure_may_be_caught() -> None:
    finished = await run_call("patient")
    assert finished.data == '{"value":[{"value":1.0},{"value":0.5}]}'
    assert DONE == ["SERVER the line went dead False", "c.s.1/2 two acme"]
    assert [(one.tool, one.key[-2:], one.error) for one in calls(finished)] == [
        ("broken", "/1", ErrorType.SERVER),
        ("book_keeping", "/2", None),
        ("rate", "/3", None),
        ("rate", "/4", None),
    ]


@pytest.mark.parametrize(
    ("caller", "called", "given", "words"),
    [
        ("outer", "nobody", "{}", "NOT_FOUND: this worker has no tool called 'nobody'"),
        ("outer", "wipe", "{}", "BLOCKED: wipe asks a person, which a tool within a tool cannot wait for"),
        ("outer", "book_keeping", "{}", "VALIDATION: the arguments do not fit"),
        ("outer", "book_keeping", '{"entry": "x", "more": 1}', "VALIDATION: the arguments do not fit"),
        ("outer", "which", "{}", "BLOCKED: which asks a person"),
        ("reader", "book_keeping", '{"entry": "x"}', "BLOCKED: reader is declared read-only, and book_keeping is not"),
        ("reader", "upsert", '{"entry": "x"}', "BLOCKED: reader is declared read-only, and upsert is not"),
        (
            "again",
            "book_keeping",
            '{"entry": "x"}',
            "BLOCKED: again is declared idempotent, and book_keeping is neither",
        ),
    ],
)
async def test_a_nested_call_can_do_no_more_than_its_caller_has_declared(
    caller: str, called: str, given: str, words: str
) -> None:
    finished = await run_call(caller, calling(called, given))
    assert error(finished).startswith(words)
    (told,) = calls(finished)
    assert (told.tool, told.error) == (called, words.partition(":")[0])
    assert DONE == []


@pytest.mark.parametrize(("caller", "called"), [("reader", "rate"), ("again", "upsert"), ("again", "rate")])
async def test_a_caller_may_call_what_its_own_class_allows(caller: str, called: str) -> None:
    given = '{"currency": "EUR"}' if called == "rate" else '{"entry": "x"}'
    assert (await run_call(caller, calling(called, given))).outcome.success


@pytest.mark.parametrize(
    ("called", "given"), [("slow", "{}"), ("broken", "{}"), ("liar", "{}"), ("rate", '{"currency": "JPY"}')]
)
async def test_e5_a_nested_failure_that_leaves_a_doubt_is_a_doubt_of_its_caller(called: str, given: str) -> None:
    """Also where the nested tool knows that nothing happened: its caller may have done something before."""
    assert error(await run_call("outer", calling(called, given))).startswith("IN_DOUBT: outer")


@tool(internal=True)
async def odd() -> None:
    DONE.append("ordered")
    raise RuntimeError


@tool
async def smooth(ctx: Ctx, name: str) -> str:
    try:
        await ctx.call(name)
    except ToolError:
        raise ToolError.not_found("it is not there") from None
    return "fine"


@pytest.mark.parametrize("called", ["odd", "slow", "liar"])
async def test_e5_a_nested_doubt_is_told_whatever_its_caller_makes_of_the_failure(called: str) -> None:
    """Its own record and the chain's ledger say it, and no hook makes a success of it."""
    rosy = post(lambda result: msgspec.structs.replace(result, data={}), tools=called)
    finished = await run_call("smooth", f'{{"name": "{called}"}}', rosy, more=(odd, smooth))
    assert error(finished) == "NOT_FOUND: it is not there"
    assert finished.metadata is not None
    assert [one.error for one in calls(finished)] == [ErrorType.IN_DOUBT]
    assert [entry.rpartition(" ")[2] for entry in finished.metadata.effects] == ["in_doubt"]


async def test_a_call_ends_with_its_callers_time() -> None:
    finished = await run_call("hurried")
    assert error(finished).startswith("IN_DOUBT: hurried")
    assert DONE == ["stopped"]
    assert [one.tool for one in calls(finished)] == ["endless"]


@pytest.mark.parametrize("how", ["returns", "raises", "times out"])
async def test_calls_end_with_their_caller_however_it_ends(how: str) -> None:
    """What it leaves behind begins nothing more, and what runs is stopped and told."""
    finished = await run_call("leaves", f'{{"how": "{how}"}}')
    assert finished.outcome.success is (how == "returns")
    assert DONE == ["stopped"]
    (told,) = calls(finished)
    assert (told.tool, told.error) == ("endless", ErrorType.IN_DOUBT)
    SIGNALS.go.set()
    later, running = await asyncio.gather(*LEFT, return_exceptions=True)
    assert isinstance(later, ToolError)
    assert (later.error_type, later.message) == (
        ErrorType.BLOCKED,
        "book_keeping was not called: the call of leaves has ended",
    )
    assert isinstance(running, ToolError)
    assert running.error_type in ({ErrorType.IN_DOUBT, ErrorType.TIMEOUT} if how == "times out" else {told.error})
    assert DONE == ["stopped"]


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("deep", [False, True])
async def test_r8_a_nested_effect_looks_at_its_callers_lease(*, kept: bool, deep: bool) -> None:
    """The worker slept: the heartbeat has told nobody yet, and another worker may have the action."""
    asked: list[str] = []

    class Server(Paper):
        async def heartbeat(self, leases: Sequence[Lease]) -> list[bool]:
            asked.extend(one.action_id for one in leases)
            return [kept]

    jobs: list[Job] = []

    @tool
    async def sleeper(ctx: Ctx) -> Any:
        jobs[0].leased_at -= 60
        if deep:
            return await ctx.call("outer", name="book_keeping", given={"entry": "rent"})
        await ctx.call("rate", currency="EUR")  # reads only: no lease is looked at
        return await ctx.call("book_keeping", entry="rent")

    registry, found = Registry(), tool_of(sleeper)
    assert found is not None
    for one in (found, *filter(None, map(tool_of, (book_keeping, outer, rate)))):
        registry.add(one)
    finished = await work(registry, found, Server(), age=jobs.append)
    assert asked == ["c.s.1"]
    assert finished is not None
    assert (bool(DONE), finished.outcome.success) == (kept, kept)


async def test_tools_do_not_call_tools_without_end() -> None:
    finished = await run_call("recurse")
    assert error(finished) == "BLOCKED: tools call tools more than 3 deep"
    assert DONE == ["level 0", "level 1", "level 2", "level 3"]
    assert [one.key for one in calls(finished)] == ["c.s.1/1", "c.s.1/1/1", "c.s.1/1/1/1", "c.s.1/1/1/1/1"]
    assert len(calls(await run_call("tireless"))) == MOST_CALLS


async def test_a_function_that_cannot_wait_is_told_so() -> None:
    assert "ctx.call must be awaited: declare the tool with async def" in error(await run_call("in_a_thread"))


@tool
async def notify(ctx: Ctx, mailbox: str, whom: Annotated[str, Target] = "", fixed: bool = False) -> Any:
    """What it was given it hands on to tools that take a target, or a value with an origin."""
    if fixed:
        return [await ctx.call("send", to="u1"), await ctx.call("deliver", to="team@x.org")]
    if whom:
        return await ctx.call("deliver", to=whom)
    return await ctx.call("send" if "@" not in mailbox else "deliver", to=mailbox)


@tool
async def relay(ctx: Ctx, mailbox: str) -> Any:
    return await ctx.call("notify", mailbox=mailbox)


@tool
async def deliver(to: str) -> str:
    DONE.append(f"posted to {to}")
    return to


@tool(read_only=True, outward=True)
async def fetch(url: str) -> str:
    DONE.append(f"fetched {url}")
    return url


@tool(read_only=True)
async def summary(page: str, ctx: Ctx) -> Any:
    return await ctx.call("fetch", url=page)


@tool(read_only=True, outward=True)
async def visit(page: str, ctx: Ctx) -> Any:
    return await ctx.call("fetch", url=page)


@tool
async def pass_on(words: str, ctx: Ctx) -> Any:
    """Takes the target out of a text."""
    return await ctx.call("deliver", to=words.split("-")[-1].strip(" ."))


@tool
async def announce(words: str, ctx: Ctx) -> Any:
    return await ctx.call("deliver", to="alerts")


@tool
async def forward(by: str, mailbox: str, ctx: Ctx) -> Any:
    return await ctx.call("deliver", to=mailbox)


CALLING = (notify, relay, deliver, fetch, summary, visit, pass_on, announce, forward)
FOUND = {"c.find.1": Action("c.find.1", 0, 1, "find", "{}", ActionStatus.DONE, outcome=KNOWN, data='{"id": "u1"}')}


def of(kind: SourceKind, where: str = "") -> dict[str, Source]:
    return {"mailbox": Source(source=kind, where=where)}


@pytest.mark.parametrize(
    ("name", "arguments", "order", "heard"),
    [
        ("notify", {"mailbox": "x", "fixed": True}, {}, "u1"),
        ("notify", {"mailbox": "u1"}, {"sources": of(SourceKind.RESULT, "c.find.1 data.id")}, "u1"),
        ("notify", {"mailbox": "u1"}, {"sources": of(SourceKind.MODEL)}, "its to must come from find.id"),
        ("notify", {"mailbox": "u1"}, {}, "declare the parameter of its caller with FromResult too"),
        ("notify", {"mailbox": "u1"}, {"context": {"me": "u1"}}, "u1"),
        ("notify", {"mailbox": "u1"}, {"unasked": "literal"}, "u1"),
        ("relay", {"mailbox": "u1"}, {}, "its to must come from find.id"),
        ("relay", {"mailbox": "e@x.org"}, {}, "Give deliver a step of its own"),
        ("notify", {"mailbox": "e@x.org"}, {"sources": of(SourceKind.TEXT)}, "that comes from a text. Declare mailbox"),
        ("notify", {"mailbox": "e@x.org"}, {"sources": of(SourceKind.GOAL)}, "e@x.org"),
        ("notify", {"mailbox": "e@x.org"}, {"unasked": "advisory"}, "e@x.org"),
        ("notify", {"mailbox": "x", "whom": "e@x.org"}, {}, "e@x.org"),
        ("pass_on", {"words": "Hello - E@x.org."}, {}, "E@x.org"),
        ("pass_on", {"words": "e@x.org"}, {}, "Declare words of pass_on"),
        ("announce", {"words": "Two alerts today"}, {}, "alerts"),
        (
            "forward",
            {"by": "ann@x.org", "mailbox": "evil/../ann@x.org"},
            {"sources": {"by": Source(source=SourceKind.GOAL)}},
            "Declare mailbox of forward",
        ),
        ("summary", {"page": "https://x.org"}, {}, "fetch is declared outward, and summary is not"),
        ("visit", {"page": "https://x.org"}, {}, "that only the model named. Declare page of visit"),
        ("visit", {"page": "https://x.org"}, {"sources": {"page": Source(source=SourceKind.TEXT)}}, "https://x.org"),
    ],
)
async def test_c13_a_nested_value_keeps_the_source_that_it_had_at_its_caller(
    name: str, arguments: dict[str, Any], order: dict[str, Any], heard: str
) -> None:
    """What the author's own code wrote is theirs. A nested call asks no person, so it is refused."""
    finished = await run_call(name, json.dumps(arguments), order=order, paper=Paper(FOUND), more=CALLING)
    refused = finished.outcome.error
    assert heard in (refused.message if refused is not None else finished.data)
    assert (refused is None) == (" " not in heard)
    assert refused is None or DONE == []


async def test_g5_a_nested_call_does_not_ask_for_its_callers_reasons() -> None:
    reason = Reason(kind=ReasonKind.REPAIRED, words="?")
    approval = Approval(digest=digest_of("c.s.1", "notify", {"mailbox": "e@x.org"}))
    order = {"reasons": (reason,), "approval": approval}
    finished = await run_call("notify", '{"mailbox": "e@x.org"}', order=order, more=CALLING)
    assert (finished.outcome.success, DONE) == (True, ["posted to e@x.org"])


DENIED_CALL = signature_of(compiled(tool_of(deliver).spec), '{"to": "e@x.org"}')  # type: ignore[union-attr]


@pytest.mark.parametrize(("named", "done"), [("deliver", False), (DENIED_CALL, False), ("send", True)])
async def test_c12_c14_a_nested_call_is_bound_by_the_users_words_and_a_persons_denial(named: str, done: bool) -> None:
    order = {"barred": {"the goal forbids it": ("x", named)}, "unasked": "literal"}
    finished = await run_call("relay", '{"mailbox": " E@x.org"}', order=order, more=CALLING)
    assert finished.outcome.success is done
    assert bool(DONE) is done
    assert done or error(finished) == "BLOCKED: deliver was not called: the goal forbids it"


@tool
async def several(ctx: Ctx) -> None:
    """Reads, writes what it is given and in other spelling, fails before an effect, and leaves one open."""
    await ctx.call("rate", currency="EUR")
    await ctx.call("deliver", to="ann@x.org")
    await ctx.call("log_line", text="x")
    for name in ("broken", "slow"):
        with suppress(ToolError):
            await ctx.call(name)


@tool(repeats=True)
async def log_line(text: str) -> None: ...


async def test_c14_what_a_tool_did_by_calling_others_is_for_the_chains_ledger() -> None:
    """An entry for each effect that succeeded or is in doubt, under the signature of the call that was made."""
    finished = await run_call("several", more=(*CALLING, several, log_line))
    assert finished.metadata is not None
    done, doubt = finished.metadata.effects
    spec = [compiled(found.spec) for one in (deliver, slow) if (found := tool_of(one)) is not None]
    sign, at, key, mark = done.split()
    assert (sign, key, mark) == (signature_of(spec[0], '{"to": " Ann@X.org"}'), "c.s.1/2", "done")
    assert 0 < int(at) <= time.time() * 1000
    assert doubt.startswith(signature_of(spec[1], "{}"))
    assert doubt.endswith(" c.s.1/5 in_doubt")


async def test_c14_what_is_stopped_with_its_caller_is_in_doubt_for_the_ledger() -> None:
    finished = await run_call("hurried")
    assert finished.metadata is not None
    (entry,) = finished.metadata.effects
    assert entry.endswith(" c.s.1/1 in_doubt")


async def test_a_skill_with_steps_is_no_tools_to_call(tmp_path: Any) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "SKILL.md").write_text("---\nname: s\ndescription: d\n---\n")
    step = '{"steps": [{"id": "a", "required_tools": ["rate"], "actions": [{"tool": "rate", "arguments": {}}]}]}'
    (tmp_path / "s" / "plan.json").write_text(step)
    finished = await run_call("outer", calling("s"), skills=skills_in([tmp_path]))
    assert error(finished).startswith("BLOCKED: s is a skill with steps")


async def test_h1_hooks_are_around_a_nested_call() -> None:
    changed = pre(lambda call: hook.modify({"entry": call.arguments["entry"] + "!"}), tools="book_*")
    signed = post(lambda result: msgspec.structs.replace(result, data={**result.data, "by": "me"}), tools="book_*")
    finished = await run_call("outer", calling("book_keeping", '{"entry": "rent"}'), changed, signed)
    assert (finished.data, DONE) == ('{"kept":"rent!","by":"me"}', ["c.s.1/1 rent! acme"])
    assert [one.verdict.value for one in calls(finished)[0].hooks] == ["modify", "modify"]


@pytest.mark.parametrize(
    ("said", "words"),
    [(hook.block("not now"), "not now"), (hook.ask("Sure?"), "book_keeping asks a person, which a tool")],
)
async def test_h1_a_hook_blocks_a_nested_call_and_a_question_does_too(said: object, words: str) -> None:
    finished = await run_call("outer", calling("book_keeping", '{"entry": "x"}'), pre(lambda _: said, tools="book_*"))
    assert error(finished).startswith("BLOCKED")
    assert words in error(finished)
    assert DONE == []


async def test_in_a_users_test_a_function_stands_in_the_workers_place() -> None:
    async def fake(name: str, arguments: dict[str, Any]) -> Any:
        return [name, arguments]

    assert await outer(Ctx(call=fake), "rate", {"currency": "EUR"}) == ["rate", {"currency": "EUR"}]
    with pytest.raises(RuntimeError, match=r"give Ctx\(call=...\)"):
        await outer(Ctx(), "rate", {})


@pytest.mark.parametrize("unasked", ["literal", "off"])
@pytest.mark.parametrize(("kind", "refused"), [(SourceKind.TEXT, True), (SourceKind.GOAL, False)])
async def test_g4_a_rule_knows_the_sources_of_nested_calls_in_every_mode(
    unasked: str, kind: SourceKind, refused: bool
) -> None:
    """What the caller's own code writes comes from no text and no model."""
    said = {"id": "r", "tools": ["deliver"], "does": "refuse", "when": {"to": {"source": ["text", "model"]}}}
    told: dict[str, Any] = {"more": CALLING, "order": {"sources": of(kind), "unasked": unasked}}
    for rules, expected in (((), False), ((ApprovalRule.model_validate(said),), refused)):
        finished = await run_call("notify", '{"mailbox": "@ann"}', rules=rules, **told)
        assert (finished.outcome.error is not None) is expected
    fixed = {"mailbox": "x", "fixed": True}
    finished = await run_call("notify", json.dumps(fixed), rules=(ApprovalRule.model_validate(said),), **told)
    assert "team@x.org" in finished.data


@pytest.mark.parametrize(("first", "again"), [("book_keeping", False), ("rate", True)])
async def test_e2_a_call_does_not_run_again_after_what_it_has_had_others_do(first: str, again: bool) -> None:
    finished = await run_call("crowded", json.dumps({"first": first}))
    assert error(finished).startswith("RATE_LIMIT")
    assert finished.metadata is not None
    assert finished.metadata.again is again


async def test_progress_of_nested_calls_is_that_of_one_action(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PAUSE", 30.0)  # longer than a slow machine takes
    paper = Paper()
    assert (await run_call("parts", more=(part, parts), paper=paper)).outcome.success
    await asyncio.sleep(0)  # the last reports are on their way
    assert [one.text for one in paper.shown] == ["part 0"]
