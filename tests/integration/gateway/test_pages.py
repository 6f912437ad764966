"""The pages over a whole gateway on a real server: what a browser without scripts sees and
sends.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from itsdangerous import TimestampSigner

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.base import chain_of
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.answerers import Answerers, OnTimeout
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.people.keys import EVERYDAY, Scope
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.runtime.streams.presence import Presence
from haltpoint.runtime.streams.refused import RefusedForNow
from haltpoint.runtime.streams.wire import DeadLetterReason
from haltpoint_gateway.http_api import make_api
from haltpoint_gateway.pages import live
from haltpoint_gateway.pages.door import COOKIE
from haltpoint_gateway.people.api import list_keys, revoke_key
from haltpoint_gateway.watchers import EVERYTHING, HEART, HEARTBEAT, hearts
from tests.integration.gateway.conftest import ADMIN, BOSS, System, bearer
from tests.integration.gateway.test_deployment import letter
from tests.integration.gateway.test_keys import OWN
from tests.support import wait_until

NASTY = "<script>alert(1)</script>"


@dataclass
class Browser:
    """A browser without scripts: it keeps cookies, and says where a form was sent from."""

    http: httpx.AsyncClient

    async def see(self, path: str, status: int = 200) -> str:
        """The page, as text without tags."""
        reply = await self.http.get(path)
        assert reply.status_code == status, reply.text
        return words(reply)

    async def send(self, path: str, **fields: str) -> httpx.Response:
        return await self.http.post(path, data=fields, headers=OWN)

    async def sign_in(self, headers: dict[str, str] = bearer(ADMIN)) -> None:  # noqa: B008
        key = headers["Authorization"].removeprefix("Bearer ")
        reply = await self.send("/login", key=key, next="/inbox")
        assert (reply.status_code, reply.headers["location"]) == (303, "/inbox")


def words(reply: httpx.Response) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", reply.text)).split())


@pytest.fixture
async def stranger(system: System) -> AsyncIterator[Browser]:
    """Somebody who has not signed in."""
    transport = httpx.ASGITransport(make_api(system.gateway))
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as http:
        yield Browser(http)


@pytest.fixture
async def browser(stranger: Browser) -> Browser:
    """The admin's browser."""
    await stranger.sign_in()
    return stranger


async def test_who_has_not_signed_in_is_led_to_the_door_and_back(stranger: Browser) -> None:
    reply = await stranger.http.get("/inbox/r1?back=true")
    assert reply.headers["location"] == "/login?next=%2Finbox%2Fr1%3Fback%3Dtrue"
    assert "Key" in await stranger.see("/login?next=%2Finbox%2Fr1")
    refused = await stranger.send("/login", key="hp_wrong", next="/inbox/r1")
    assert refused.status_code == 401
    assert "This key is not known here" in words(refused)
    reply = await stranger.send("/login", key=f" {ADMIN}\n", next="/inbox/r1")
    assert reply.headers["location"] == "/inbox/r1"
    cookie = reply.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "max-age=28800" in cookie
    assert ADMIN not in cookie


@pytest.mark.parametrize("elsewhere", ["//evil.example", "/\\evil.example", "https://evil.example"])
async def test_the_door_leads_to_no_other_site(stranger: Browser, elsewhere: str) -> None:
    reply = await stranger.send("/login", key=ADMIN, next=elsewhere)
    assert reply.headers["location"] == "/"


async def test_a_key_that_may_not_see_pages_is_refused_at_the_door(
    system: System, stranger: Browser
) -> None:
    key = (await system.key("shop", Scope.SUBMIT))["Authorization"].partition(" ")[2]
    refused = await stranger.send("/login", key=key, next="/")
    assert "This key may not see pages" in words(refused)


