"""H1 to H4: what hooks do to calls and results, with the worker's own pipeline and a receipt store
of the test's.
"""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from haltpoint import Ctx, FromResult, ToolError, ToolResult, hook, tool
from haltpoint.chain.model.state import Action
from haltpoint.contracts.doors import door
from haltpoint.contracts.people.approval_rules import ApprovalRule
from haltpoint.contracts.people.approvals import Approval, digest_of
from haltpoint.contracts.reasons import Reason, ReasonKind, Source, SourceKind
from haltpoint.contracts.results import ErrorType, Metadata, NextAction, Outcome, Target
from haltpoint.runtime.store.receipts import Finished
from haltpoint.tools.hooks import Hook, hook_of
from haltpoint_tool_worker.registry import Registry
from haltpoint_tool_worker.running.runner import Stopped
from tests.unit.tool_worker.calling import Call, Paper, fault_of, question_of, tool_in
from tests.unit.tool_worker.hostile import RAISED, Exits, Liar

OK = NextAction.CONTINUE


@dataclass
class Told:
    """One call's receipt, and whether it was ever begun."""

    finished: Finished
    hooks: list[tuple[str, str]]
    claims: int

    @property
    def outcome(self) -> Outcome:
        return self.finished.outcome

    @property
    def data(self) -> str:
        return self.finished.data

    @property
    def metadata(self) -> Metadata:
        assert self.finished.metadata is not None
        return self.finished.metadata

    @property
    def ran(self) -> str | None:
        return self.metadata.arguments

    @property
    def sources(self) -> dict[str, Source]:
        return self.metadata.sources

    @property
    def error(self) -> str:
        return f"{fault_of(self).error_type.value}: {fault_of(self).message}"


SENT: list[tuple[str, bool]] = []


@pytest.fixture(autouse=True)
def outbox() -> list[tuple[str, bool]]:
    SENT.clear()
    return SENT


class Match(BaseModel):
    contact_id: str


@tool
async def send_message(to: str, ctx: Ctx, text: str = "hi") -> dict[str, Any]:
    SENT.append((f"{to}: {text}", ctx.confirmed))
    return {"sent": to}


@tool
async def send_copies(to: str, copy_to: str = "", text: str = "hi") -> None:
    SENT.append((f"{to}, {copy_to}: {text}", False))


@tool(read_only=True)
async def look(query: str) -> Match:
    SENT.append((query, False))
    return Match(contact_id=query)


@tool(read_only=True)
async def broken(query: str) -> str:
    raise ToolError.not_found(f"nobody is called {query}")


@tool
async def crashing(query: str = "") -> str:
    raise ToolError.server("the line went dead")


@tool
async def pay(bill: str, ctx: Ctx) -> Any:
    return {"paid": bill} if ctx.confirmed else ctx.confirm("pay", Target(id=bill), f"Pay {bill}?")


@tool
async def nag(bill: str, ctx: Ctx) -> Any:
    return ctx.confirm("nag", Target(id=bill), f"Pay {bill}?")


@tool
async def write_to(contact: Annotated[str, FromResult("look.contact_id")]) -> str:
    SENT.append((contact, False))
    return "written"


@tool(internal=True)
async def bookkeeping() -> str:
    SENT.append(("kept", False))
    return "kept"


@tool(read_only=True)
async def flood(kind: str) -> Any:
    return {"words": "x" * 2_000_000, "much": ["y" * 1000] * (17_000 if kind == "too much" else 1)}


@tool(destructive=True)
async def wipe() -> str:
    return "wiped"


TOOLS = (
    wipe,
    flood,
    send_message,
    send_copies,
    look,
    broken,
    crashing,
    pay,
    nag,
    write_to,
    bookkeeping,
)


async def run_call(
    name: str,
    arguments: str = "{}",
    *hooks: Callable[..., Any],
    approval: str | None = None,
    receipt_store: Paper | None = None,
    reasons: tuple[Reason, ...] = (),
    rules: tuple[ApprovalRule, ...] = (),
    **order: Any,
) -> Told:
    registry = Registry()
    for one in TOOLS:
        found = tool_in(one)
        registry.add(found)
    ordered = sorted(map(declared, hooks), key=lambda each: (each.order, each.name))
    registry.prepare(ordered, rules=rules)
    call = Call(
        registry,
        name,
        arguments,
        paper=receipt_store,
        action_id="c.s.9",
        approval=None if approval is None else Approval(digest=approval),
        reasons=reasons or None,
        **order,
    )
    finished = await call.receipt()
    metadata = finished.metadata
    assert metadata is not None
    told = [
        (each.name.rpartition(".")[2].rpartition(":")[2], each.verdict.value)
        for each in metadata.hooks
    ]
    return Told(finished, told, call.paper.claims)


