"""Whatever the shape of a target: a stranger's value in it is asked about, and the user's own are not (C13)."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from haltpoint.chain.checks.places import Leaf, is_target
from haltpoint.chain.checks.templates import fill, judged
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.references import Place, values_at, walk
from haltpoint.contracts.policy import Targets, Treatment
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.tasks import Style, Task
from tests.support.builders import call, plan, tool_step
from tests.unit.chain.story import Story

EVE = "eve@evil.example"
MINE = ("ann@x.org", "Ann", "bob", "u-17", "editor")
GOAL = f"Share it: {', '.join(MINE)}."
FIELDS = ("name", "email", "type", "role", "id", "to")
"""Keys of maps that are names of fields."""
NAMED = ("id", "email", "user_id")
"""Names of fields that say to whom by themselves."""
BESIDE = ("title", "name", "note")
PARAMETERS = ("to", "members", "whom", "email_addresses", "phoneNumbers", "channels")
TEXT = {"type": "string"}
EMAIL = {"type": "string", "format": "email"}
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
    says: list[dict[str, Any]] = [{"additionalProperties": first.schema}, {"patternProperties": {".": first.schema}}]
    if not any(word in repr(first.schema) for word in ("propertyNames", "kind")):  # what is listed in it must be known
        says += ({"additionalProperties": True}, {})
    return Shape({"type": "object", **draw(st.sampled_from(says))}, value, tuple(places), tuple(own))


@st.composite
def listed_maps(draw: st.DrawFn, inner: st.SearchStrategy[Shape]) -> Shape:
    """A dict whose keys the tool lists itself."""
    one = draw(inner)
    schema = {"type": "object", "propertyNames": {"enum": ["owner", "viewer"]}, "additionalProperties": one.schema}
    places, own = one.under("owner")
    return Shape(schema, {"owner": one.value}, places, own)


@st.composite
def colliding(draw: st.DrawFn) -> Shape:
    """A dict with two places that look alike when nothing is quoted."""
    both = [("user.name", draw(values)), ("user", {"name": draw(values)})]
    return Shape({"type": "object"}, dict(draw(st.permutations(both))), (("user.name",), ("user", "name")))


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


@st.composite
def unions(draw: st.DrawFn, inner: st.SearchStrategy[Shape]) -> Shape:
    """One of two records: what says to whom in either that the object may be, is judged."""
    names = st.lists(st.sampled_from((*NAMED, *BESIDE)), min_size=1, max_size=3, unique=True)
    first, second, marked = draw(names), draw(names), draw(st.booleans())
    fields = {name: draw(inner) for name in dict.fromkeys((*first, *second))}
    value = {name: fields[name].value for name in (fields if draw(st.booleans()) else first)}
    records, places, own = list[dict[str, Any]](), list[Place](), list[Place]()
    for kind, declared in (("a", first), ("b", second)):
        properties = {name: fields[name].schema for name in declared}
        mark = {"kind": {"const": kind, "type": "string"}} if marked else {}
        needed = draw(st.booleans())
        records.append({"type": "object", "properties": {**mark, **properties}})
        records[-1] |= {"required": [*mark, *declared]} if needed else {}
        if (needed and not value.keys() >= {*declared}) or (marked and kind == "b"):
            continue
        named = [name for name in declared if name in NAMED and name in value]
        for name in named or [name for name in declared if name in value]:
            under = fields[name].under(name)
            places += under[0]
            own += under[1]
    value |= {"kind": "a"} if marked else {}
    return Shape({"anyOf": records}, value, tuple(dict.fromkeys(places)), tuple(dict.fromkeys(own)))


shapes = st.recursive(
    texts() | colliding(),
    lambda inner: maps(inner) | listed_maps(inner) | lists(inner) | records(inner) | unions(inner),
    max_leaves=6,
)
FORMED = (
    Shape({"type": "object", "propertyNames": EMAIL}, {"ann@x.org": "editor"}, (), (("ann@x.org",),)),
    Shape({"type": "object", "patternProperties": {"^[a-z]": EMAIL}}, {"a": "ann@x.org"}, (("a",),)),
    Shape(EMAIL, "ann@x.org", ((),)),
)


@st.composite
def around(draw: st.DrawFn, inner: st.SearchStrategy[Shape]) -> Shape:
    """A list, record or dict of what says to whom by its format."""
    one, part = draw(inner), draw(st.sampled_from(["list", "properties", "additionalProperties", "patternProperties"]))
    if part == "list":
        return Shape({"type": "array", "items": one.schema}, [one.value], *one.under(0))
    says: dict[str, Any] = {"properties": {"note": one.schema}, "additionalProperties": one.schema}
    says["patternProperties"] = {"^n": one.schema}
    return Shape({"type": "object", part: says[part]}, {"note": one.value}, *one.under("note"))


formed = st.recursive(st.sampled_from(FORMED), around, max_leaves=3)


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


@settings(max_examples=600, deadline=None)
@given(
    st.tuples(st.sampled_from(PARAMETERS), shapes) | st.tuples(st.just("data"), formed),
    st.data(),
)
def test_c13_a_strangers_value_anywhere_in_a_target_is_asked_about_and_the_users_own_never(
    called: tuple[str, Shape], data: st.DataObject
) -> None:
    name, shape = called
    assume(shape.places or shape.keys)
    assert asked_about(shape.schema, name, shape.value) == []
    key = data.draw(st.booleans()) if shape.places and shape.keys else bool(shape.keys)
    place = data.draw(st.sampled_from(shape.keys if key else shape.places))
    assert asked_about(shape.schema, name, with_eve(shape.value, place, key=key)) == [EVE]


def apart(value: Any, numbers: Iterator[int]) -> Any:
    """The value with a text of its own in each place."""
    if isinstance(value, list):
        return [apart(one, numbers) for one in value]
    if isinstance(value, dict):
        return {name: apart(one, numbers) for name, one in value.items()}
    return f"v{next(numbers)}"


def with_references(value: Any, names: dict[Place, str], at: Place = ()) -> Any:
    """The value with a reference to a skill's argument at each of these places."""
    if at in names:
        return {"$from": f"input.{names[at]}"}
    if isinstance(value, list):
        return [with_references(one, names, (*at, number)) for number, one in enumerate(value)]
    if isinstance(value, dict):
        return {name: with_references(one, names, (*at, name)) for name, one in value.items()}
    return value


