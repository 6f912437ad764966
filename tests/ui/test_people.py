"""Several people at one question, and keys that are made and revoked, in browsers side by side."""

from collections.abc import Callable

import httpx
import pytest

from haltpoint.contracts.views.chains import RequestView
from haltpoint.sync_client import SyncClient, SyncRun
from tests.e2e.running import Running
from tests.ui.conftest import Person

People = Callable[..., Person]
Key = Callable[..., str]


@pytest.fixture
def key(system: Running) -> Key:
    """Makes a key of a person in these groups."""

    def make(name: str, *groups: str) -> str:
        admin = {"Authorization": f"Bearer {system.key}"}
        asked = {"name": name, "groups": groups}
        made = httpx.post(f"{system.url}/v1/keys", headers=admin, json=asked)
        return str(made.json()["key"])

    return make


def refund(client: SyncClient, goal: str) -> tuple[SyncRun, RequestView]:
    """A chain that asks two people of finance."""
    call = {"tool": "refund", "arguments": {"to": "acc-1", "amount": 9000}}
    run = client.run(goal, plan={"steps": [{"id": "s", "actions": [call]}]})
    return run, run.expects_request()


def test_a_question_to_a_group_is_seen_by_it_alone(
    client: SyncClient, person: People, key: Key
) -> None:
    _, request = refund(client, "Refund for finance alone")
    ann, eve = person(key("ann", "finance")), person(key("eve", "ops"))
    for somebody, items in ((ann, 1), (eve, 0)):
        listed = somebody.page.locator(".items [data-request]", has_text="finance alone")
        somebody.goes_to("/inbox?q=finance+alone")
        assert listed.count() == items
        somebody.page.get_by_role("link", name="for me").click()
        somebody.page.wait_for_url("**mine=True")
        assert listed.count() == items
    eve.goes_to(f"/inbox/{request.id}")
    eve.sees("You cannot answer this question: it is for group:finance.")
    assert eve.page.locator(".answers button").count() == 0


def test_two_people_see_each_others_votes_and_claims_at_once_and_both_have_to_say_yes(
    system: Running, client: SyncClient, person: People, key: Key
) -> None:
    run, request = refund(client, "Refund a lot")
    ann, bob = (person(key(name, "finance")) for name in ("ann", "bob"))
    for somebody in (ann, bob):
        somebody.goes_to(f"/inbox/{request.id}")
    ann.page.get_by_role("button", name="Take it").click()
    bob.sees("ann has taken this question")
    assert bob.page.locator(".answers button").count() == 0
    ann.page.get_by_role("button", name="Give it back").click()
    bob.page.locator(".answers button").first.wait_for()
    ann.page.keyboard.press("y")
    ann.sends_now()
    ann.page.wait_for_url("**answered=**")
    bob.sees("So far 1: ann")
    bob.page.keyboard.press("y")
    bob.sends_now()
    assert run.result().status == "completed"
    ann.goes_to(f"/inbox/{request.id}")
    ann.sees("Answered by ann, bob")
    assert len(system.written(run.id)) == 1


def test_a_key_is_made_used_and_revoked_and_its_page_is_over(person: People) -> None:
    admin = person()
    admin.goes_to("/keys")
    admin.page.get_by_label("Name").fill("cleo of the page")
    admin.page.get_by_label("Groups").fill("finance, ops")
    admin.page.get_by_role("button", name="Make it").click()
    cleo = person(admin.page.locator(".notice code").inner_text())
    cleo.sees("Inbox")
    assert not cleo.page.get_by_label("Key").is_visible()
    row = admin.page.get_by_role("row", name="cleo of the page")
    row.get_by_role("button", name="Revoke").click()
    cleo.page.get_by_label("Key").wait_for()
    assert admin.page.get_by_role("row", name="cleo of the page").count() == 0