def declared(function: Callable[..., Any]) -> Hook:
    found = hook_of(function)
    assert found is not None
    return found


def pre(
    answer: Callable[[hook.Call], Any], *, name: str = "check", tools: Any = "*", **more: Any
) -> Callable[..., Any]:
    """A pre-hook that answers so."""

    async def check(call: hook.Call, ctx: Ctx) -> Any:
        return answer(call)

    check.__qualname__ = name
    return hook.pre(tools=tools, **more)(check)


def post(
    answer: Callable[[ToolResult], Any], *, name: str = "review", tools: Any = "*", **more: Any
) -> Any:
    """A post-hook that answers so."""

    def review(call: hook.Call, result: ToolResult, ctx: Ctx) -> Any:
        return answer(result)

    review.__qualname__ = name
    return hook.post(tools=tools, **more)(review)


TO_ANN = '{"to": "ann"}'


# ---- verdicts ----


@pytest.mark.parametrize("answer", [None, hook.allow()])
async def test_h1_allow_and_none_let_a_call_go_on(answer: object) -> None:
    told = await run_call("send_message", TO_ANN, pre(lambda _: answer))
    assert told.outcome.success
    assert SENT == [("ann: hi", False)]
    assert told.hooks == [("check", "allow")]


@pytest.mark.parametrize(
    "arguments",
    [{"to": 7}, {"to": "x" * 70_000}, {"to": float("nan")}, 7],
)
@pytest.mark.parametrize("name", ["send_message", "look"])
async def test_h2_changed_arguments_that_do_not_fit_block_every_tool(
    name: str, arguments: Any
) -> None:
    """Run with the old ones, a call would do what the hook did not want."""
    given = TO_ANN if name == "send_message" else '{"query": "ann"}'
    if name == "look" and isinstance(arguments, dict):
        arguments = {"query" if key == "to" else key: value for key, value in arguments.items()}
    told = await run_call(name, given, pre(lambda _: hook.modify(arguments)))
    assert told.error.startswith("BLOCKED: ")
    assert "check" in told.error
    assert SENT == []
    assert told.hooks == [("check", "refused")]


@pytest.mark.parametrize("recoverable", [False, True])
async def test_h1_a_block_says_whether_the_model_may_try_something_else(recoverable: bool) -> None:
    told = await run_call(
        "send_message", TO_ANN, pre(lambda _: hook.block("ten a day", recoverable=recoverable))
    )
    assert told.error.endswith("check: ten a day")
    assert (fault_of(told).error_type, fault_of(told).recoverable) == (
        "BLOCKED",
        recoverable,
    )
    assert SENT == []


def doubt() -> ToolResult[Any]:
    error = {"error_type": "IN_DOUBT", "message": "who knows"}
    return door(ToolResult[Any]).validate_python(
        {"success": False, "next_action": "error", "error": error}
    )


# ---- order and globs ----


async def test_h1_the_first_block_ends_the_round() -> None:
    ran: list[int] = []
    told = await run_call(
        "send_message",
        TO_ANN,
        pre(lambda _: ran.append(3), name="c", order=3),
        pre(lambda _: hook.block("not on Sundays"), name="b", order=2),
        pre(lambda _: ran.append(1), name="a", order=1),
        post(lambda _: ran.append(4), name="d"),
    )
    assert told.error.endswith("b: not on Sundays")
    assert (ran, SENT, told.claims) == ([1], [], 0)
    assert told.hooks == [("a", "allow"), ("b", "block")]


async def test_h1_post_hooks_run_in_reverse() -> None:
    hooks = [post(lambda _: None, name=f"n{order}", order=order) for order in (5, -1, 30)]
    told = await run_call("send_message", TO_ANN, *hooks)
    assert [name for name, _ in told.hooks] == ["n30", "n5", "n-1"]


async def test_h1_a_later_hook_sees_what_an_earlier_one_changed_and_no_change_in_place() -> None:
    def in_place(call: hook.Call) -> None:
        call.arguments["to"] = "eve"

    seen: list[Any] = []
    await run_call(
        "send_message",
        TO_ANN,
        pre(in_place, name="a", order=1),
        pre(lambda call: hook.modify({**call.arguments, "text": "bye"}), name="b", order=2),
        pre(
            lambda call: seen.append((call.call_type, call.tool, call.arguments)), name="c", order=3
        ),
    )
    assert seen == [("tool", "send_message", {"to": "ann", "text": "bye"})]
    assert SENT == [("ann: bye", False)]