async def test_a_session_ends_with_its_time_its_key_or_its_signature(
    system: System, stranger: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stranger.sign_in(await system.key("shop", Scope.READ))
    await stranger.see("/inbox")
    cookie = stranger.http.cookies[COOKIE]
    stranger.http.cookies.set(COOKIE, ("0" if cookie[0] != "0" else "1") + cookie[1:])
    assert (await stranger.http.get("/inbox")).status_code == 303
    stranger.http.cookies.clear()
    stranger.http.cookies.set(COOKIE, cookie)
    await stranger.see("/inbox")
    with monkeypatch.context() as ahead:  # another gateway, whose clock is ahead
        ahead.setattr(TimestampSigner, "get_timestamp", lambda _: int(time.time()) + 5)
        await stranger.sign_in()
    await stranger.see("/inbox")
    stranger.http.cookies.clear()
    stranger.http.cookies.set(COOKIE, cookie)
    (made,) = (await list_keys(system.gateway, BOSS)).items
    await revoke_key(system.gateway, made.id, BOSS)
    assert (await stranger.http.get("/inbox")).status_code == 303
    stranger.http.cookies.clear()
    monkeypatch.setattr("haltpoint_gateway.pages.door.LASTS", -1)
    await stranger.sign_in()
    assert (await stranger.http.get("/inbox")).status_code == 303


async def test_signing_out_ends_the_session_of_this_browser(browser: Browser) -> None:
    assert (await browser.send("/logout")).headers["location"] == "/login"
    assert (await browser.http.get("/inbox")).status_code == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://gateway", "Sec-Fetch-Site": "same-site"},
        {"Origin": "null"},
        {},
    ],
)
async def test_a_form_of_another_site_changes_nothing(
    system: System, browser: Browser, headers: dict[str, str]
) -> None:
    request = await system.asked()
    fields = {"decision": "select", "option_id": "u1"}
    reply = await browser.http.post(f"/inbox/{request}", data=fields, headers=headers)
    assert reply.status_code == 403
    assert "but the gateway's own pages are at http://gateway" in words(reply)
    assert (await system.get(f"requests/{request}"))["status"] == "open"


async def test_a_link_from_elsewhere_arrives_although_the_cookie_is_strict(
    stranger: Browser,
) -> None:
    reply = await stranger.http.get("/inbox/r1", headers={"Sec-Fetch-Site": "cross-site"})
    assert reply.status_code == 200
    assert 'http-equiv="refresh"' in reply.text


async def test_an_empty_system_says_what_to_do_next(browser: Browser) -> None:
    seen = await browser.see("/")
    assert "Nothing has run here yet." in seen
    assert "lookup_contacts" in seen
    assert "read_secret" not in seen
    assert "haltpoint model check haltpoint run" in seen
    assert "John" not in seen
    assert "Agents" not in seen


async def test_a_question_is_answered_and_the_next_one_follows(
    system: System, browser: Browser
) -> None:
    first = await system.asked()
    second = await system.ask(await system.submit(goal="Find the other John"))
    listed = await browser.see("/inbox")
    assert "Which John?" in listed
    assert "Lookup contacts · Find the other John" in listed
    seen = await browser.see(f"/inbox/{first}")
    assert "Which John?" in seen
    assert "John Smith" in seen
    assert "Find John" in seen
    reply = await browser.send(f"/inbox/{first}", decision="select", option_id="u2")
    assert reply.headers["location"] == f"/inbox/{second}?answered={first}"
    assert "Your answer is recorded." in await browser.see(reply.headers["location"])
    reply = await browser.send(f"/inbox/{second}", decision="select", option_id="u1")
    assert "Your answer is recorded." in await browser.see(reply.headers["location"])
    document = await system.get(f"requests/{first}")
    assert document["answer"]["answer"]["option_id"] == "u2"
    assert "Answered by admin: select u2" in await browser.see(f"/inbox/{first}")


@pytest.mark.parametrize(
    ("answerers", "follows"),
    [
        (Answerers(), "the step fails."),
        (Answerers(on_timeout=OnTimeout.DENY), "the call is denied, and the model may continue."),
        (Answerers(on_timeout=OnTimeout.ESCALATE, escalate_to="board"), "board is asked."),
    ],
)
async def test_a_call_is_asked_about_by_what_it_does_and_says_what_follows_without_an_answer(
    system: System, browser: Browser, answerers: Answerers, follows: str
) -> None:
    reason = Reason(ReasonKind.RULE, "A rule says so.")
    request = await system.asked(
        kind=RequestKind.CONFIRMATION, reasons=(reason,), answerers=answerers
    )
    assert "Lookup contacts John?" in await browser.see("/inbox")
    card = await browser.see(f"/inbox/{request}")
    assert "Lookup contacts John?" in card
    assert f": {follows}" in card
    assert "Where it comes from" not in card


