"""D5: a function may decide an escalated case before people do; whatever it cannot decide is
theirs.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.views.chains import RequestView
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint_gateway.escalations import EscalationHandler
from tests.integration.gateway.conftest import System, running
from tests.support import wait_until
from tests.support.escalations import SEEN
from tests.support.secret_forms import FORMS, secret_in


async def seen(system: System, request: str) -> Any:
    return await system.get(f"requests/{request}")


@pytest.mark.parametrize("name", ["settle", "settle_later"])
async def test_d5_a_handler_decides_what_it_can_and_people_the_rest(
    system: System, server: EmbeddedServer, tmp_path: Path, name: str
) -> None:
    async with running(
        system, server, tmp_path, escalation_handler=f"tests.support.escalations:{name}"
    ):
        asked = {
            goal: await system.ask(await system.submit(goal=goal), RequestKind.ESCALATION)
            for goal in ("give it", "give something else", "fail", "end the process", "pass")
        }
        other = await system.ask(await system.submit(goal="give it"), RequestKind.INPUT)

        async def all_told() -> bool:
            return not any(
                [await system.entries("humans", one) for one in (*asked.values(), other)]
            )

        await wait_until(all_told)
        answer = (await seen(system, asked.pop("give it")))["answer"]
        assert (answer["by"], answer["answer"]["value"]) == (
            f"handler:{name}",
            {"contact_id": "u1"},
        )
        for request in (*asked.values(), other):
            assert (await seen(system, request))["status"] == "open"


async def test_a_handler_gets_a_case_without_secrets(
    system: System, server: EmbeddedServer, tmp_path: Path
) -> None:
    async with running(
        system, server, tmp_path, escalation_handler="tests.support.escalations:settle"
    ):
        goal = f"Log in: {' | '.join(FORMS.values())}"
        request = await system.ask(await system.submit(goal=goal), RequestKind.ESCALATION)

        async def told() -> bool:
            return request in [case.id for case in SEEN]

        await wait_until(told)
    (case,) = (case for case in SEEN if case.id == request)
    assert case.goal.startswith("Log in: ***")
    assert [form for form, text in FORMS.items() if secret_in(text) in case.goal] == []


async def test_d5_a_handler_that_takes_too_long_passes(system: System) -> None:
    request = await system.ask(await system.submit(), RequestKind.ESCALATION)
    case = RequestView.model_validate(await seen(system, request))

    async def slow(_: RequestView) -> None:
        await asyncio.sleep(60)  # it is given up after 0.05 s: that is the point

    assert await EscalationHandler("m:slow", slow, patience=0.05).decide(case) is None


@pytest.mark.parametrize(
    "path", ["tests.support.escalations:nobody", "no.such.module:f", "tests.support:__doc__"]
)
def test_a_handler_that_is_not_there_is_named(path: str) -> None:
    with pytest.raises(HaltpointError) as refused:
        EscalationHandler.load(path)
    assert refused.value.code == "HP-035"
    assert path in refused.value.what
