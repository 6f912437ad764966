"""Which parameters a worker marks as targets when it starts (C13)."""

from typing import Any

import pytest

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.approval_rules import ApprovalRule, Condition
from haltpoint.contracts.policy import Targets
from haltpoint.contracts.reasons import SourceKind
from haltpoint.contracts.tools import ToolSpec
from haltpoint.runtime.config import policy_file
from haltpoint.tools import tool
from haltpoint_tool_worker.targets import is_named, marked, targets_of
from tests.support.builders import spec
from tests.unit.tool_worker.calling import tool_in

NAMES = policy_file.read(None).targets

TEXT = {"type": "string"}
EMAIL = {"type": "string", "format": "email"}


def typed(**properties: Any) -> JsonObject:
    return {"type": "object", "properties": properties}


def act(parameters: JsonObject, **more: Any) -> ToolSpec:
    return spec("act", parameters=parameters, **({"read_only": False} | more))


PERSON = typed(email=TEXT, name=TEXT)
TEAM = typed(name=TEXT, note=TEXT)
TREE = {
    "$ref": "#/$defs/tree",
    "$defs": {"tree": typed(to=TEXT, inner={"items": {"$ref": "#/$defs/tree"}})},
}
PLAIN_TREE = {
    "$ref": "#/$defs/tree",
    "$defs": {"tree": typed(word=TEXT, inner={"items": {"$ref": "#/$defs/tree"}})},
}


@pytest.mark.parametrize(
    ("parameters", "places"),
    [
        (typed(to=TEXT, words=TEXT), ["to"]),
        (
            typed(contactId=TEXT, thread_ids={"type": "array", "items": TEXT}),
            ["contactId", "thread_ids"],
        ),
        (typed(whom={"anyOf": [EMAIL, {"type": "null"}]}), ["whom"]),
        (typed(letters={"type": "array", "items": typed(to=TEXT, text=TEXT)}), ["letters[].to"]),
        (typed(a={"$ref": "#/$defs/A"}) | {"$defs": {"A": typed(b=EMAIL)}}, ["a.b"]),
        (typed(by={"type": "object", "additionalProperties": typed(to=TEXT)}), ["by"]),
        (typed(grant={"type": "object", "propertyNames": EMAIL}), ["grant"]),
        (typed(members={"type": "object", "additionalProperties": TEXT}), ["members"]),
        # a record that says itself to whom is looked at there; any other with the name of a target
        # as a whole
        (typed(user=PERSON), ["user.email"]),
        (typed(user=TEAM), ["user"]),
        (typed(to={"anyOf": [PERSON, TEXT]}), ["to.email", "to"]),
        # a list of the tool's own names no stranger
        (typed(channel={"enum": ["mail", "sms"]}), []),
        (typed(to={"anyOf": [{"const": "me"}, TEXT]}), ["to"]),
        # a schema that comes back to itself has no last place: all below is marked, where there is
        # anything to mark
        (TREE, ["to", "inner"]),
        (PLAIN_TREE, []),
        (typed(words=TEXT, n={"type": "integer"}), []),
    ],
)
def test_c13_parameters_of_tools_with_effects_are_marked_by_name_and_format_at_every_depth(
    parameters: JsonObject, places: list[str]
) -> None:
    assert list(targets_of(act(parameters), NAMES)) == places


def test_c13_a_read_only_tool_has_the_targets_that_its_author_declares() -> None:
    parameters = typed(url={"type": "string", "format": "uri"}, page=TEXT)
    assert targets_of(act(parameters, read_only=True), NAMES) == ()
    assert targets_of(act(parameters, read_only=True, targets=("page",)), NAMES) == ("page",)


def test_c13_the_author_adds_targets_and_takes_them_away() -> None:
    parameters = typed(
        room=TEXT, slug_id=TEXT, letter=typed(to=TEXT, cc=TEXT), guests={"items": TEXT}
    )
    found = act(parameters, targets=("room", "guests[]"))
    assert targets_of(found, NAMES, ("slug_id", "letter")) == ("room", "guests")
    assert targets_of(found, NAMES, ("letter.cc", "slug_id")) == ("room", "guests", "letter.to")


def test_g4_a_place_whose_source_a_rule_asks_for_is_a_target() -> None:
    @tool(read_only=True)
    def pin_up(words: str, size: int = 1) -> None: ...

    made = tool_in(pin_up)
    where = {"words": Condition(source=(SourceKind.TEXT,)), "size": Condition(at_least=2)}
    rules = [ApprovalRule(id="a", tools=(name,), when=where) for name in ("pin_*", "send_*")]
    assert marked(made, NAMES, rules).targets == ("words",)
    assert marked(made, NAMES, rules[1:]).targets == ()


def test_c6_a_place_with_an_origin_is_compared_with_that_alone() -> None:
    assert targets_of(act(typed(to=TEXT, cc=TEXT), provenance={"to": ("find.id",)}), NAMES) == (
        "cc",
    )
    listed = typed(ids={"items": TEXT})
    assert targets_of(act(listed, provenance={"ids[]": ("find.id",)}), NAMES) == ()


@pytest.mark.parametrize(
    "name",
    [
        "phone_number",
        "sendTo",
        "beneficiaryIban",
        "share_with",
        "emailAddresses",
        "callbackURLs",
        "path",
    ],
)
def test_c13_the_table_knows_the_usual_names(name: str) -> None:
    assert is_named(name, NAMES)


@pytest.mark.parametrize(
    "name", ["words", "local_addr", "contact", "role", "curl", "topic", "identity", "subject"]
)
def test_c13_other_names_name_no_target(name: str) -> None:
    assert not is_named(name, NAMES)


def test_c13_the_policy_adds_names_removes_them_or_has_names_of_its_own() -> None:
    policy = Targets(names=NAMES.names, add=("wallet*",), remove=("user", "internal_*"))
    marked = [
        is_named(name, policy) for name in ("wallet_no", "user", "users", "internal_id", "to")
    ]
    assert marked == [True, False, False, False, True]
    assert [is_named(name, Targets(names=("room",))) for name in ("room", "to")] == [True, False]
