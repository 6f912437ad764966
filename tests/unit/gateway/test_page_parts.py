"""What pages are made of: forms out of schemas, signs that are spelt out, pictures of chains."""

import asyncio
import re
import sys
import unicodedata
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest

from haltpoint.chain.model.canonical import spelt_out
from haltpoint.contracts.views.steps import StepView
from haltpoint.contracts.views.story import StoryLine
from haltpoint.contracts.work.plans import StepType
from haltpoint_gateway.pages import live
from haltpoint_gateway.pages.door import Typed
from haltpoint_gateway.pages.forms import form_of
from haltpoint_gateway.pages.looks import lasting, moment, spelt, written
from haltpoint_gateway.pages.pictures import bars, places
from haltpoint_gateway.watchers import EVERYTHING, HEART, Watchers

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
DECEPTIVE = (
    # Invisible.
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063"
    "\u2800\u3164\ufe00\ufe0f\ufeff\uffa0\U000e0001\U000e0061"
    # Turning the text, or breaking it.
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029\u0085\u0008\u001b"
    # Spaces that are no space.
    "\u00a0\u2003\u2007\u202f\u3000"
    # Letters of another alphabet, or in another form, in a Latin word.
    "\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0456\u0455\u0458\u0501\u03bf\u03b1\u03bd\u0585\u0570\u13aa\uff41\ufb01"
    "\U0001d41a\U0001d5ba\U0001d68a\u2160\u00aa"
    # Signs that look like those between the parts of an address.
    "\uff20\uff0e\uff0f\u2215\u2044"
)
NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)


def test_each_kind_of_property_has_a_field() -> None:
    fields = form_of(SCHEMA, {"guests": ["Ann", "Bob"], "beyond": 1}, Typed(), "").fields
    assert [field.kind for field in fields] == [
        "text", "number", "choice", "bool", "date", "list", "json", "json",
    ]  # fmt: skip
    texts = {field.name: field.text for field in fields}
    assert texts["guests"] == "Ann\nBob"
    assert texts["seats"] == "2"
    assert texts["beyond"] == "1"


def test_what_was_typed_becomes_values_of_their_kinds() -> None:
    posted = {
        "v.name": ["Ann\r\nLee"], "v.seats": ["4"], "v.row": ["7"], "v.quiet": ["true"],
        "v.day": ["2026-11-27"], "v.guests": ["Bob\r\n\r\n Eve "], "v.more": ['{"a": 1}'],
    }  # fmt: skip
    assert form_of(SCHEMA, {}, Typed(posted), "v.").values() == {
        "name": "Ann\nLee",
        "seats": 4,
        "row": 7,
        "quiet": True,
        "day": "2026-11-27",
        "guests": ["Bob", "Eve"],
        "more": {"a": 1},
    }


def test_an_empty_field_is_no_value() -> None:
    typed = Typed({"v.seats": [" "], "v.quiet": [""]})
    assert form_of(SCHEMA, {"quiet": True}, typed, "v.").values() == {}


def test_what_does_not_fit_stays_as_it_was_typed_for_the_schema_to_refuse() -> None:
    typed = Typed({"v.seats": ["four"], "v.more": ["{"], "v.row": ["Z"]})
    values = form_of(SCHEMA, {}, typed, "v.").values()
    assert values == {"seats": "four", "more": "{", "row": "Z"}


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


def test_each_of_the_deceptive_signs_is_spelt_out_with_its_name() -> None:
    assert len(DECEPTIVE) >= 60
    for sign in DECEPTIVE:
        assert f">U+{ord(sign):04X}</span>pal" in str(spelt(f"pay{sign}pal")), f"U+{ord(sign):04X}"


