"""What the runtime says of a call (F1): one line that no value can break, forge or hide in."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from haltpoint.chain.checks.answer import MOST_NAMED, MOST_SHOWN, deed_of, deed_words
from haltpoint.chain.checks.core_tools import HUMAN_SPEC
from haltpoint.chain.model.limits import World
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.results import DeedWords, ErrorType, Metadata
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.tasks import Task
from tests.support.builders import (
    asks,
    call,
    failed,
    literal_task,
    plan,
    spec,
    writing,
)
from tests.unit.chain.story import Story, submitted

TEXT = {"type": "string"}
SEND = writing(
    "send_message",
    description="Send message. It goes out at once.",
    parameters={
        "type": "object",
        "properties": {"to": TEXT, "content": TEXT, "copies": {"default": 1}},
    },
    result_schema={"type": "object", "properties": {"name": TEXT}},
    targets=("to",),
)
SAYS = msgspec.structs.replace(SEND, says="Message to {name}: {content} ({copies}×, {{free}})")


def line(tool: ToolSpec, data: str = "{}", **arguments: Any) -> str:
    return deed_words(tool, json.dumps(arguments), data).says


def test_f1_the_authors_words_are_filled_from_arguments_defaults_and_data() -> None:
    said = line(
        SAYS,
        '{"name": "Jane", "content": "never: an argument goes first"}',
        to="u1",
        content="hello",
    )
    assert said == 'Message to "Jane": "hello" (1×, {free})'


def test_f1_what_nobody_knows_is_left_open() -> None:
    assert line(SAYS) == "Message to …: … (1×, {free})"
    assert line(SAYS, "no JSON", content="x") == 'Message to …: "x" (1×, {free})'


def test_f1_without_words_the_name_and_the_arguments_are_told() -> None:
    assert line(SEND, to="u1", copies=2) == 'Send message: to "u1", copies 2'
    assert line(SEND) == "Send message"
    many: JsonObject = {f"n{number}": number for number in range(MOST_NAMED + 1)}
    assert line(spec("count"), **many) == "Count: n0 0, n1 1, n2 2, n3 3, n4 4, …"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "true"),
        (None, "–"),
        (1.5, "1.5"),
        (["a", 7, None], '"a, 7, null"'),
        ({"a": "b"}, "\"{'a':'b'}\""),
        ([["a"]], "\"['a']\""),
        ("a\nb\u2028c\td", '"a b c d"'),
        ('" to "Bob', "\"' to 'Bob\""),
        ("\uff02`x`", "\"''x'\""),
        ("\x1b[31m", '"\\x1b[31m"'),
        ("a\u202eb\u200bc", '"a\\u202eb\\u200bc"'),
        ("\U000e0041", '"\\U000e0041"'),
        ("\u3164", '"\\u3164"'),
        ("Grüße 你好", '"Grüße 你好"'),
        ("password: hunter2", '"password: ***"'),
        ("x" * 99, f'"{"x" * (MOST_SHOWN - 1)}…"'),
    ],
)
def test_f1_a_value_is_one_quoted_line_without_secrets_and_without_anything_hidden(
    value: Any, shown: str
) -> None:
    assert line(SAYS, content=value) == f"Message to …: {shown} (1×, {{free}})"


def test_f1_what_is_named_like_a_secret_is_starred_whatever_it_holds() -> None:
    login = spec(
        "log_in",
        parameters={"type": "object", "properties": {"password": TEXT}},
        says="With {password}",
    )
    assert line(login, password='ab" and c') == "With ***"
    assert line(spec("log_in"), api_key="ab cd") == "Log in: api_key ***"
    assert line(spec("pay"), iban="DE89370400440532013000") == "Pay: iban ***3000"


def test_f1_a_line_has_an_end() -> None:
    said = line(
        spec("long", says="{a}" * 40, parameters={"type": "object", "properties": {"a": TEXT}}),
        a="x" * 80,
    )
    assert (len(said), said[-1]) == (1000, "…")


@pytest.mark.parametrize(
    ("declared", "arguments", "target"),
    [
        ({"targets": ("to",)}, {"content": "x", "to": "u1"}, "u1"),
        ({"targets": ("user_id",)}, {"user_id": 7, "name": "x"}, "7"),
        ({"targets": ("to", "email")}, {"to": "", "email": "a@b.de"}, "a@b.de"),
        ({"targets": ("recipients",)}, {"recipients": ["a@b.de", "c@d.de"]}, "a@b.de, c@d.de"),
        ({"targets": ("letters[].to",)}, {"letters": []}, None),
        (
            {"provenance": {"whom.id": ("find.id",), "door": ("find.door",)}},
            {"whom": {"id": 1}, "door": "d"},
            "1",
        ),
        ({"targets": ("to",)}, {"name": "x"}, None),
        ({"targets": ("iban",)}, {"iban": "DE89370400440532013000"}, "***3000"),
    ],
)
def test_f1_the_target_is_the_first_marked_parameter_that_is_given(
    declared: JsonObject, arguments: JsonObject, target: str | None
) -> None:
    done = deed_of(writing("send", **declared), json.dumps(arguments), "{}")
    assert done is not None
    assert done.target == target


def test_f1_only_an_effect_of_its_own_is_a_deed() -> None:
    """To read, to ask a person and to have a chain carry a skill out change nothing; an unknown
    tool may have.
    """
    skill = writing("tell", plan=plan(Step(id="a")))
    assert [deed_of(one, "{}", "{}") for one in (spec("look"), HUMAN_SPEC, skill)] == [None] * 3
    assert deed_of(World().spec("gone"), "", "") == DeedWords(says="Gone")


# ---- receipts that a person completes
# -------------------------------------------------------------------------------


def test_e5_what_a_person_says_has_happened_is_a_deed_of_theirs() -> None:
    """With the arguments that ran, not those that were asked for."""
    told = submitted(literal_task(1, "send_message", to="u1", content="hello"), SAYS)
    doubt = msgspec.structs.replace(
        failed(ErrorType.IN_DOUBT), metadata=Metadata(arguments='{"content":"HELLO"}')
    )
    told.result(doubt)
    told.answer(RequestKind.IN_DOUBT, Choice.HAPPENED, value={"name": "Jane"})
    metadata = told.receipt.metadata
    assert (metadata.by, metadata.deed) == (
        "ann",
        DeedWords(says='Message to "Jane": "HELLO" (1×, {free})'),
    )


def test_b4_a_choice_completes_a_lookup_which_is_none() -> None:
    told = submitted(literal_task(1, "note"), spec())
    told.result(asks("a"))
    told.pick("a")
    assert (told.receipt.metadata.by, told.receipt.metadata.deed) == ("ann", None)


# ---- what was not done
# -----------------------------------------------------------------------------------------------

FIND = spec("find")


def never(told: Story) -> list[tuple[str, str, str]]:
    return [(one.tool, one.says, one.why.value) for one in told.chain.end.not_done]


def test_f1_what_a_literal_plan_did_not_reach_is_not_done() -> None:
    steps = (
        Step(id="a", actions=(call("find"), call("send_message", to="u1"))),
        Step(id="b", actions=(call("find"), call("send_message", to="u2")), dependencies=("a",)),
    )
    told = submitted(Task(plan=Plan(steps=steps)), FIND, SEND)
    told.fails(ErrorType.PERMISSION)
    sends = [f'Send message: to "u{number}"' for number in (1, 2)]
    assert [says for tool, says, _ in never(told) if tool == "send_message"] == sends
    assert [tool for tool, _, _ in never(told)] == ["send_message", "find", "send_message"]


PAY = writing("pay")
SMS = writing("sms")


def cancelled(told: Story) -> None:
    told.cancel("enough")


def too_late(told: Story) -> None:
    told.due(at=told.chain.deadline)


def gives_up(told: Story) -> None:
    told.end()
    if told.chain.requests:
        told.answer(RequestKind.LEAVE_OUT, Choice.ACCEPT)
    told.say("It is over.")


@pytest.mark.parametrize("end", [cancelled, too_late, gives_up])
@pytest.mark.parametrize(
    ("step", "made", "missing"),
    [
        ({"required_tools": ("send_message",)}, "find", ["send_message"]),
        ({"required_tools": ("send_message", "pay")}, "send_message", ["pay"]),
        ({"one_of": ("pay", "sms")}, "find", ["pay or sms"]),
        ({"required_tools": ("find", "pay"), "one_of": ("find", "sms")}, "find", ["pay"]),
    ],
)
def test_f1_what_a_step_promised_and_did_not_keep_is_not_done_at_every_end(
    step: JsonObject, made: str, missing: list[str], end: Callable[[Story], None]
) -> None:
    told = submitted(Task(goal="find and pay her"), FIND, SEND, PAY, SMS)
    told.plans(Step(id="a", **step))
    told.calls(made)
    told.result()
    end(told)
    assert told.chain.status.final
    assert [one[0] for one in never(told)] == missing
    assert {one[2] for one in never(told)} == {"left_out" if end is gives_up else "not_called"}