async def test_a_card_names_the_option_that_a_person_chose(
    system: System, browser: Browser
) -> None:
    chain = await system.submit()
    chosen = await system.ask(chain)
    await browser.send(f"/inbox/{chosen}", decision="select", option_id="u2")
    await system.withdraw(chain)
    reason = Reason(ReasonKind.RULE, "A rule says so.")
    request = await system.ask(
        chain, RequestKind.CONFIRMATION, reasons=(reason,), arguments='{"query":"u2"}'
    )
    assert "Lookup contacts John Doe?" in await browser.see(f"/inbox/{request}")


async def test_who_comes_from_a_chain_returns_to_it_with_the_answer(
    system: System, browser: Browser
) -> None:
    request = await system.asked()
    await system.asked()
    chain = f"/chains/{chain_of(request)}"
    here = f"/inbox/{request}?back=true"
    assert here in (await browser.http.get(chain)).text
    assert "(needs lookup_contacts)" in await browser.see(chain)
    answered = await browser.send(here, decision="select", option_id="u2")
    assert answered.headers["location"] == chain


async def test_an_answer_that_does_not_fit_keeps_what_was_typed(
    system: System, browser: Browser
) -> None:
    form = {
        "type": "object",
        "properties": {"seats": {"type": "integer"}, "note": {"type": "string"}},
        "required": ["seats"],
    }
    request = await system.ask(await system.submit(), RequestKind.INPUT, form=form)
    answer = {"decision": "answer", "valued": "yes", "value.note": "by the window"}
    fields = {**answer, "value.seats": "many"}
    reply = await browser.send(f"/inbox/{request}", **fields)
    assert reply.status_code == 422
    assert "seats" in words(reply)
    assert words(reply).count("value.seats: 'many' is not a whole number") == 2  # and at the field
    assert "by the window" in reply.text
    reply = await browser.send(f"/inbox/{request}", **answer)
    assert reply.status_code == 422
    assert "seats" in words(reply)
    reply = await browser.send(f"/inbox/{request}", **{**answer, "value.seats": "4"})
    assert reply.status_code == 303
    document = await system.get(f"requests/{request}")
    assert document["answer"]["answer"]["value"] == {
        "seats": 4,
        "note": "by the window",
    }


async def test_an_answer_that_there_is_not_is_refused_in_words(
    system: System, browser: Browser
) -> None:
    request = await system.asked()
    reply = await browser.send(f"/inbox/{request}", decision="approve")
    assert reply.status_code == 422
    assert "'approve' cannot be decided here" in words(reply)
    reply = await browser.send(f"/inbox/{request}", decision="none", **{"for": "everything"})
    assert reply.status_code == 422


async def test_the_inbox_is_filtered_by_its_address(system: System, browser: Browser) -> None:
    first = await system.submit(goal="Find John in Rome", tenant="shop")
    await system.ask(first)
    await system.ask(await system.submit(goal="Find John in Bern"))
    for query, shown in {
        "q=rome": "Rome",
        "q=bern&kind=clarification": "Bern",
        "tenant=shop": "Rome",
        "tool=lookup_contacts&agent=&q=BERN": "Bern",
    }.items():
        seen = await browser.see(f"/inbox?{query}")
        assert ("Rome" in seen, "Bern" in seen) == (shown == "Rome", shown == "Bern"), query
    for query in ("tool=nothing", "agent=nobody", "tenant=other", "q=nowhere"):
        assert "No question fits these filters." in await browser.see(f"/inbox?{query}")


async def test_alike_questions_are_answered_together_each_by_itself(
    system: System, browser: Browser
) -> None:
    requests = [await system.ask(await system.submit(), RequestKind.CONFIRMATION) for _ in range(3)]
    seen = await browser.see("/inbox")
    assert "3 questions ask" in seen
    where = "/inbox?tool=lookup_contacts&kind=confirmation"
    assert "yes to the ticked questions" in await browser.see(where)
    ticked = {"decision": "reject", "request": requests[:2]}
    reply = await browser.http.post(where, data=ticked, headers=OWN)
    assert reply.headers["location"] == "/inbox?tool=lookup_contacts&kind=confirmation"
    for request, status in zip(requests, ("answered", "answered", "open"), strict=True):
        assert (await system.get(f"requests/{request}"))["status"] == status
    late = {**ticked, "decision": "approve"}
    reply = await browser.http.post(where, data=late, headers=OWN)
    assert words(reply).count("admin has already answered the request.") == 2


