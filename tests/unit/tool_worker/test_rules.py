"""G4: which rule of the policy file counts for a call, and what the worker makes of it."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haltpoint import hook
from haltpoint.contracts.people.approval_rules import ApprovalRule
from haltpoint.contracts.reasons import Source, SourceKind
from haltpoint.contracts.results import NextAction, OnTimeout
from haltpoint.contracts.tools import ToolSpec
from haltpoint_tool_worker.admission.rules import rule_for
from haltpoint_tool_worker.registry import Registry
from haltpoint_tool_worker.skills.folders import skills_in
from tests.unit.tool_worker.test_hooks import TO_ANN, pre, run_call

SPEC = ToolSpec(
    name="pay",
    parameters={
        "type": "object",
        "properties": {
            "amount": {"type": "number"},
            "iban": {"type": "string"},
            "fast": {"type": "boolean"},
            "days": {"type": "integer", "default": 30},
            "full": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
            "letters": {"type": "array", "items": {"type": "object", "properties": {"to": {"type": "string"}}}},
        },
    },
)


def rule(does: str = "ask", **said: Any) -> ApprovalRule:
    return ApprovalRule.model_validate({"id": "r", "tools": ["*"], "does": does, **said})


def holds(condition: dict[str, Any], value: Any, *, place: str = "amount", does: str = "ask") -> bool:
    arguments = {place.partition("[")[0]: value}
    return rule_for([rule(does, when={place: condition})], SPEC, None, arguments, {})[0] is not None


@pytest.mark.parametrize(
    ("condition", "yes", "no"),
    [
        ({"at_least": 100}, [100, 100.5, "100"], [99.9]),
        ({"at_most": 5}, [5, -1], [6]),
        ({"at_least": 1, "at_most": 3}, [1, 2, 3], [0, 4]),
        ({"equals": 7}, [7, 7.0, "7"], [8, True]),
        ({"equals": True}, [True], [False, 1]),
        ({"in": [1, 2]}, [1, 2], [3]),
    ],
)
def test_a_condition_holds_when_all_of_it_does(condition: dict[str, Any], yes: list[Any], no: list[Any]) -> None:
    assert [one for one in yes if not holds(condition, one)] == []
    assert [one for one in no if holds(condition, one)] == []


def test_one_value_makes_a_rule_ask_and_a_rule_passes_for_all_of_them_or_none() -> None:
    known = {"equals": "ann"}
    both, ann = [{"to": "ann"}, {"to": "eve"}], [{"to": "ann"}]
    assert holds(known, both, place="letters[].to")
    assert not holds(known, both, place="letters[].to", does="pass")
    assert holds(known, ann, place="letters[].to", does="pass")
    assert not holds(known, [], place="letters[].to", does="pass")


def test_a_text_is_searched_and_known_in_its_spellings() -> None:
    assert holds({"regex": "^de"}, "DE12", place="iban")
    assert not holds({"regex": "^fr"}, "DE12", place="iban")
    iban = "DE89 3704 0044 0532 0130 00"
    assert holds({"equals": "DE89370400440532013000"}, iban, place="iban")
    assert not holds({"equals": "DE89370400440532013000"}, iban, place="iban", does="pass")


def test_some_value_at_a_place_is_enough_and_each_place_needs_one() -> None:
    both = rule(when={"letters[].to": {"equals": "eve"}, "amount": {"at_least": 5}})
    eve = {"letters": [{"to": "ann"}, {"to": "eve"}], "amount": 5}
    assert rule_for([both], SPEC, None, eve, {})[0] is both
    assert rule_for([both], SPEC, None, {**eve, "amount": 4}, {})[0] is None
    assert rule_for([both], SPEC, None, {**eve, "letters": [{"to": "ann"}]}, {})[0] is None
    assert rule_for([both], SPEC, None, {**eve, "letters": []}, {})[0] is None
    assert rule_for([rule(when={"letters[1].to": {"equals": "eve"}})], SPEC, None, eve, {})[0] is not None
    open_ended = {"more": {"a": 1, "b": 7}}
    assert rule_for([rule(when={"more{}": {"equals": 7}})], SPEC, None, open_ended, {})[0] is not None


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=2), max_leaves=4
)


@given(value=ANYTHING, place=st.sampled_from(["iban", "amount.deeper", "letters[0].to", "gone"]))
def test_what_cannot_be_compared_never_lets_a_call_through(value: Any, place: str) -> None:
    name = place.split(".")[0].split("[")[0]
    arguments = {} if name == "gone" else {name: value}
    for condition in ({"at_least": 1}, {"source": ["model"]}):
        assert rule_for([rule("ask", when={place: condition})], SPEC, None, arguments, {})[0] is not None
        assert rule_for([rule("refuse", when={place: condition})], SPEC, None, arguments, {})[0] is not None
        assert rule_for([rule("pass", when={place: condition})], SPEC, None, arguments, {})[0] is None


def test_a_declared_default_counts_like_a_value_that_was_given() -> None:
    assert rule_for([rule(when={"days": {"at_least": 30}})], SPEC, None, {}, {})[0] is not None
    assert rule_for([rule(when={"full": {"at_least": 100}})], SPEC, None, {}, {})[0] is not None
    assert rule_for([rule(when={"days": {"source": ["model", "text"]}})], SPEC, None, {}, {})[0] is None


def test_a_source_is_that_of_the_very_value() -> None:
    by_model = rule(when={"letters[].to": {"source": ["model", "text"]}})
    letters = {"letters": [{"to": "ann"}, {"to": "eve"}]}
    known = {f"letters[{at}].to": Source(source=SourceKind.GOAL) for at in (0, 1)}
    assert rule_for([by_model], SPEC, None, letters, known)[0] is None
    guess = {**known, "letters[1].to": Source(source=SourceKind.MODEL)}
    assert rule_for([by_model], SPEC, None, letters, guess)[0] is by_model
    assert rule_for([by_model], SPEC, None, letters, {})[0] is by_model


def test_the_first_that_fits_counts_and_one_that_only_reports_does_not_end_the_search() -> None:
    fits: dict[str, Any] = {"when": {"amount": {"at_least": 1}}}
    other = rule(**fits, id="other", tenant="acme")
    trial = rule(**fits, id="trial", report_only=True)
    late = rule(**fits, id="late", report_only=True)
    passes, asks = rule("pass", **fits, id="passes"), rule(**fits, id="asks")
    found = [other, trial, late, passes, asks]
    assert rule_for(found, SPEC, None, {"amount": 1}, {}) == (passes, "trial")
    assert rule_for(found, SPEC, "acme", {"amount": 1}, {}) == (other, "")
    assert rule_for(found, SPEC, None, {"amount": 0}, {}) == (None, "")


async def test_a_rule_that_asks_is_a_reason_on_the_one_card() -> None:
    asks = rule(when={"to": {"equals": "ann"}}, reason="Letters to Ann need a yes.", expires="1h", on_timeout="deny")
    told = await run_call("send_message", TO_ANN, pre(lambda _: hook.Ask("Sure?")), rules=(asks,))
    question = told.outcome.confirmation
    assert question is not None
    assert [(one.kind.value, one.words) for one in question.reasons] == [
        ("rule", "Letters to Ann need a yes."),
        ("hook", "Sure?"),
    ]
    assert (question.expires, question.on_timeout) == (3600.0, OnTimeout.DENY)
    assert told.claims == 0


async def test_a_rule_sees_the_call_as_hooks_leave_it() -> None:
    to_eve = rule("refuse", when={"to": {"equals": "eve"}}, reason="Eve gets nothing.")
    changes = pre(lambda _: hook.Modify({"to": "eve"}))
    told = await run_call("send_message", TO_ANN, changes, rules=(to_eve,))
    assert told.error == "BLOCKED: send_message was not called: Eve gets nothing."
    assert told.hooks[-1] == ("approvals", "block")
    assert (await run_call("send_message", TO_ANN, rules=(to_eve,))).outcome.next_action is NextAction.CONTINUE


async def test_a_hooks_value_has_its_source_in_every_mode() -> None:
    hooked = rule("refuse", when={"to": {"source": ["hook"]}})
    changes = pre(lambda _: hook.Modify({"to": "eve"}))
    told = await run_call("send_message", TO_ANN, changes, rules=(hooked,), unasked="literal")
    assert told.error.startswith("BLOCKED: send_message was not called: The rule 'r' of the policy file applies")


async def test_a_rule_that_only_reports_asks_nobody_and_stands_in_the_receipt() -> None:
    told = await run_call("send_message", TO_ANN, rules=(rule("refuse", report_only=True),))
    assert told.outcome.next_action is NextAction.CONTINUE
    assert told.hooks == [("r", "would_ask")]


async def test_a_destructive_tool_asks_whatever_the_file_says() -> None:
    told = await run_call("wipe", rules=(rule("pass"),))
    assert told.outcome.confirmation is not None
    assert [one.kind.value for one in told.outcome.confirmation.reasons] == ["destructive"]
    refused = await run_call("wipe", rules=(rule("refuse"),))
    assert refused.error.startswith("BLOCKED")


def test_a_skill_with_steps_goes_to_a_worker_when_a_rule_is_about_it() -> None:
    for rules, hooks in (((), ()), ((rule(tools=["note-*"]),), ("internal", "arguments", "approvals"))):
        registry = Registry()
        registry.add(next(iter(skills_in([Path("tests/e2e/skills")]))))
        registry.surround([], rules)
        (spec,) = registry.specs
        assert spec.plan is not None
        assert spec.hooks == tuple(f"builtin:{name}" for name in hooks)
