"""In a conversation a few words are the answer to the open question, over real processes (CONTRACT
G5).
"""

from typing import Any

from haltpoint.client import Client
from haltpoint.contracts.people.humans import RequestKind
from tests.e2e.running import Running


async def test_g5_a_yes_lets_the_very_call_run(system: Running, client: Client) -> None:
    talk: dict[str, Any] = {"conversation_id": "pages", "user": "ann"}
    call = {"tool": "delete_page", "arguments": {"page": "talk"}}
    run = await client.run(plan={"steps": [{"id": "delete", "actions": [call]}]}, **talk)
    await run.expects_request(RequestKind.CONFIRMATION)
    assert (await client.run("ja", **{**talk, "user": "bob"})).id != run.id
    assert (await client.run("ja", **talk, context={"more": "than a word"})).id != run.id
    assert system.written(run.id) == []
    assert (await client.run("ja", **talk)).id == run.id
    assert (await run.result()).status == "completed"
    assert system.written(run.id) == ["deleted talk after 0"]
