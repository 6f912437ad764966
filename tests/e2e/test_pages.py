"""The pages of chains as they really are: completed, waiting, left out, failed, escalated."""

import httpx
import pytest

from haltpoint.client import Client
from tests.e2e.running import Running


@pytest.mark.parametrize(
    "goal",
    [
        *("Tell Jane hello", "Tell John hello", "Tell Zorgblort hello"),
        *("Book a room", "Ask for it", "Spread the report on pages"),
    ],
)
async def test_the_pages_of_a_chain_show_it(system: Running, client: Client, goal: str) -> None:
    run = await client.run(goal)
    await seen(system, client, run.id)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("echo", {"words": "break"}),
        ("delete_page", {"page": "home"}),
        ("publish", {"page": "home"}),
        ("sign_in", {"user": "a", "password": "b", "code": "c", "pin": 1, "note": "d"}),
    ],
)
async def test_the_pages_of_a_plan_show_it(
    system: Running, client: Client, tool: str, arguments: dict[str, object]
) -> None:
    call = {"tool": tool, "arguments": arguments}
    plan = {"steps": [{"id": "s", "actions": [call]}]}
    run = await client.run("A plan", task={"goal": "A plan", "plan": plan})
    await seen(system, client, run.id)


async def seen(system: Running, client: Client, chain: str) -> None:
    """Wait until the chain has ended or asks, and open its pages."""
    run = client.attach(chain)
    async for event in run.events():
        if event.type == "request.opened":
            break
    headers = {"Origin": system.url}
    async with httpx.AsyncClient(base_url=system.url, headers=headers, timeout=60) as browser:
        fields = {"key": system.key, "next": "/"}
        assert (await browser.post("/login", data=fields)).status_code == 303
        requests = (await client.chain(chain)).requests
        has_called = any(request.action_id for request in requests)
        for path in (f"/chains/{chain}", *(f"/inbox/{request.id}" for request in requests)):
            page = await browser.get(path)
            assert page.status_code == 200, page.text
            assert chain in page.text
            for request in requests:
                assert all(other.arguments["email"] in page.text for other in request.others)
            assert not (has_called and "Nothing has been called yet." in page.text)
