"""FromResult anywhere in a declaration (CONTRACT A, C6): each mark guards the place at which a
model writes its value, or is refused. For each shape that is accepted a made-up id at the place is
found by the core, and a known one passes.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, NotRequired, TypeVar

import msgspec
import pytest
from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Json,
    RootModel,
    TypeAdapter,
    WithJsonSchema,
)
from typing_extensions import TypeAliasType, TypedDict

from haltpoint.chain.checks.knowledge import Known, documents_of
from haltpoint.chain.checks.values import made_up as place_made_up
from haltpoint.chain.model.schemas import argument_faults
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import ActionStatus
from haltpoint.contracts.results import Confirmation
from haltpoint.tools import DeclarationError, Foreign, FromResult, NotTarget, Target, tool, tool_of
from haltpoint.tools.declaration import Tool
from tests.support.builders import OK

FOUND = FromResult("lookup.contact_id")
Id = Annotated[str, FOUND]
Alias = TypeAliasType("Alias", Id)
T = TypeVar("T")


class Letter(BaseModel):
    to: Id
    content: str = ""


class Renamed(BaseModel):
    to: Id = Field(alias="recipientId")


class Copied(Letter):
    copies: list[Id] = []
    answer_to: "Letter | None" = None


class Memo(BaseModel):
    kind: Literal["memo"] = "memo"


class Post(BaseModel):
    kind: Literal["post"] = "post"
    to: Id


class Box(BaseModel, Generic[T]):
    inside: T


@dataclass
class Parcel:
    to: Id


class Card(TypedDict):
    to: Id


class Odd(BaseModel):
    """Fields with names that pydantic uses itself."""

    type: str = ""
    serialization: Id = ""
    config: Id | None = None
    properties: list[Id] = []


class Sent(TypedDict):
    letters: NotRequired[Sequence[Letter]]


class Thread(BaseModel):
    to: Id
    before: "list[Thread]" = []


class Two(BaseModel):
    to: Id = Field(validation_alias=AliasChoices("to", "whom"))  # type: ignore[pydantic-alias]


class Deep(BaseModel):
    to: Id = Field(validation_alias=AliasPath("to", 0))  # type: ignore[pydantic-alias]


class Both(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    to: Id = Field(alias="recipientId")


class Dotted(BaseModel):
    to: Id = Field(alias="recipient.id")


class Hidden(BaseModel):
    to: Annotated[Id, WithJsonSchema({"type": "string"})]


def declared(annotation: Any) -> Tool:
    def send(x: Any) -> None: ...

    send.__annotations__["x"] = annotation
    found = tool_of(tool(send))
    assert found is not None
    return found


U1, U6 = {"to": "u1"}, {"to": "u666"}

SHAPES: list[tuple[Any, dict[str, str], Any, Any]] = [
    (Id, {"x": ""}, "u1", "u666"),
    (Id | None, {"x": ""}, "u1", "u666"),
    (Alias, {"x": ""}, "u1", "u666"),
    (list[Alias], {"x[]": ""}, ["u1"], ["u1", "u666"]),
    (Annotated[list[str], FOUND], {"x": ""}, ["u1"], ["u1", "u666"]),
    (list[Id], {"x[]": ""}, ["u1", "u1"], ["u1", "u666"]),
    (Annotated[str, BeforeValidator(str.strip), FOUND], {"x": ""}, "u1", "u666"),
    (Letter, {"x.to": ""}, U1, U6),
    (Letter | None, {"x.to": ""}, U1, U6),
    (list[Letter], {"x[].to": ""}, [U1, U1], [U1, U6]),
    (Renamed, {"x.recipientId": ""}, {"recipientId": "u1"}, {"recipientId": "u666"}),
    (Copied, {"x.to": "", "x.copies[]": "", "x.answer_to.to": ""}, U1, {**U1, "answer_to": U6}),
    (
        Annotated[Memo | Post, Field(discriminator="kind")],
        {"x.to": ""},
        {"kind": "memo"},
        {"kind": "post", **U6},
    ),
    (Box[Id], {"x.inside": ""}, {"inside": "u1"}, {"inside": "u666"}),
    (Parcel, {"x.to": ""}, U1, U6),
    (Card, {"x.to": ""}, U1, U6),
    (RootModel[list[Letter]], {"x[].to": ""}, [U1], [U6]),
    (Sent, {"x.letters[].to": ""}, {}, {"letters": [U1, U6]}),
    (
        Odd,
        {"x.serialization": "", "x.config": "", "x.properties[]": ""},
        {"type": "u9", "serialization": "u1"},
        {"serialization": "u666"},
    ),
    (Annotated[Letter, FromResult("draft.letter")], {"x.to": "", "x": "draft.letter"}, None, U1),
]


@pytest.mark.parametrize(
    ("annotation", "places", "known", "made_up"), SHAPES, ids=lambda one: str(one)[:60]
)
def test_c6_a_mark_guards_its_value_wherever_it_stands(
    annotation: Any, places: dict[str, str], known: Any, made_up: Any
) -> None:
    spec = declared(annotation).spec
    assert spec.provenance == {
        place: (origin,) if origin else FOUND.origins for place, origin in places.items()
    }
    assert "x-from-result" not in json.dumps(spec.parameters)
    data = '{"contact_id": "u1"}'
    seen = {
        "c.a.1": Action("c.a.1", 0, 1, "lookup", "{}", ActionStatus.DONE, outcome=OK, data=data)
    }
    chain_knows = Known("", [*documents_of(seen.values(), {})])
    for value, fault in ((known, False), (made_up, True)):
        assert value is None or not argument_faults(spec, {"x": value})
        assert (place_made_up(chain_knows, spec, {"x": value}) is not None) == fault
    assert place_made_up(chain_knows, spec, {"x": None}) is None


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (dict[str, Id], "no place that can be named"),
        (dict[str, Letter], "no place that can be named"),
        (dict[Id, str], "no place that can be named"),
        (Box[dict[str, list[Letter]]], "x.inside.*no place that can be named"),
        (Json[Letter], "no place that can be named"),
        (Thread, "no type that holds itself"),
        (tuple[Id, str], "no place that can be named"),
        (Two, "another name"),
        (Deep, "another name"),
        (Both, "another name"),
        (Dotted, "without dots"),
        (Hidden, "would protect nothing"),
        (Annotated[str, FOUND, FromResult("search.id")], "in one of them"),
        (Annotated[str, FOUND] | Annotated[int, FromResult("search.id")], "in one of them"),
    ],
    ids=lambda one: str(one)[:60],
)
def test_c6_a_mark_that_would_protect_nothing_is_refused(annotation: Any, words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        declared(annotation)


def declared_as(function: Callable[..., Any]) -> Tool:
    found = tool_of(function)
    assert found is not None
    return found


# ---- Target, NotTarget, Foreign (C13)


class Event(BaseModel):
    room: Annotated[str, Target]
    slug: Annotated[str, NotTarget] = ""
    guests: list[Annotated[str, Target()]] = []


class Mail(BaseModel):
    sender: Annotated[str, Foreign]
    subject: str = ""


def test_c13_marks_are_read_by_their_places_and_shown_to_no_model() -> None:
    @tool
    def plan(
        event: Event, place: Annotated[str, Target], key: Annotated[str, NotTarget]
    ) -> list[Mail]:
        raise NotImplementedError

    planned = declared_as(plan)
    spec = planned.spec
    assert spec.targets == ("event.room", "event.guests[]", "place")
    assert planned.inputs.not_targets == ("event.slug", "key")
    assert spec.foreign == ("value[].sender",)
    assert "x-" not in json.dumps([spec.parameters, spec.result_schema])


def test_c13_a_result_that_is_an_object_or_a_text_has_its_foreign_places_too() -> None:
    @tool
    def read() -> Mail:
        raise NotImplementedError

    @tool
    def subject() -> Annotated[str, Foreign]:
        raise NotImplementedError

    assert (declared_as(read).spec.foreign, declared_as(subject).spec.foreign) == (
        ("sender",),
        ("value",),
    )


def test_c13_a_target_is_also_what_a_confirmation_names() -> None:
    schema = TypeAdapter(Confirmation).json_schema()
    assert "x-target" not in json.dumps(schema)
    asked = Confirmation(action="send", target=Target(id="u1"), message="?")
    assert msgspec.to_builtins(asked)["target"] == {"id": "u1"}


def test_c6_several_origins_are_enough_each() -> None:
    @tool
    def ring(who: Annotated[str, FromResult("find.id", "book.by_id{}", "goal")]) -> None:
        raise NotImplementedError

    assert declared_as(ring).spec.provenance == {"who": ("find.id", "book.by_id{}", "goal")}
    with pytest.raises(DeclarationError, match=r"or FromResult\('goal'\) for the user's words"):
        FromResult()
