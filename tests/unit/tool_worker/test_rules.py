"""G4: `[[approvals]]` of the policy file is a pre-hook: which rule counts for a call, and what
becomes of it.
"""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from haltpoint import hook
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.answerers import Answerers, OnTimeout
from haltpoint.contracts.people.approval_rules import ApprovalRule
from haltpoint.contracts.reasons import Source, SourceKind
from haltpoint.contracts.results import NextAction
from haltpoint.contracts.tools import ToolSpec
from haltpoint_tool_worker.admission.rules import applies
from haltpoint_tool_worker.registry import Registry
from haltpoint_tool_worker.skills import skills_in
from tests.unit.tool_worker.calling import question_of
from tests.unit.tool_worker.test_hooks import TO_ANN, pre, run_call

DEFAULTS = {"days": {"type": "integer", "default": 30}, "full": {"default": None}}
SPEC = ToolSpec(name="pay", parameters={"type": "object", "properties": DEFAULTS})


def rule(do: str = "ask", **said: Any) -> ApprovalRule:
    return ApprovalRule.model_validate({"id": "r", "tools": ["*"], "do": do, **said})


def fits(
    condition: JsonObject,
    place: str,
    arguments: JsonObject,
    do: str = "ask",
    **sources: str,
) -> bool:
    known = {name: Source(source=SourceKind(kind)) for name, kind in sources.items()}
    call = hook.Call("pay", arguments, SPEC, known)
    return applies(rule(do, when={place: condition}), call, None)


@pytest.mark.parametrize(
    ("condition", "yes", "no"),
    [
        ({"at_least": 100}, [100, 100.5, "100"], [99.9]),
        ({"at_most": 5}, [5, -1], [6]),
        ({"at_least": 1, "at_most": 3}, [1, 2, 3], [0, 4]),
        ({"equals": 7}, [7, 7.0], [8]),
        ({"in": [1, 2]}, [1, 2], [3]),
        ({"regex": "^de"}, ["DE12"], ["FR12"]),
    ],
)
def test_a_condition_holds_when_all_of_it_does(
    condition: JsonObject, yes: list[Any], no: list[Any]
) -> None:
    assert [value for value in yes if not fits(condition, "amount", {"amount": value})] == []
    assert [value for value in no if fits(condition, "amount", {"amount": value})] == []


@pytest.mark.parametrize(
    ("place", "names", "asks", "passes"),
    [
        ("letters[].to", ["ann"], True, True),
        ("letters[].to", ["ann", "eve"], True, False),
        ("letters[].to", [], True, False),
        ("letters[1].to", ["eve", "ann"], True, True),
        ("letters[1].to", ["ann", "eve"], False, False),
    ],
)
def test_one_value_makes_a_rule_ask_and_a_rule_passes_for_all_of_them(
    place: str, names: list[str], asks: bool, passes: bool
) -> None:
    letters = {"letters": [{"to": name} for name in names]}
    assert fits({"equals": "ann"}, place, letters) == asks
    assert fits({"equals": "ann"}, place, letters, "pass") == passes


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=4,
)


@given(value=ANYTHING, place=st.sampled_from(["iban", "amount.deeper", "letters[0].to", "gone"]))
def test_what_cannot_be_compared_never_lets_a_call_through(value: Any, place: str) -> None:
    name = place.split(".")[0].split("[")[0]
    arguments = {} if name == "gone" else {name: value}
    for condition in ({"at_least": 1}, {"source": ["model"]}):
        assert fits(condition, place, arguments, "ask")
        assert fits(condition, place, arguments, "refuse")
        assert not fits(condition, place, arguments, "pass")


def test_a_declared_default_counts_like_a_value_that_was_given() -> None:
    assert fits({"at_least": 30}, "days", {})
    assert fits({"at_least": 100}, "full", {}), "null is no number"
    assert not fits({"source": ["model", "text"]}, "days", {})


def test_a_source_is_that_of_the_very_value() -> None:
    letters = {"letters": [{"to": "ann"}, {"to": "eve"}]}
    by_model = {"source": ["model", "text"]}
    known = {"letters[0].to": "goal", "letters[1].to": "goal"}
    assert not fits(by_model, "letters[].to", letters, **known)
    assert fits(by_model, "letters[].to", letters, **{**known, "letters[1].to": "model"})


async def test_the_first_rule_that_fits_counts() -> None:
    other = rule("refuse", id="other", tenant="acme")
    passes, asks = rule("pass", id="passes", tools=["send_*"]), rule(id="asks")
    rules = (other, passes, asks)
    assert (
        await run_call("send_message", TO_ANN, rules=rules)
    ).outcome.next_action is NextAction.CONTINUE
    assert (await run_call("send_message", TO_ANN, rules=rules, tenant="acme")).error.startswith(
        "BLOCKED"
    )
    assert (await run_call("crashing", rules=rules)).outcome.confirmation is not None


