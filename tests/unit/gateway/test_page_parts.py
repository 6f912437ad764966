"""What pages are made of: forms out of schemas, signs that are spelt out, pictures of chains."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from haltpoint_gateway.pages.door import Typed
from haltpoint_gateway.pages.forms import fields_of, values_of
from haltpoint_gateway.pages.looks import lasting, moment, spelt, written
from haltpoint_gateway.pages.pictures import graph, timeline

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Full name"},
        "seats": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 2},
        "row": {"enum": ["A", 7]},
        "quiet": {"type": "boolean"},
        "day": {"type": "string", "format": "date"},
        "guests": {"type": "array", "items": {"type": "string"}},
        "more": {"type": "object"},
    },
    "required": ["name"],
}
NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)


def test_each_kind_of_property_has_a_field() -> None:
    fields = fields_of(SCHEMA, {"guests": ["Ann", "Bob"], "beyond": 1}, Typed(), "")
    assert [field.kind for field in fields] == [
        "text", "number", "choice", "bool", "date", "list", "json", "json",
    ]  # fmt: skip
    texts = {field.name: field.text for field in fields}
    assert texts["guests"] == "Ann\nBob"
    assert texts["seats"] == "2"
    assert texts["beyond"] == "1"
    assert [field.name for field in fields if field.required] == ["name"]


def test_what_was_typed_becomes_values_of_their_kinds() -> None:
    posted = {
        "v.name": ["Ann\r\nLee"], "v.seats": ["4"], "v.row": ["7"], "v.quiet": ["true"],
        "v.day": ["2026-11-27"], "v.guests": ["Bob\r\n\r\n Eve "], "v.more": ['{"a": 1}'],
    }  # fmt: skip
    typed = Typed(posted)
    fields = fields_of(SCHEMA, {}, typed, "v.")
    assert values_of(SCHEMA, fields, typed, "v.") == {
        "name": "Ann\nLee",
        "seats": 4,
        "row": 7,
        "quiet": True,
        "day": "2026-11-27",
        "guests": ["Bob", "Eve"],
        "more": {"a": 1},
    }


def test_an_empty_field_is_no_value_and_an_unticked_box_is_no() -> None:
    typed = Typed({"v.seats": [" "]})
    assert values_of(SCHEMA, fields_of(SCHEMA, {}, typed, "v."), typed, "v.") == {"quiet": False}


def test_what_does_not_fit_stays_as_it_was_typed_for_the_schema_to_refuse() -> None:
    typed = Typed({"v.seats": ["four"], "v.more": ["{"], "v.row": ["Z"]})
    values = values_of(SCHEMA, fields_of(SCHEMA, {}, typed, "v."), typed, "v.")
    assert values == {"seats": "four", "more": "{", "row": "Z", "quiet": False}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain <b>", "plain &lt;b&gt;"),
        ("na\u00efve \u4f60\u597d \u0434\u0430", "na\u00efve \u4f60\u597d \u0434\u0430"),
        ("p\u0430y", "U+0430"),
        ("\u202epay", "U+202E"),
        ("a\u200bb", "U+200B"),
        ("\u00a0", "U+00A0"),
        ("\uff41dmin", "U+FF41"),
        ("\x1b[2J", "U+001B"),
        ("\U0001d41a", "U+1D41A"),
    ],
)
def test_signs_that_deceive_are_spelt_out(text: str, shown: str) -> None:
    assert shown in str(spelt(text))


def test_values_are_written_as_people_read_them() -> None:
    assert written("two\nlines") == "two\nlines"
    assert written({"a": [1]}) == "{&#34;a&#34;: [1]}"
    assert "\n" in str(written({"a": "x" * 80}))
    assert moment(NOW) == (
        '<time datetime="2026-11-27T12:00:00+00:00">2026-11-27 12:00:00 UTC</time>'
    )
    assert moment(None) == ""
    assert [lasting(seconds) for seconds in (0.04, 42, 90, 3700)] == [
        "0.0 s", "42 s", "1 min 30 s", "1 h 1 min",
    ]  # fmt: skip


def at(seconds: float) -> str:
    return (NOW + timedelta(seconds=seconds)).isoformat()


def test_people_have_a_bar_of_their_own_and_a_thought_begins_where_the_last_call_ended() -> None:
    actions: list[dict[str, Any]] = [
        {"id": "c.a.1", "tool": "find", "started_at": at(2), "ended_at": at(3), "status": "done",
         "receipt": {"success": True}},
        {"id": "c.a.2", "tool": "send", "started_at": at(5), "ended_at": None, "status": "resting",
         "receipt": None},
        {"id": "c.a.3", "tool": "send", "started_at": None, "ended_at": None, "status": "asking",
         "receipt": None},
        {"id": "c.a.4", "tool": "send", "started_at": at(6), "ended_at": at(7), "status": "done",
         "receipt": {"success": False}},
    ]  # fmt: skip
    thoughts = [{"id": "t1", "at": at(2)}, {"id": "t2", "at": at(5)}, {"id": "t3", "at": None}]
    step = {"id": "a", "started_at": at(0), "actions": actions, "thoughts": thoughts}
    request = {
        "id": "c.r1",
        "kind": "confirmation",
        "action_id": "c.a.1",
        "asked_at": at(2.5),
        "closed_at": None,
    }
    chain = {"steps": [step], "requests": [request]}
    bars = timeline(chain, NOW + timedelta(seconds=10))
    assert [(bar.kind, bar.begin.second, bar.seconds) for bar in bars] == [
        ("thought", 0, 2.0),
        ("action", 2, 0.5),
        ("person", 2, 7.5),
        ("thought", 3, 2.0),
        ("resting", 5, 5.0),
        ("failed", 6, 1.0),
    ]


def test_a_step_is_one_column_behind_what_it_needs() -> None:
    def step(name: str, *needs: str) -> dict[str, Any]:
        return {"id": name, "label": "", "status": "pending", "dependencies": [*needs]}

    nodes = graph([step("a"), step("b"), step("c", "a", "b"), step("d", "a")])
    places = {name: (node.x, node.y) for name, node in nodes.items()}
    assert places == {"a": (0, 0), "b": (0, 64), "c": (200, 0), "d": (200, 64)}