async def test_r_a_hook_cannot_change_the_context_of_the_tool() -> None:
    @hook.pre(tools="*")
    def forging(call: hook.Call, ctx: Ctx) -> None:
        ctx.confirmed = True
        ctx.context["to"] = "eve"  # type: ignore[index]

    context = {"to": "ann"}
    await run_call("send_message", TO_ANN, forging, context=context)
    assert SENT == [("ann: hi", False)]
    assert context == {"to": "ann"}


# ---- failures ----


@pytest.mark.parametrize("what", ["exit", "exits"])
@pytest.mark.parametrize("security", [True, False])
@pytest.mark.parametrize("name", ["send_message", "look"])
async def test_h2_a_hook_that_raises_is_closed_for_effects_and_security_and_open_else(
    name: str, security: bool, what: str
) -> None:
    @hook.pre(tools="*", security=security)
    async def check(call: hook.Call, ctx: Ctx) -> None:
        raise RAISED[what]()

    told = await run_call(name, TO_ANN if name == "send_message" else '{"query": "ann"}', check)
    if name == "look" and not security:
        assert told.outcome.success
        assert told.hooks == [("check", "passed")]
    else:
        assert told.error.startswith(f"BLOCKED: {name} was not called: hook ")
        assert "check failed: " in told.error
        assert (SENT, told.claims, told.hooks) == ([], 0, [("check", "refused")])


NO_VERDICTS = {
    "words": lambda: "no",
    "no words": lambda: hook.ask(""),
    "liar": Liar,
    "exits": Exits,
}


@pytest.mark.parametrize("what", NO_VERDICTS)
async def test_h2_an_answer_that_is_no_verdict_is_a_failure(what: str) -> None:
    check = pre(lambda _: NO_VERDICTS[what]())
    told = await run_call("send_message", TO_ANN, check)
    assert "check returned a value that " in told.error
    assert (await run_call("look", '{"query": "ann"}', check)).outcome.success
    assert SENT == [("ann", False)]


async def test_h2_a_hook_has_its_own_time_limit() -> None:
    @hook.pre(tools="*", timeout=0.05)
    async def forever(call: hook.Call, ctx: Ctx) -> None:
        await asyncio.Event().wait()

    told = await run_call("send_message", TO_ANN, forever)
    assert told.error.endswith("forever did not answer within 0.05 s")
    assert (await run_call("look", '{"query": "ann"}', forever)).hooks == [("forever", "passed")]


async def test_r_hooks_have_no_more_time_than_their_call() -> None:
    @hook.pre(tools="*", timeout=60)
    async def slow(call: hook.Call, ctx: Ctx) -> None:
        await asyncio.sleep(30)

    told = await run_call("look", '{"query": "ann"}', slow, seconds=0.2)
    assert told.error == "TIMEOUT: the deadline had passed before it could begin"
    assert SENT == []


# ---- ask ----


def sure(_: object) -> hook.Ask:
    return hook.ask("It is 3 am there. Send anyway?", preview="to Ann")


async def test_h1_a_hook_asks_and_an_approval_of_this_call_lets_it_run() -> None:
    asked = await run_call("send_message", TO_ANN, pre(sure))
    confirmation = question_of(asked)
    assert (confirmation.message, confirmation.preview) == (
        "It is 3 am there. Send anyway?",
        "to Ann",
    )
    assert confirmation.target.type == "tool"
    assert confirmation.digest == digest_of("c.s.9", "send_message", {"to": "ann"})
    assert confirmation.arguments is None
    assert (SENT, asked.claims, asked.hooks) == ([], 0, [("check", "ask")])

    told = await run_call("send_message", TO_ANN, pre(sure), approval=confirmation.digest)
    assert told.outcome.success
    assert SENT == [("ann: hi", True)]
    assert told.hooks == [("check", "ask")]