async def test_what_was_taken_before_the_server_refused_is_said_to_be_recorded(
    system: System, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [await system.ask(await system.submit(), RequestKind.CONFIRMATION) for _ in range(3)]
    inbox = system.gateway.inbox
    take = inbox.answer
    tried: list[str] = []

    async def once(request_id: str, *args: Any, **more: Any) -> Any:
        tried.append(request_id)
        if len(tried) > 1:
            raise RefusedForNow("OOM")
        return await take(request_id, *args, **more)

    monkeypatch.setattr(inbox, "answer", once)
    ticked = {"decision": "reject", "request": requests}
    reply = await browser.http.post("/inbox", data=ticked, headers=OWN)
    assert reply.status_code == 503
    assert "Redis refuses writes for now" in words(reply)
    assert "Each answer that was taken is recorded; the inbox shows the open questions." in words(
        reply
    )
    assert "did nothing" not in words(reply)
    assert tried == requests[:2]
    statuses = [(await system.get(f"requests/{request}"))["status"] for request in requests]
    assert statuses == ["answered", "open", "open"]


async def test_a_key_that_may_only_read_sees_and_changes_nothing(
    system: System, stranger: Browser
) -> None:
    request = await system.ask(await system.submit(tenant="shop"))
    await stranger.sign_in(await system.key("shop", Scope.READ))
    assert "Which John?" in await stranger.see(f"/inbox/{request}")
    reply = await stranger.send(f"/inbox/{request}", decision="select", option_id="u1")
    assert reply.status_code == 403
    assert (await stranger.send("/new", goal="Find John")).status_code == 403
    elsewhere = await system.submit(tenant="other")
    await stranger.see(f"/chains/{elsewhere}", 404)


async def test_a_goal_is_typed_and_its_chain_follows(system: System, browser: Browser) -> None:
    seen = await browser.http.get("/new")
    (key,) = re.findall(r'name="key" value="([^"]+)"', seen.text)
    fields = {"goal": "Find John", "mode": "advisory", "key": key}
    reply = await browser.send("/new", **fields)
    address = reply.headers["location"]
    assert address.startswith("/chains/")
    assert (await browser.send("/new", **fields)).headers["location"] == address
    chain = (await system.http.get(f"/v1{address}")).json()
    assert (chain["goal"], chain["mode"]) == ("Find John", "advisory")
    assert "Find John" in await browser.see(address)
    assert "Find John" in await browser.see("/chains")


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"goal": ""}, "goal"),
        ({"goal": "x", "mode": "lax"}, "mode"),
        ({"plan": "{"}, "plan"),
        ({"plan": '{"steps": [{"id": "a", "actions": [{"tool": "nothing"}]}]}'}, "nothing"),
    ],
)
async def test_a_task_that_cannot_be_taken_is_said_with_what_was_typed(
    browser: Browser, fields: dict[str, str], fault: str
) -> None:
    reply = await browser.send("/new", **fields)
    assert reply.status_code == 422
    assert fault in words(reply)


async def test_a_chain_is_stopped_from_its_page(system: System, browser: Browser) -> None:
    chain = await system.submit()
    reply = await browser.send(f"/chains/{chain}/cancel", reason="not today")
    assert reply.headers["location"] == f"/chains/{chain}"
    ended = await system.submit()
    await system.end(ended, ChainStatus.FAILED)
    assert "How it ended" in await browser.see(f"/chains/{ended}")
    reply = await browser.send(f"/chains/{ended}/cancel", reason="")
    assert reply.status_code == 409
    assert "has ended" in words(reply)


async def test_what_others_wrote_is_shown_as_text(system: System, browser: Browser) -> None:
    chain = await system.submit(goal=f"{NASTY} and p\u0430y \u202ebob")
    request = await system.ask(chain, RequestKind.ESCALATION)
    for path in ("/", "/chains", f"/chains/{chain}", "/inbox", f"/inbox/{request}"):
        reply = await browser.http.get(path)
        assert NASTY not in reply.text
        assert NASTY in words(reply)
        assert "U+0430" in reply.text
        assert "U+202E" in reply.text