def targets_of(tool: ToolSpec, arguments: dict[str, Any], *others: ToolSpec) -> list[Leaf]:
    found, values = judged(tool, arguments, {one.name: one for one in others}, Targets())
    return [leaf for leaf in values if is_target(leaf, found)]


@settings(max_examples=400, deadline=None)
@given(shapes, st.sampled_from(("to", "whom", "note")), st.data())
def test_c13_a_skills_argument_is_a_target_exactly_when_the_direct_call_has_it_as_one(
    shape: Shape, name: str, data: st.DataObject
) -> None:
    whole = {name: apart(shape.value, count())}
    tool = ToolSpec(name="share", parameters={"properties": {name: shape.schema}}, targets={"whom": ""})
    places = [place for place, _ in walk(whole) if place]
    chosen = data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=3, unique=True))
    outer = [one for one in chosen if not any(one != other and one[: len(other)] == other for other in chosen)]
    names = {place: f"x{number}" for number, place in enumerate(outer)}
    left_out = data.draw(st.sets(st.sampled_from(outer)))
    arguments = {said: values_at(whole, place)[0] for place, said in names.items() if place not in left_out}
    steps = plan(tool_step("a", call("share", **with_references(whole, names))))

    direct = targets_of(tool, fill(steps, arguments).steps[0].actions[0].arguments)
    by_skill = targets_of(ToolSpec(name="shares", plan=steps), arguments, tool)
    handed_in = {one for _, one in walk(arguments) if isinstance(one, str)}
    asked, wanted = ({leaf.value for leaf in found} & handed_in for found in (by_skill, direct))
    assert wanted <= asked
    if not any(leaf.place.endswith("}") for leaf in direct):  # with a key, everything in its object is one
        assert asked == wanted