async def test_a_rule_that_asks_is_a_reason_on_the_one_card() -> None:
    asks = rule(
        when={"to": {"equals": "ann"}},
        reason="Letters to Ann need a yes.",
        expires="1h",
        to=["finance", "ann"],
        not_requester=True,
        quorum=2,
        on_timeout="escalate:board",
    )
    told = await run_call("send_message", TO_ANN, pre(lambda _: hook.Ask("Sure?")), rules=(asks,))
    question = question_of(told)
    assert {(reason.kind.value, reason.words) for reason in question.reasons} == {
        ("rule", "Letters to Ann need a yes."),
        ("hook", "Sure?"),
    }
    assert question.expires == 3600.0
    assert question.answerers == Answerers(
        to=("finance", "ann"),
        not_requester=True,
        quorum=2,
        on_timeout=OnTimeout.ESCALATE,
        escalate_to="group:board",
    )
    assert told.claims == 0


@pytest.mark.parametrize(
    ("rules", "reports"),
    [
        ((rule(id="tried", report_only=True),), "would_ask"),
        ((rule("refuse", id="tried", report_only=True),), "would_refuse"),
        ((rule("pass", id="first"), rule(id="tried", report_only=True)), None),
        ((rule(id="tried", report_only=True), rule("pass", id="later")), "would_ask"),
    ],
)
async def test_a_rule_that_is_only_tried_is_reported_and_the_call_runs(
    rules: tuple[ApprovalRule, ...], reports: str | None
) -> None:
    told = await run_call("send_message", TO_ANN, rules=rules)
    assert told.outcome.next_action is NextAction.CONTINUE
    assert told.hooks == [("tried", reports)] * (reports is not None)


async def test_behind_a_rule_that_is_only_tried_the_next_one_counts() -> None:
    tried, counts = rule("refuse", id="tried", report_only=True), rule(id="counts")
    told = await run_call("send_message", TO_ANN, rules=(tried, counts))
    assert question_of(told).reasons[0].words == counts.words
    assert told.hooks == [("tried", "would_refuse"), ("approvals", "ask")]


async def test_a_rule_sees_the_call_as_hooks_leave_it_and_the_source_of_what_they_write() -> None:
    to_eve = rule(
        "refuse", when={"to": {"equals": "eve", "source": ["hook"]}}, reason="Eve gets nothing."
    )
    changes = pre(lambda _: hook.Modify({"to": "eve"}), order=100)
    told = await run_call("send_message", TO_ANN, changes, rules=(to_eve,))
    assert (
        told.error
        == "BLOCKED: send_message was not called: blocked by builtin:approvals: Eve gets nothing."
    )
    assert told.hooks[-1] == ("approvals", "block")
    assert (
        await run_call("send_message", TO_ANN, rules=(to_eve,))
    ).outcome.next_action is NextAction.CONTINUE


async def test_a_yes_of_some_people_is_none_for_a_rule_that_names_others() -> None:
    """An edit may lead to a call that another rule is about."""
    asked = (await run_call("send_message", TO_ANN, rules=(rule(to=["ann"]),))).outcome
    assert asked.confirmation is not None
    digest = asked.confirmation.digest
    for names, runs in ((["ann"], True), (["boss"], False)):
        told = await run_call("send_message", TO_ANN, rules=(rule(to=names),), approval=digest)
        assert told.outcome.satisfies is runs
        again = told.outcome.confirmation
        assert again is None or again.answerers.to == ("boss",)


@pytest.mark.parametrize(
    ("fault", "do", "said"),
    [
        ("greater than or equal to 1", "ask", {"quorum": 0}),
        ("is not fail, deny or escalate:GROUP", "ask", {"on_timeout": "escalate:"}),
        ("is not a name", "ask", {"on_timeout": "escalate:group:board"}),
        ("is not a name", "ask", {"to": ["group:"]}),
        ("`to` names 1", "ask", {"to": ["ann", "Ann"], "quorum": 2}),
        ("at least 3 and at most 2", "ask", {"when": {"x": {"at_least": 3, "at_most": 2}}}),
        ("has nothing to report", "pass", {"report_only": True}),
        ("only a rule that asks has quorum, to", "refuse", {"to": ["ann"], "quorum": 2}),
    ],
)
def test_what_a_rule_cannot_say_is_a_fault(fault: str, do: str, said: JsonObject) -> None:
    with pytest.raises(ValidationError, match=fault):
        rule(do, **said)


async def test_a_destructive_tool_asks_whatever_the_file_says() -> None:
    told = await run_call("wipe", rules=(rule("pass"),))
    assert [reason.kind.value for reason in question_of(told).reasons] == ["destructive"]
    refused = await run_call("wipe", rules=(rule("refuse"),))
    assert "blocked by builtin:approvals: The rule 'r' of the policy file" in refused.error


def test_a_skill_with_steps_goes_to_a_worker_when_a_rule_is_about_it() -> None:
    for rules, hooks in (
        ((), ()),
        ((rule(tools=["note-*"]),), ("approvals",)),
    ):
        registry = Registry()
        registry.add(next(iter(skills_in([Path("tests/e2e/skills")]))))
        registry.prepare((), rules=rules)
        (spec,) = registry.specs
        assert spec.plan is not None
        assert spec.hooks == tuple(f"builtin:{name}" for name in hooks)