async def test_pages_may_do_nothing_but_what_they_have_to(system: System, browser: Browser) -> None:
    chain = await system.submit()
    request = await system.ask(chain)
    await system.end(await system.submit(), ChainStatus.FAILED)
    system_pages = ("/tools", "/agents", "/workers", "/queues", "/dead-letters", "/stats")
    chains = ("/chains", f"/chains/{chain}", "/inbox", f"/inbox/{request}")
    for path in ("/", "/new", *chains, *system_pages, "/no"):
        reply = await browser.http.get(path)
        assert "default-src 'none'" in reply.headers["content-security-policy"]
        assert "'unsafe" not in reply.headers["content-security-policy"]
        assert reply.headers["cache-control"] == "no-store"
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\son[a-z]+=", reply.text)
        for address in re.findall(r'(?:src|href)="(/static/[^"]+)"', reply.text):
            asset = await browser.http.get(address)
            assert asset.status_code == 200
            assert "immutable" in asset.headers["cache-control"]


async def test_the_deployment_has_pages(system: System, browser: Browser) -> None:
    seen = await browser.see("/tools")
    assert "lookup_contacts" in seen
    assert "changes nothing" in seen
    assert "No agents file is set" in await browser.see("/agents")
    assert "No worker is alive." in await browser.see("/workers")
    assert "There are none" in await browser.see("/dead-letters")
    seen = await browser.see("/tools/lookup_contacts")
    assert "may ask which" in seen
    assert "In the last seven days Nothing yet." in seen
    assert "There is no tool 'nothing'" in await browser.see("/tools/nothing", 404)
    assert "Nothing yet." in await browser.see("/stats?days=1")
    await browser.sign_in(await system.key("shop", Scope.READ))
    await browser.see("/dead-letters", 403)
    await browser.see("/stats", 403)


async def test_a_queue_is_paused_and_resumed_on_its_page(system: System, browser: Browser) -> None:
    assert (await browser.send("/queues/default/pause")).headers["location"] == "/queues"
    assert "default paused" in await browser.see("/queues")
    await browser.send("/queues/default/resume")
    assert "default paused" not in await browser.see("/queues")
    assert await system.gateway.pauses.read() == frozenset()


async def test_dead_letters_are_put_back_and_dropped_on_their_page(
    system: System, browser: Browser
) -> None:
    for chain in ("c1", "c2"):
        await letter(system, DeadLetterReason.BAD_JSON, NASTY.encode(), chain)
    reply = await browser.http.get("/dead-letters")
    assert NASTY not in reply.text
    assert words(reply).count(NASTY) == 2
    first, second = re.findall(r'"(/dead-letters/[^"]+)/requeue"', reply.text)
    assert (await browser.send(f"{first}/requeue")).headers["location"] == "/dead-letters"
    await browser.send(f"{second}/drop")
    assert (await browser.send(f"{second}/drop")).status_code == 404
    assert "There are none" in await browser.see("/dead-letters")


async def test_r10_a_loss_is_shown_above_the_dead_letters(browser: Browser, system: System) -> None:
    await system.gateway.recovery.lose_group(0, "tools:default")
    assert "The server has lost writes of partition 0" in await browser.see("/dead-letters")
    reply = await browser.send("/dead-letters/accept")
    assert reply.headers["location"] == "/dead-letters"
    assert "has lost" not in await browser.see("/dead-letters")


async def test_a_worker_shows_what_it_has_in_hand(system: System, browser: Browser) -> None:
    about = {"queues": ["default"], "tools": ["send"], "slots": 4, "left_over": 1}
    present = Presence(system.topology, "tool-worker", "w1", 1_700_000_000_000)
    await present.renew(system.redis, {**about, "holds": ["c1.s.1"]})
    seen = await browser.see("/workers")
    assert "c1.s.1" in seen
    assert "1 are over but still running" in seen


async def test_a_chain_is_run_again_from_its_page_once(system: System, browser: Browser) -> None:
    ended = await system.submit(goal="Find John once more")
    await system.end(ended)
    (key,) = re.findall(
        r'name="key" value="([^"]+)"', (await browser.http.get(f"/chains/{ended}")).text
    )
    replies = [await browser.send(f"/chains/{ended}/again", key=key) for _ in range(2)]
    (address,) = {reply.headers["location"] for reply in replies}
    assert address != f"/chains/{ended}"
    assert "Find John once more" in await browser.see(address)


