"""What a person sees before a call runs, and what the yes is bound to (CONTRACT G1 to G3)."""

from typing import Any

import pytest
from msgspec import structs

from haltpoint import Ctx, ToolError, register
from haltpoint.contracts.people.approvals import Approval, digest_of, digest_of_preview
from haltpoint.contracts.results import ErrorType
from haltpoint.tools import DeclarationError
from tests.unit.tool_worker.calling import fault_of, question_of, receipt_of

RAN: list[str] = []


def drop(page: str, keep: int = 0) -> dict[str, str]:
    """Drop a page."""
    RAN.append(page)
    return {"dropped": page}


def dropping(preview: Any) -> Any:
    RAN.clear()
    return register(drop, destructive=True, preview=preview)


def tells(page: str) -> str:
    return f"Drops {page}."


async def test_g2_the_preview_gets_the_parameters_that_it_names_and_the_context() -> None:
    async def preview(keep: int, ctx: Ctx) -> dict[str, Any]:
        return {"keep": keep, "tool": ctx.tool}

    asked = question_of(await receipt_of(dropping(preview), '{"page": "a"}'))
    assert asked.preview == '{\n  "keep": 0,\n  "tool": "drop"\n}'
    assert asked.preview_digest == digest_of_preview(asked.preview)
    assert asked.digest == digest_of("c.s.1", "drop", {"page": "a"}, asked.preview_digest)
    assert RAN == []


async def test_g3_the_yes_holds_for_the_preview_that_was_seen() -> None:
    yes = Approval(digest=digest_of("c.s.1", "drop", {"page": "a"}, digest_of_preview("Drops a.")))
    assert (await receipt_of(dropping(tells), '{"page": "a"}', approval=yes)).outcome.satisfies
    assert RAN == ["a"]
    anew = question_of(
        await receipt_of(dropping(lambda page: "Drops more."), '{"page": "a"}', approval=yes)
    )
    assert (
        anew.reasons[-1].words
        == "This is no longer what was approved: the preview says something else now, "
        "or others have to approve it."
    )
    assert RAN == []


async def test_g2_after_an_edit_the_card_says_who_changed_the_arguments() -> None:
    old = digest_of_preview("Drops a.")
    digest = digest_of("c.s.1", "drop", {"page": "b"}, old)
    edit = Approval(digest=digest, edited_by="ann", edited=True)
    anew = question_of(await receipt_of(dropping(tells), '{"page": "b"}', approval=edit))
    words = "ann changed the arguments: this is what the call would do."
    assert [reason.words for reason in anew.reasons][-1] == words
    later = structs.replace(edit, edited=False)
    anew = question_of(await receipt_of(dropping(tells), '{"page": "b"}', approval=later))
    assert anew.reasons[-1].words.startswith("This is no longer what was approved: the preview")
    assert RAN == []


async def test_g1_a_yes_that_a_doubt_has_used_up_lets_nothing_run_and_says_why() -> None:
    seen = digest_of("c.s.1", "drop", {"page": "a"}, digest_of_preview("Drops a."))
    used = Approval(digest=seen, by="ann", doubt="it broke.")
    anew = question_of(await receipt_of(dropping(tells), '{"page": "a"}', approval=used))
    assert [reason.kind for reason in anew.reasons] == ["destructive", "repeat"]
    assert "under the approval of ann, and was in doubt: it broke." in anew.message
    assert RAN == []


async def test_g3_the_digest_is_of_the_whole_preview_also_when_a_part_of_it_is_shown() -> None:
    ends = iter("ab")

    def preview() -> str:
        return "x" * 9000 + next(ends)

    one, two = [
        (await receipt_of(dropping(preview), '{"page": "a"}')).outcome.confirmation
        for _ in range(2)
    ]
    assert one is not None
    assert two is not None
    assert one.preview == two.preview
    assert one.digest != two.digest


async def test_g2_a_preview_that_raises_fails_the_call_and_leaves_no_doubt() -> None:
    def preview() -> str:
        raise ToolError("IN_DOUBT", "who knows")

    fault = fault_of(await receipt_of(dropping(preview), '{"page": "a"}'))
    assert (fault.error_type, RAN) == (ErrorType.UNKNOWN, [])


async def test_g2_a_preview_is_text_or_data_and_no_result_that_may_be_an_error() -> None:
    finished = await receipt_of(dropping(lambda ctx: ctx.ok({"page": "a"})), '{"page": "a"}')
    assert "the preview of drop returned a ToolResult" in fault_of(finished).message
    assert RAN == []


@pytest.mark.parametrize(
    ("preview", "words"),
    [
        ("text", "give a function"),
        (dict, "give a function"),
        (lambda other: "", "preview takes other; it may take: ctx, keep, page"),
    ],
)
def test_g2_a_preview_has_parameters_of_its_tool(preview: Any, words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        dropping(preview)