@cache
def names_of_signs() -> list[tuple[str, str]]:
    signs = map(chr, range(sys.maxunicode + 1))
    return [(sign, unicodedata.name(sign, "")) for sign in signs]


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        (r"\bFILLER$", r"GAP FILLER|LINE FILLER"),
        (r"\bBLANK$|NULL NOTEHEAD$", ""),
        (r"JOINER$", ""),
        (r"\bSELECTOR\b", ""),
        (r"^OBJECT REPLACEMENT", ""),
    ],
)
def test_a_sign_that_draws_nothing_is_spelt_out_on_pages_and_in_a_terminal(
    name: str, drawn: str
) -> None:
    """By the names that Unicode gives: all of a kind but those of which fonts have a picture."""
    kind = {sign for sign, words in names_of_signs() if re.search(name, words)}
    shown = {sign for sign, words in names_of_signs() if drawn and re.search(drawn, words)}
    assert kind - shown
    for sign in kind - shown:
        assert f">U+{ord(sign):04X}<" in spelt(f"pay{sign}pal")
        assert spelt_out(sign).isascii()


def test_values_are_written_as_people_read_them() -> None:
    assert written("two\nlines") == "two\nlines"
    assert written({"a": [1]}) == "{&#34;a&#34;: [1]}"
    assert "\n" in str(written({"a": "x" * 80}))
    assert moment(NOW) == (
        '<time datetime="2026-11-27T12:00:00+00:00">2026-11-27 12:00:00 UTC</time>'
    )
    assert moment(None) == ""
    assert [lasting(seconds) for seconds in (0.0, 0.04, 42, 90, 190, 9000)] == [
        "0 ms", "40 ms", "42 s", "90 s", "3 min", "2 h",
    ]  # fmt: skip


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def step(name: str, *needs: str, **more: Any) -> StepView:
    return StepView(
        id=name, step_type=StepType.TOOL, status="in_progress", dependencies=needs, **more
    )


def test_people_have_bars_of_their_own_and_a_thought_follows_a_call() -> None:
    find, send, open_ = {"action_id": "c.a.1"}, {"action_id": "c.a.2"}, {"request_id": "c.r2"}
    rows: list[tuple[Any, Any, float, dict[str, Any]]] = [
        ("step", "running", 0, {}),
        ("call", "running", 2, find),
        ("question", "stop", 2.5, find),
        ("question", "choice", 4.5, find),
        ("call", "done", 5, find),
        ("call", "running", 8, send),
        ("call", "failed", 9, send),
        ("question", "stop", 10, open_),
        ("question", "failed", 14, open_),
        ("step", "failed", 14, {}),
    ]
    story = [
        StoryLine(about=about, tone=tone, text="", step_id="a", at=at(when), **ids)
        for about, tone, when, ids in rows
    ]
    story.append(StoryLine(about="step", tone="pending", text="b", step_id="b"))
    assert [bar and (bar.kind, bar.begin.second, bar.seconds) for bar in bars(story)] == [
        None,
        ("thought", 0, 2.0),
        ("checked", 2, 0.5),
        ("person", 2, 2.0),
        ("action", 4, 0.5),
        ("thought", 5, 3.0),
        ("failed", 8, 1.0),
        None,
        ("person", 10, 4.0),
        None,
        None,
    ]


def test_a_step_is_one_column_behind_what_it_needs() -> None:
    steps = [step("a"), step("b"), step("c", "a", "b"), step("d", "a")]
    assert places(steps) == {"a": (0, 0), "b": (0, 1), "c": (1, 0), "d": (1, 1)}


async def test_of_many_pages_of_one_kind_each_waits_its_turn_to_look_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watchers, slept, rest = Watchers(), list[float](), asyncio.sleep

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await rest(0)

    monkeypatch.setattr("asyncio.sleep", sleep)
    monkeypatch.setattr("random.random", lambda: 0.5)
    streams = [live.changes(watchers, EVERYTHING) for _ in range(4 * live.LOOKS)]
    for stream in streams:
        await anext(stream)
    watchers.wake("c1")
    said = [await anext(streams[0]), await anext(streams[0])]
    assert said == [HEART, b"event: changed\ndata:\n\n"]
    assert sum(slept) == 2.0
    for stream in streams:
        await stream.aclose()