async def test_what_is_no_page_is_said_as_a_page_and_below_v1_as_a_document(
    system: System, browser: Browser
) -> None:
    assert "This did not work" in await browser.see("/nothing", 404)
    assert "There is no request 'r9'" in await browser.see("/inbox/r9", 404)
    reply = await system.http.get("/v1/nothing")
    assert reply.headers["content-type"] == "application/problem+json"
    assert "kind" in await browser.see("/inbox?kind=strange", 422)


async def test_an_open_page_is_told_to_look_again(
    system: System, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "PAUSE", 0.0)
    chain, other = await system.submit(), await system.submit()
    watchers = system.gateway.watchers
    told: dict[str, list[bytes]] = {"chain": [], "all": []}

    async def look(name: str, of: str) -> None:
        async for piece in live.changes(watchers, of):
            told[name].append(piece)

    looking = [
        asyncio.create_task(look("chain", chain)),
        asyncio.create_task(look("all", EVERYTHING)),
    ]
    await system.tell(chain, FactType.STEP_STARTED)
    await wait_until(lambda: all(told.values()))  # both have begun
    watchers.wake(other)
    await wait_until(lambda: len(told["all"]) > 1)
    watchers.wake(f"{chain}~a")
    await wait_until(lambda: len(told["chain"]) > 1)
    watchers.close()
    await asyncio.gather(*looking)
    assert told["chain"][1] == b"event: changed\ndata:\n\n"
    await browser.see("/live?chain=nothing", 404)


def test_templates_have_no_words_of_their_own() -> None:
    """All words are in one file, so that they can be read, or said in another language, at once."""
    folder = Path(live.__file__).with_name("templates")
    for template in folder.glob("*.html"):
        source = re.sub(r"\{% block live %\}.*?\{% endblock %\}", "", template.read_text())
        text = re.sub(r"\{[{%#].*?[}%#]\}|<[^>]*>", " ", source, flags=re.DOTALL)
        assert re.findall(r"[A-Za-z]{3,}", text) == [], template.name


async def test_a_person_sees_for_whom_a_question_is_who_has_taken_it_and_who_said_yes(
    system: System, stranger: Browser
) -> None:
    chain = await system.submit()
    kind = RequestKind.CONFIRMATION
    theirs = await system.ask(
        chain, kind, answerers=Answerers(to=("group:finance",), quorum=2), within=90_000
    )
    others = await system.ask(await system.submit(), kind, answerers=Answerers(to=("group:board",)))
    finance = await system.key(None, *EVERYDAY, name="bob", groups=("finance",))
    key = await system.key(None, *EVERYDAY, name="ann", groups=("finance",))
    await stranger.sign_in(key)
    mine = (await stranger.http.get("/inbox?mine=True")).text
    assert f'id="{theirs}"' in mine
    assert f'id="{others}"' not in mine
    card = await stranger.see(f"/inbox/{others}")
    assert "You cannot answer this question: it is for group:board." in card
    assert "Cancel the whole chain" not in card
    assert "2 people have to say the same yes. So far 0" in await stranger.see(f"/inbox/{theirs}")
    await system.http.post(f"/v1/requests/{theirs}/claim", headers=finance)
    card = await stranger.see(f"/inbox/{theirs}")
    assert "bob has taken this question until" in card
    assert "Cancel the whole chain" not in card
    assert (await stranger.send(f"/inbox/{theirs}/release")).status_code == 409
    yes = {"kind": "confirmation", "decision": "approve"}
    for said in ({"text": "once"}, {}):
        await system.http.post(f"/v1/requests/{theirs}/answer", headers=finance, json=yes | said)
        card = await stranger.see(f"/inbox/{theirs}")
        assert ("So far 1: bob" in card, "bob once" in card) == (True, bool(said))
    taken = await stranger.send(f"/inbox/{theirs}/claim")
    assert taken.headers["location"] == f"/inbox/{theirs}"
    assert "Give it back" in await stranger.see(f"/inbox/{theirs}")
    answered = await stranger.send(f"/inbox/{theirs}", decision="approve")
    assert answered.headers["location"] == f"/inbox?answered={theirs}"
    card = await stranger.see(f"/inbox/{theirs}")
    assert ("Answered by bob, ann" in card, "So far" in card) == (True, False)


async def test_a_pause_of_a_stream_says_that_it_is_alive() -> None:
    said = [heart async for heart in hearts(HEARTBEAT + 0.01)]
    assert (said, [heart async for heart in hearts(0.01)]) == ([HEART], [])
