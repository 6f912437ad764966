"""The user's own conditions bind, over real processes (CONTRACT C12)."""

import pytest

from haltpoint.client import Client
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.contracts.reasons import ReasonKind
from haltpoint.contracts.work.bounds import SaidBy
from tests.e2e.running import Running


@pytest.mark.parametrize(
    ("style", "words", "decision"),
    [
        ("plan", "Let me confirm first.", Choice.APPROVE),
        ("react", "Lass mich das erst bestätigen.", Choice.REJECT),
    ],
)
async def test_c12_who_wants_to_confirm_first_is_asked_once_before_anything_is_sent(
    system: Running, client: Client, style: str, words: str, decision: Choice
) -> None:
    run = await client.run(task={"goal": f"Tell Jane dinner is at eight. {words}", "style": style})
    request = await run.expects_request(RequestKind.CONFIRMATION)
    assert system.sent(run.id) == []
    assert ([one.kind for one in request.reasons], request.tool) == (
        [ReasonKind.ASK_BEFORE],
        "send_message",
    )
    chain = await client.chain(run.id)
    assert chain.bounds is not None
    assert [bound.by for bound in chain.bounds.ask_before] == [SaidBy.PATTERN]
    assert "ask_before:" in (await system.typed("chain", "show", run.id)).stdout

    await client.answer(request.id, decision=decision)

    if decision is Choice.APPROVE:
        result = await run.result()
        assert (result.status, len(system.sent(run.id)), len(result.chain.requests)) == (
            "completed",
            1,
            1,
        )
    else:
        await run.result()
        assert system.sent(run.id) == []