async def test_h1_a_person_is_asked_about_what_would_run_after_all_hooks() -> None:
    texts = iter(["bye", "bye", "adieu"])
    hooks = (
        pre(sure, name="a", order=1),
        pre(lambda call: hook.modify({**call.arguments, "text": next(texts)}), name="b", order=2),
        pre(lambda _: hook.ask("And who pays?"), name="c", order=3),
    )
    asked = question_of(await run_call("send_message", TO_ANN, *hooks))
    assert asked.arguments == '{"to":"ann","text":"bye"}'
    assert asked.message == "It is 3 am there. Send anyway? And who pays?"

    told = await run_call("send_message", TO_ANN, *hooks, approval=asked.digest)
    assert told.hooks == [("a", "ask"), ("b", "modify"), ("c", "ask")]
    assert SENT == [("ann: bye", True)]
    again = await run_call(
        "send_message", TO_ANN, *hooks, approval=asked.digest
    )  # other arguments than were shown
    assert question_of(again).digest != asked.digest
    assert question_of(again).reasons[-1].kind is ReasonKind.CHANGED
    assert len(SENT) == 1


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (
            {"to": "eve", "text": "x"},
            'send_copies will run with to = "eve". A hook of the worker wrote this value.',
        ),
        ({"to": "ann", "text": "new"}, "?"),
    ],
)
async def test_g5_a_reason_about_a_value_that_a_hook_has_changed_names_what_would_run(
    written: dict[str, Any], words: str
) -> None:
    changed = pre(lambda _: hook.modify(written))
    before = {"to": "ann", "copy_to": "bob", "text": "x"}
    about = Reason(kind=ReasonKind.TARGET, words="?", parameter="to", value="ann")
    others = Reason(kind=ReasonKind.UNASKED, words="Nothing asks for it.")
    finished = await run_call("send_copies", json.dumps(before), changed, reasons=(about, others))
    asked = question_of(finished)
    assert [reason.words for reason in asked.reasons] == [words, others.words]
    assert [reason.value for reason in asked.reasons[:1]] == [written["to"]]


async def test_h1_a_hook_sees_where_values_come_from_and_what_one_wrote_is_a_hooks() -> None:
    seen: list[dict[str, str]] = []

    def notes(call: hook.Call) -> None:
        seen.append({place: source.source.value for place, source in call.sources.items()})

    changed = pre(
        lambda call: hook.modify({**call.arguments, "to": "eve", "copy_to": "ann"}),
        name="b",
        order=2,
    )
    hooks = (pre(notes, name="a", order=1), changed, pre(notes, name="c", order=3))
    known = {"to": Source(source=SourceKind.GOAL)}
    told = await run_call("send_copies", '{"to": "ann", "text": "x"}', *hooks, sources=known)
    assert told.outcome.success
    assert seen == [{"to": "goal"}, {"to": "hook", "copy_to": "goal"}]
    assert {place: source.source.value for place, source in told.sources.items()} == seen[1]


async def test_b2_a_tools_own_question_is_bound_to_its_call_too() -> None:
    asked = question_of(await run_call("pay", '{"bill": "b1"}'))
    assert asked.digest == digest_of("c.s.9", "pay", {"bill": "b1"})
    assert (await run_call("pay", '{"bill": "b1"}', approval=asked.digest)).data == '{"paid":"b1"}'
    assert (
        await run_call("pay", '{"bill": "b2"}', approval=asked.digest)
    ).outcome.confirmation is not None


async def test_g5_a_tool_that_asks_again_although_approved_has_an_error_in_its_code() -> None:
    asked = question_of(await run_call("nag", '{"bill": "b1"}'))
    assert [(reason.kind.value, reason.words) for reason in asked.reasons] == [("tool", "Pay b1?")]
    fault = fault_of(await run_call("nag", '{"bill": "b1"}', approval=asked.digest))
    assert (fault.error_type, fault.recoverable) == (ErrorType.SERVER, False)
    assert fault.message == (
        "nag asks again about a call that a person has approved. Its code must continue "
        "when ctx.confirmed is true."
    )


# ---- post ----


async def test_h1_post_hooks_see_errors_and_changes_in_place_do_not_count() -> None:
    def spoil(result: ToolResult) -> None:
        result.data["contact_id"] = "eve"

    assert (await run_call("look", '{"query": "ann"}', post(spoil))).data == '{"contact_id":"ann"}'
    seen: list[str] = []
    told = await run_call(
        "broken",
        '{"query": "ann"}',
        post(lambda result: seen.append(result.error.error_type) if result.error else None),
    )
    assert seen == [ErrorType.NOT_FOUND]
    assert told.error == "NOT_FOUND: nobody is called ann"


async def test_e5_no_hook_sees_or_settles_a_doubt() -> None:
    seen: list[object] = []
    told = await run_call("crashing", "{}", post(seen.append))
    assert told.error.startswith("IN_DOUBT: ")
    assert (seen, told.hooks) == ([], [])


@pytest.mark.parametrize("name", ["send_message", "look"])
@pytest.mark.parametrize("answer", [Ctx().confirm("x", Target(id="x"), "Again?"), doubt(), 7])
async def test_b1_what_a_post_hook_gives_is_validated(name: str, answer: Any) -> None:
    told = await run_call(
        name, TO_ANN if name == "send_message" else '{"query": "ann"}', post(lambda _: answer)
    )
    if name == "look":
        assert (told.data, told.hooks) == ('{"contact_id":"ann"}', [("review", "passed")])
    else:
        assert told.error.startswith(
            "BLOCKED: send_message was called, but its result is withheld: "
        )
        assert told.hooks == [("review", "refused")]
    assert len(SENT) == 1


