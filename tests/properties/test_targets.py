"""Whatever the shape of a target: a stranger's value in it is asked about, and the user's own are not (C13)."""

from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.references import Place
from haltpoint.contracts.policy import Treatment
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.tasks import Style, Task
from tests.support.builders import call
from tests.unit.chain.story import Story

EVE = "eve@evil.example"
MINE = ("ann@x.org", "Ann", "bob", "u-17", "editor")
GOAL = f"Share it: {', '.join(MINE)}."
FIELDS = ("name", "email", "type", "role", "id", "to")
"""Keys of maps that are names of fields."""
NAMED = ("id", "email", "user_id")
"""Names of fields that say to whom by themselves."""
BESIDE = ("title", "name", "note")
TEXT = {"type": "string"}
LISTED = {"const": "me", "type": "string"}

values = st.sampled_from(MINE)
keys = st.sampled_from((*MINE, *FIELDS))


@dataclass(frozen=True)
class Shape:
    """A schema, a value of it, and the places in the value that say to whom; those of `keys` are keys of maps."""

    schema: dict[str, Any]
    value: Any
    places: tuple[Place, ...] = ()
    keys: tuple[Place, ...] = ()

    def under(self, part: str | int, *, judged: bool = True) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
        own = (self.places, self.keys) if judged else ((), ())
        return tuple((part, *at) for at in own[0]), tuple((part, *at) for at in own[1])


@st.composite
def texts(draw: st.DrawFn) -> Shape:
    listed = draw(st.booleans())
    return Shape({"anyOf": [LISTED, TEXT]} if listed else TEXT, draw(values), ((),))


@st.composite
def maps(draw: st.DrawFn, inner: st.SearchStrategy[Shape]) -> Shape:
    """A dict of any keys: the first value's schema is that of all."""
    first, names = draw(inner), draw(st.lists(keys, min_size=1, max_size=3, unique=True))
    value, places, own = dict[str, Any](), list[Place](), list[Place]()
    for name in names:
        value[name] = first.value
        under = first.under(name)
        places += under[0]
        own += under[1]
        own += [(name,)] if name not in FIELDS else []
    says: dict[str, Any] = draw(
        st.sampled_from([{"additionalProperties": first.schema}, {"additionalProperties": True}, {}])
    )
    return Shape({"type": "object", **says}, value, tuple(places), tuple(own))


@st.composite
def lists(draw: st.DrawFn, inner: st.SearchStrategy[Shape]) -> Shape:
    one = draw(inner)
    places, own = zip(one.under(0), one.under(1), strict=True)
    return Shape({"type": "array", "items": one.schema}, [one.value] * 2, sum(places, ()), sum(own, ()))


@st.composite
def records(draw: st.DrawFn, inner: st.SearchStrategy[Shape]) -> Shape:
    """An object of declared fields. Beside one that says to whom by itself, plain ones do not."""
    named = draw(st.lists(st.sampled_from(NAMED), max_size=2, unique=True))
    beside = draw(st.lists(st.sampled_from(BESIDE), min_size=0 if named else 1, max_size=2, unique=True))
    fields = {name: draw(inner) for name in (*named, *beside)}
    places, own = list[Place](), list[Place]()
    for name, one in fields.items():
        under = one.under(name, judged=name in named or not named)
        places += under[0]
        own += under[1]
    schema = {"type": "object", "properties": {name: one.schema for name, one in fields.items()}}
    return Shape(schema, {name: one.value for name, one in fields.items()}, tuple(places), tuple(own))


shapes = st.recursive(texts(), lambda inner: maps(inner) | lists(inner) | records(inner), max_leaves=6)


def with_eve(value: Any, place: Place, *, key: bool) -> Any:
    """The value with the attacker's at a place, or as the key there."""
    if not place:
        return EVE
    head, rest = place[0], place[1:]
    if isinstance(value, list):
        return [with_eve(one, rest, key=key) if number == head else one for number, one in enumerate(value)]
    if key and not rest:
        return {EVE if name == head else name: one for name, one in value.items()}
    return {name: with_eve(one, rest, key=key) if name == head else one for name, one in value.items()}


def asked_about(schema: dict[str, Any], name: str, value: Any) -> list[Any]:
    parameters = {"type": "object", "properties": {name: schema}}
    tool = ToolSpec(name="share", parameters=parameters, targets={"whom": ""})
    told = Story(Task(goal=GOAL, style=Style.REACT), tool, policy=Policy(unasked_effects=Treatment.ALLOW))
    told.submit()
    told.propose(call("share", **{name: value}))
    return [one.value for one in told.dispatches[-1].reasons]


@settings(max_examples=400, deadline=None)
@given(shapes.filter(lambda one: one.places or one.keys), st.sampled_from(("to", "members", "whom")), st.data())
def test_c13_a_strangers_value_anywhere_in_a_target_is_asked_about_and_the_users_own_never(
    shape: Shape, name: str, data: st.DataObject
) -> None:
    assert asked_about(shape.schema, name, shape.value) == []
    key = data.draw(st.booleans()) if shape.places and shape.keys else bool(shape.keys)
    place = data.draw(st.sampled_from(shape.keys if key else shape.places))
    assert asked_about(shape.schema, name, with_eve(shape.value, place, key=key)) == [EVE]
