"""What a tool is told, and the ways in which it may answer."""

import pytest

from haltpoint.tools import Ctx, MalformedResultError, Option


def test_a_context_for_a_users_test_needs_only_what_the_tool_uses() -> None:
    ctx = Ctx(deps="a book")
    assert (ctx.deps, ctx.attempt, ctx.confirmed, ctx.deadline) == ("a book", 1, False, None)
    ctx.log.info("nothing breaks")


def test_the_key_is_the_action_and_the_chain_is_read_off_it() -> None:
    ctx = Ctx(action_id="c1.find.2", deadline_ms=0)
    assert (ctx.idempotency_key, ctx.chain_id) == ("c1.find.2", "c1")
    assert ctx.deadline is not None
    assert ctx.deadline.isoformat() == "1970-01-01T00:00:00+00:00"


@pytest.mark.parametrize(
    "options",
    [[], [Option(id="a", title="John A"), Option(id="a", title="John B")]],
    ids=["none", "same id"],
)
def test_a_question_that_nobody_could_answer_is_the_tools_fault(options: list[Option]) -> None:
    with pytest.raises(MalformedResultError):
        Ctx().clarify("contact", "Which John?", options)


def test_a_confirmation_of_no_target_is_the_tools_fault() -> None:
    with pytest.raises(MalformedResultError, match=r"its confirmation: .*Target"):
        Ctx().confirm("order", "978-3", "Order it?")  # type: ignore[arg-type]


@pytest.mark.parametrize("fraction", [-0.1, 1.01, float("nan")])
def test_progress_is_a_fraction(fraction: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Ctx().progress(fraction)


def test_a_test_sees_progress_and_stops_the_call_in_the_workers_place() -> None:
    told: list[tuple[float, str]] = []
    ctx: Ctx[None] = Ctx(
        progress=lambda *report: told.append(report), stopped=lambda: len(told) == 2
    )
    while not ctx.cancelled:
        ctx.progress(len(told) / 2, "half")
    assert told == [(0.0, "half"), (0.5, "half")]
    assert not Ctx().cancelled
