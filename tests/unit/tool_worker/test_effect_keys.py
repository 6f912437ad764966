"""What a worker makes of an effect that another call has (CONTRACT E6)."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.results import ErrorType
from haltpoint.runtime.store.limits.effects import OwnEffect, Prior, Standing
from haltpoint.runtime.store.receipts import Finished
from haltpoint.tools import Tool, ToolError, register
from haltpoint_tool_worker.admission.effects import effect_of
from haltpoint_tool_worker.registry import Registry
from tests.support.limits import PaperLimits, unlimited
from tests.unit.tool_worker.calling import Call, fault_of, question_of
from tests.unit.tool_worker.test_hooks import declared

RAN: list[str] = []


async def pay(invoice: str, amount: float = 5, note: str = "") -> dict[str, Any]:
    """Pay an invoice."""
    if invoice == "unknown":
        raise ToolError.not_found("no such invoice")
    if invoice == "dead":
        raise ToolError.server("the line went dead")
    RAN.append(invoice)
    return {}


PAY = register(pay, effect_key="pay:{invoice}:{amount}", says="Paid {invoice}")
KEEP = register(pay, name="keep", idempotent=True, effect_key="keep:{invoice}")


@dataclass
class PaperEffects:
    """What Redis would say of an effect, and what a worker wrote there."""

    first: Prior | None = None
    taken: bool = False
    told: list[str] = field(default_factory=list)

    async def prior(self, _digest: str, _action: str) -> Prior | None:
        return self.first

    async def reserve(self, digest: str, action: str, *about: Any, keep: bool) -> OwnEffect | None:
        over = about[-1]
        self.told.append(
            f"reserve {action}{f' over {over.owner}' if over else ''}"
            f"{' and keep it' if keep else ''}"
        )
        return None if self.taken else OwnEffect(digest, 1)

    def settle(self, _own: OwnEffect, action: str, standing: Standing, says: str) -> Any:
        self.told.append(f"{standing.value} {action} {says}".strip())
        return PaperLimits()._done("")


def earlier(standing: Standing, says: str = "") -> Prior:
    return Prior("first.s.1", 3, 0, standing, says)


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


async def run_call(
    paper: PaperEffects,
    tool: Tool = PAY,
    arguments: str = '{"invoice": "i"}',
    hooks: tuple[Any, ...] = (),
    *,
    begun: bool = False,
    **order: Any,
) -> Finished:
    registry, limits = Registry(), PaperLimits()
    for one in {tool.name: tool, "pay": PAY}.values():
        registry.add(one)
    registry.prepare([declared(one) for one in hooks])
    shared = unlimited(limits, paper)
    given: dict[str, Any] = {"attempt": 1, "tenant": "acme", "repeatable": False} | order
    call = Call(registry, tool.name, arguments, shared=shared, begun=begun, **given)
    finished = await call.receipt()
    if call.job.effect is not None:
        call.pipeline.shared.settle(call.job, call.job.effect, finished)
    return finished


def error_of(finished: Finished) -> tuple[ErrorType, str]:
    return fault_of(finished).error_type, fault_of(finished).message


async def test_e6_a_call_reserves_its_effect_and_says_that_it_is_done() -> None:
    paper = PaperEffects()
    assert (await run_call(paper)).outcome.success
    assert paper.told == ["reserve c.s.1", 'done c.s.1 Paid "i"']


@pytest.mark.parametrize("begun", [False, True])
async def test_e6_what_an_idempotent_call_did_not_do_this_time_its_worker_that_died_may_have_done(
    begun: bool,
) -> None:
    paper = PaperEffects()
    finished = await run_call(
        paper, KEEP, arguments='{"invoice": "unknown"}', begun=begun, repeatable=True
    )
    assert fault_of(finished).no_effect is (False if begun else None)
    assert paper.told == ["reserve c.s.1"] + ["free c.s.1"] * (not begun)


async def test_e6_a_call_whose_effect_is_done_is_denied_with_the_first_receipt() -> None:
    paper = PaperEffects(earlier(Standing.DONE, 'Paid "i"'))
    finished = await run_call(paper)
    kind, words = error_of(finished)
    assert kind is ErrorType.DENIED
    assert (
        words
        == 'pay was not called: pay:"i":5 was done at 1970-01-01 00:00 UTC by first.s.1: Paid "i".'
    )
    assert json.loads(finished.data) == {"first": {"action_id": "first.s.1", "says": 'Paid "i"'}}
    assert (RAN, paper.told) == ([], [])


@pytest.mark.parametrize(
    ("standing", "words"),
    [(Standing.UNDER_WAY, "first.s.1 is under way"), (Standing.IN_DOUBT, "first.s.1 is in doubt")],
)
async def test_e6_a_call_rests_while_the_first_is_not_over(standing: Standing, words: str) -> None:
    waits = []
    for limited in (0, 1, 9):
        finished = await run_call(
            PaperEffects(earlier(standing)), attempt=limited + 1, limited=limited
        )
        fault, metadata = finished.outcome.error, finished.metadata
        assert fault is not None
        assert metadata is not None
        assert (fault.error_type, words in fault.message) == (ErrorType.RATE_LIMIT, True)
        assert (metadata.again, metadata.limit) == (
            True,
            "the effect_key pay:{invoice}:{amount} of pay",
        )
        waits.append(fault.retry_after)
    assert waits == [0.3, 0.6, 5.0]
    assert RAN == []


async def test_e6_a_call_that_people_are_asked_about_asks_before_it_rests() -> None:
    """What rests comes back without the reasons of its judges."""
    why = (Reason(kind=ReasonKind.TARGET, words="look"),)
    asked = question_of(await run_call(PaperEffects(earlier(Standing.UNDER_WAY)), reasons=why))
    assert asked.reasons == why
    assert RAN == []


async def test_e6_a_call_that_lost_the_race_rests_and_takes_no_claim() -> None:
    assert error_of(await run_call(PaperEffects(taken=True)))[0] is ErrorType.RATE_LIMIT
    assert RAN == []


async def test_e6_what_did_not_happen_is_taken_over() -> None:
    paper = PaperEffects(earlier(Standing.FREE))
    assert (await run_call(paper)).outcome.success
    assert paper.told[0] == "reserve c.s.1 over first.s.1"


async def test_e6_a_person_is_asked_about_a_doubt_that_no_chain_resolves() -> None:
    finished = await run_call(PaperEffects(earlier(Standing.UNKNOWN)))
    asked = question_of(finished)
    assert [one.kind for one in asked.reasons] == [ReasonKind.REPEAT]
    assert "may have happened, and its chain is over. Make it again?" in asked.reasons[0].words
    assert RAN == []


async def test_e6_a_yes_holds_for_the_first_call_that_the_person_saw() -> None:
    why = (Reason(kind=ReasonKind.TARGET, words="look"),)
    seen = earlier(Standing.DONE, "Paid")
    asked = (await run_call(PaperEffects(seen), reasons=why)).outcome.confirmation
    unaware = (await run_call(PaperEffects(), reasons=why)).outcome.confirmation
    assert asked is not None
    assert unaware is not None
    assert [one.kind for one in asked.reasons] == [ReasonKind.TARGET, ReasonKind.REPEAT]
    assert asked.digest != unaware.digest


def test_e6_equal_calls_have_one_effect() -> None:
    def digest(tenant: str | None, **arguments: Any) -> str:
        return effect_of(PAY.spec, tenant, json.dumps(arguments)).digest

    assert digest("acme", invoice="i") == digest("acme", note="x", amount=5, invoice="i")
    others = {
        digest("acme", invoice="i"),
        digest("acme", invoice="j"),
        digest("acme", invoice="i", amount=6),
    }
    assert len(others | {digest(None, invoice="i"), digest("other", invoice="i")}) == 5