@pytest.mark.parametrize("words", ["a card number", ""])
async def test_h1_a_post_hook_may_withhold_a_result(words: str) -> None:
    ran: list[int] = []
    told = await run_call(
        "look",
        '{"query": "ann"}',
        post(lambda _: hook.block(words), order=2),
        post(lambda _: ran.append(1), name="later", order=1),
    )
    assert told.error.startswith("BLOCKED: ")
    assert (ran, told.hooks, told.data) == ([], [("review", "block")], "{}")


async def test_h1_what_a_call_gave_whose_chain_is_cancelled_is_reviewed_all_the_same() -> None:
    calls: list[Call] = []

    @tool
    async def slow() -> str:
        calls[0].job.stop(Stopped.CANCELLED)
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        return "sent"

    registry = Registry()
    registry.add(tool_in(slow))
    registry.prepare([declared(post(lambda _: None))])
    calls.append(Call(registry, "slow"))
    assert (await calls[0].receipt()).data == '{"value":"sent"}'


# ---- built in ----


async def test_h3_internal_tools_are_refused_by_the_worker_too() -> None:
    told = await run_call("bookkeeping", "{}")
    assert told.error == "BLOCKED: bookkeeping is internal: no plan and no model may call it"
    assert (SENT, told.claims, told.hooks) == ([], 0, [("internal", "block")])


async def test_h3_wrong_arguments_are_refused_before_any_hook() -> None:
    ran: list[object] = []
    told = await run_call("send_message", '{"to": 7}', pre(ran.append))
    assert told.error.startswith("VALIDATION: ")
    assert (ran, told.hooks) == ([], [("arguments", "block")])


async def test_h3_what_no_worker_can_run_is_refused() -> None:
    too_large = json.dumps({"to": "x" * 70_000})
    assert (
        await run_call("send_message", too_large)
    ).error == "VALIDATION: the arguments have more than 65536 bytes"
    assert (await run_call("send_message", "not json")).error.startswith("VALIDATION: ")
    late = await run_call("send_message", TO_ANN, seconds=-1.0)
    assert late.error == "TIMEOUT: the deadline had passed before it could begin"
    assert SENT == []


def found(contact: str, **more: Any) -> Action:
    outcome = Outcome(success=True, next_action=OK)
    given: dict[str, Any] = {
        "tool": "look",
        "data": f'{{"contact_id":"{contact}"}}',
        "outcome": outcome,
    } | more
    return Action("c.s.1", 0, 1, arguments="{}", **given)


@pytest.mark.parametrize(
    ("receipt", "allowed"),
    [(found("u1"), True), (found("u2"), False), (found("u1", tool="x"), False)],
)
@pytest.mark.parametrize("changes", [(), (pre(lambda _: hook.modify({"contact": "u1"})),)])
async def test_c6_a_value_without_an_origin_is_blocked_whoever_wrote_it(
    receipt: Action, changes: tuple[Any, ...], *, allowed: bool
) -> None:
    sent = "u9" if changes else "u1"
    told = await run_call(
        "write_to",
        json.dumps({"contact": sent}),
        *changes,
        origins=("c.s.1",),
        receipt_store=Paper({"c.s.1": receipt}),
    )
    assert told.outcome.success is allowed
    assert [("u1", False)] * allowed == SENT
    if not allowed:
        words = "BLOCKED: write_to was not called: its contact must come from "
        assert (told.error.startswith(words), told.claims) == (True, 0)
        assert told.hooks[-1] == ("provenance", "block")


@pytest.mark.parametrize(
    ("kind", "hooks", "full", "kept"),
    [
        ("much", (), False, True),
        ("much", (), True, False),
        ("much", (post(lambda _: None),), False, False),
    ],
)
async def test_h3_a_result_that_was_cut_is_kept_whole_unless_hooks_review_it(
    kind: str, hooks: tuple[Any, ...], full: bool, kept: bool
) -> None:
    paper = Paper(full=full)
    told = await run_call("flood", f'{{"kind": "{kind}"}}', *hooks, receipt_store=paper)
    assert told.outcome.success
    assert len(told.data) < 1_048_576
    assert [len(whole) > 2_000_000 for whole in paper.wholes] == [True] * kept
    assert told.metadata.whole is not None
    assert bool(told.metadata.whole) == kept
