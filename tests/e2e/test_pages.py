"""The pages of chains as they really are: one that left something out, and two that ask."""

import httpx
import pytest

from haltpoint.client import Client
from tests.e2e.running import Running


@pytest.mark.parametrize(
    "goal", ["Tell Zorgblort hello", "Book a room", "Spread the report on pages"]
)
async def test_the_pages_of_a_chain_show_it(system: Running, client: Client, goal: str) -> None:
    run = await client.run(goal)
    async for event in run.events():
        if event.type == "request.opened":
            break
    headers = {"Origin": system.url}
    async with httpx.AsyncClient(base_url=system.url, headers=headers, timeout=60) as browser:
        fields = {"key": system.key, "next": "/"}
        assert (await browser.post("/login", data=fields)).status_code == 303
        requests = (await client.chain(run.id)).requests
        has_called = any(request.action_id for request in requests)
        for path in (f"/chains/{run.id}", *(f"/inbox/{request.id}" for request in requests)):
            page = await browser.get(path)
            assert page.status_code == 200, page.text
            assert run.id in page.text
            for request in requests:
                assert all(other.arguments["email"] in page.text for other in request.others)
            assert not (has_called and "Nothing has been called yet." in page.text)
