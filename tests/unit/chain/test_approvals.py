"""A person's yes to a call, with or without changes (CONTRACT G1 to G3), as the chain sees it."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from haltpoint.contracts.people.approvals import Approval, digest_of
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.reasons import Reach, SourceKind
from haltpoint.contracts.results import ErrorInfo, ErrorType, Outcome
from haltpoint.contracts.tools import Recovery, ToolSpec
from tests.support.builders import confirms, fails_with, open_task, writing
from tests.unit.chain.story import Story, submitted

TO = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["to"],
    "additionalProperties": False,
}
DROP = writing("drop", destructive=True, parameters=TO, targets=("to",))


def sure(preview: str, digest: str = "d", arguments: str | None = None) -> Outcome:
    return confirms(
        "drop",
        preview=preview,
        digest=digest,
        preview_digest=f"of {preview}",
        arguments=arguments,
    )


def asked(**task: Any) -> Story:
    """An open-ended task whose model calls a destructive tool, and a person is asked."""
    return asked_about(DROP, **task)


def asked_about(tool: ToolSpec, **task: Any) -> Story:
    told = submitted(open_task("drop u1", **task), tool)
    told.calls("drop", to="u1")
    told.result(sure("1 page"))
    return told


def approve(told: Story, **edited: Any) -> None:
    told.approve(arguments=edited or None)


def test_g2_an_edited_call_is_the_persons_own_and_keeps_what_was_proposed() -> None:
    told = asked()
    approve(told, to="u2", days=3)
    order = told.order
    arguments = {"to": "u2", "days": 3}
    assert json.loads(order.action.arguments) == arguments
    digest = digest_of(order.action.id, "drop", arguments, "of 1 page")
    edited = Approval(
        digest=digest,
        by="ann",
        proposed='{"to":"u1"}',
        edited_by="ann",
        edited=True,
        preview="1 page",
    )
    assert order.approval == edited
    assert {place: source.source for place, source in order.sources.items()} == {
        "to": SourceKind.PERSON
    }
    told.result()
    assert told.chain.approvals == {}


def test_g2_an_edit_that_changes_nothing_is_a_plain_yes() -> None:
    told = asked()
    approve(told, to="u1")
    assert told.order.approval == Approval(digest="d", by="ann", preview="1 page")


def test_g2_an_edit_starts_from_the_call_as_hooks_left_it() -> None:
    told = asked()
    told.approve()
    told.result(sure("2 pages", arguments='{"to":"u1","days":1}'))
    approve(told, to="u1", days=1)
    order = told.order
    assert order.approval == Approval(digest="d", by="ann", preview="2 pages")
    assert order.action.arguments == '{"to":"u1"}'


def test_g2_an_edit_is_kept_when_the_person_is_asked_again_and_by_a_second_edit() -> None:
    told = asked()
    approve(told, to="u2")
    told.result(sure("2 pages", "e"))
    told.approve(by="bob")
    order = told.order
    seen = Approval(
        digest="e", by="bob", proposed='{"to":"u1"}', edited_by="ann", preview="2 pages"
    )
    assert (order.approval, order.sources["to"].source) == (seen, SourceKind.PERSON)
    assert order.action.arguments == '{"to":"u2"}'
    told.result(sure("3 pages", "f"))
    told.approve(arguments={"to": "u3"}, by="cy")
    again = told.order.approval
    assert again is not None
    assert (again.proposed, again.by, again.edited_by) == ('{"to":"u1"}', "cy", "cy")


def test_g3_a_question_asked_anew_shows_what_was_approved() -> None:
    told = asked()
    approve(told)
    told.result(sure("2 pages", "e"))
    question = told.questions[-1]
    assert (question.approved_preview, question.preview, question.digest) == (
        "1 page",
        "2 pages",
        "e",
    )
    approve(told)
    assert told.order.approval == Approval(digest="e", by="ann", preview="2 pages")


def test_g1_a_call_that_rested_goes_out_under_the_same_yes() -> None:
    told = asked()
    approve(told)
    told.result(fails_with(ErrorInfo(ErrorType.RATE_LIMIT, "too many"), limit="one a second"))
    told.due(at=told.now + 1)
    assert told.order.approval == Approval(digest="d", by="ann", preview="1 page")
    assert told.action.attempt == 3


@pytest.mark.parametrize("resolved_by", ["a person", "its tool"])
def test_g1_a_doubt_uses_the_yes_up_and_people_are_asked_anew(resolved_by: str) -> None:
    recovery = Recovery(reconciles=resolved_by == "its tool")
    told = asked_about(replace(DROP, recovery=recovery))
    approve(told, to="u2")
    cause = ErrorInfo(ErrorType.UNKNOWN, "it broke")
    told.result(fails_with(ErrorInfo(ErrorType.IN_DOUBT, "it broke", cause=cause)))
    if resolved_by == "its tool":
        told.due(at=told.now + 1)
        not_happened = ErrorInfo(ErrorType.UNKNOWN, "no", no_effect=True)
        told.result(fails_with(not_happened, reconciled=True))
        told.due(at=told.now + 1)
    else:
        told.answer(RequestKind.IN_DOUBT, Choice.NOT_HAPPENED, by="bob")
    used = told.order.approval
    assert used is not None
    assert (used.by, used.doubt) == ("ann", "it broke")
    told.result(sure("1 page", "d"))
    assert told.status == "awaiting_confirmation"
    told.approve(by="cy")
    approval = told.order.approval
    assert approval is not None
    assert (approval.by, approval.edited_by, approval.doubt) == ("cy", "ann", None)
    assert told.order.action.id == "c.react.1", "its key"


@pytest.mark.parametrize("reach", list(Reach))
def test_g1_a_yes_to_a_destructive_call_covers_no_other(reach: Reach) -> None:
    told = asked()
    told.approve(for_=reach)
    assert told.chain.people.granted == ()


def test_g2_only_an_approval_takes_arguments() -> None:
    told = asked()
    told.reject(arguments={"to": "u2"})
    assert told.status == "awaiting_confirmation"
