"""Paths, references, and where a value may come from."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haltpoint.chain.checks.knowledge import Known, documents_of, given_whole
from haltpoint.chain.checks.values import made_up
from haltpoint.chain.model.references import parse_path, path_text, reference, scalars_at
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import ActionStatus
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.reasons import SourceKind
from haltpoint.contracts.results import Metadata, Outcome
from haltpoint.contracts.tools import ToolSpec
from tests.support.builders import OK, failed, spec, worked


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a", ("a",)),
        ("find.data.contact_id", ("find", "data", "contact_id")),
        ("a[0].b", ("a", 0, "b")),
        ("a.[12].b", ("a", 12, "b")),
        ("a[].b", ("a", None, "b")),
        ("s-1.data.x y", ("s-1", "data", "x y")),
        ("", ()),
        (".a", ()),
        ("a.", ()),
        ("a..b", ()),
        ("a[x]", ()),
        ("a[1", ()),
        ("a[1]b", ()),
        ('to."user.name"[0]', ("to", "user.name", 0)),
        ('"a""b"', ('a"b',)),
        ('to.""', ("to", "")),
        ('"a"b', ()),
        ('"a', ()),
    ],
)
def test_a_path_is_names_and_numbers_joined_by_dots(text: str, path: tuple[object, ...]) -> None:
    assert parse_path(text) == path


@given(
    st.lists(
        st.text(st.sampled_from('ab.[]{}"'), max_size=4)
        | st.integers(0, 9)
        | st.sampled_from([None, ...])
    )
)
def test_one_path_has_one_text(path: list[Any]) -> None:
    assert parse_path(path_text(tuple(path))) == tuple(path)


def receipt(
    tool: str, data: str, outcome: Outcome | None = OK, name: str = "c.a.1"
) -> dict[str, Action]:
    return {name: Action(name, 0, 1, tool, "{}", ActionStatus.DONE, outcome=outcome, data=data)}


def place(
    tool: ToolSpec,
    arguments: JsonObject,
    actions: dict[str, Action],
    context: JsonObject | None = None,
    words: str = "",
) -> str | None:
    """The place of a value that was made up."""
    context_of_task = given_whole(SourceKind.CONTEXT, context or {})
    given = [context_of_task, *documents_of(actions.values(), {})]
    return made_up(Known(words, given), tool, arguments)


SEND = spec("send", provenance={"to": ("find.people[].id",)})
FOUND = receipt("find", '{"people": [{"id": "u1"}, {"id": "u2"}, {"id": 1}]}')


@pytest.mark.parametrize(
    ("to", "context", "actions", "known"),
    [
        ("u2", {}, FOUND, True),
        ("u3", {}, FOUND, False),
        (1, {}, FOUND, True),
        (["u1", "u2"], {}, FOUND, True),
        (["u1", "u3"], {}, FOUND, False),
        ([], {}, {}, True),
        ("u1", {}, receipt("other", '{"people": [{"id": "u1"}]}'), False),
        ("u1", {}, receipt("find", '{"people": [{"id": "u1"}]}', failed()), False),
        ("u1", {}, receipt("find", '{"people": [{"id": "u1"}]}', None), False),
        ("u9", {}, receipt("find", '{"selected": {"id": "u9"}}'), True),
        ("u9", {}, receipt("other", '{"selected": {"id": "u9"}}'), False),
        ("u9", {}, receipt("other", '{"said": "u9"}', failed()), True),
        ("u9", {"me": {"ids": ["u8", "u9"]}}, {}, True),
        (["u8", "u9"], {"me": {"ids": ["u8", "u9"]}}, {}, True),
        ("u9", {"me": "the id is u9"}, {}, False),
    ],
)
def test_c6_a_value_has_one_of_the_known_origins(
    to: object, context: JsonObject, actions: dict[str, Action], known: bool
) -> None:
    assert (place(SEND, {"to": to}, actions, context) is None) == known


@pytest.mark.parametrize(
    ("arguments", "known"),
    [
        ({"letters": [{"to": "u1"}, {"to": "u2"}]}, True),
        ({"letters": [{"to": "u1"}, {"to": "u3"}]}, False),
        ({"letters": [{"to": ["u1", "u3"]}]}, False),
        ({"letters": [{"to": None}, {}, "u3"]}, True),
        ({"letters": None}, True),
    ],
)
def test_c6_a_value_inside_an_argument_has_an_origin_too(
    arguments: JsonObject, known: bool
) -> None:
    post = spec("post", provenance={"letters[].to": ("find.people[].id",)})
    assert place(post, arguments, FOUND) == (None if known else "letters[].to")


def test_c6_a_tool_cannot_put_words_into_a_persons_mouth() -> None:
    marked = msgspec.structs.replace(failed(), metadata=Metadata(action_id="c.a.1"))

    assert place(SEND, {"to": "u9"}, receipt("other", '{"said": "u9"}', marked)) == "to"


def test_c6_a_tool_picks_none_of_its_options_for_a_person() -> None:
    marked = worked(action_id="c.a.1")
    data = '{"people": [{"id": "u1"}], "selected": {"id": "u9"}}'

    assert place(SEND, {"to": "u9"}, receipt("find", data, marked)) == "to"
    assert place(SEND, {"to": "u1"}, receipt("find", data, marked)) is None


def test_c6_the_whole_of_a_result_may_be_an_origin() -> None:
    whole = spec("send", provenance={"to": ("find",)})

    assert place(whole, {"to": {"id": 1}}, receipt("find", '{"id": 1}')) is None
    assert place(whole, {"to": {"id": 2}}, receipt("find", '{"id": 1}')) == "to"


BOOK = '{"ids": ["b1"], "by_name": {"Ann": "u1"}}'


@pytest.mark.parametrize(
    ("to", "known"),
    [
        ("u1", True),
        ("Ann", True),
        ("b1", True),
        ("bob", True),
        ("by_name", False),
        ("u2", False),
        ("", False),
    ],
)
def test_c6_any_one_of_several_origins_is_enough(to: object, known: bool) -> None:
    ring = spec("ring", provenance={"to": ("find.id", "find.ids[]", "find.by_name{}", "goal")})
    assert (place(ring, {"to": to}, receipt("find", BOOK), words="ring Bob") is None) == known


def test_c6_a_declared_default_that_a_model_writes_out_needs_no_origin() -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string", "default": "all"}}}
    ring = spec("ring", parameters=schema, provenance={"to": ("find.id",)})
    assert place(ring, {"to": "all"}, {}) is None
    assert place(ring, {"to": "eve"}, {}) == "to"


def test_a_path_may_name_any_key_or_value_of_an_object() -> None:
    path = parse_path("c.methods{}.name")
    assert path == ("c", "methods", ..., "name")
    assert path_text(path) == "c.methods{}.name"
    assert list(scalars_at({"a": 1}, (...,))) == [((..., "a"), "a"), (("a",), 1)]
    assert list(scalars_at([1], (...,))) == []
    assert parse_path("a{b") == ("a{b",)
    assert reference({"$from": "find.data{}"}).path == ()
