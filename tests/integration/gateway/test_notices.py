"""People hear of questions without looking: real receivers, gateways that die, services that
fail.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.handlers import Message
from aiosmtpd.smtp import SMTP
from pydantic import SecretStr
from standardwebhooks.webhooks import Webhook
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from typer.testing import CliRunner

from haltpoint.cli.main import app
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.answerers import Answerers
from haltpoint.contracts.people.humans import ListedCall, RequestKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import GatewaySettings, LimitSettings
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.service.http import HttpServer
from haltpoint.runtime.streams.topology import make_groups
from haltpoint_gateway.notices.notifier import FAILED, GROUP, Notifier
from tests.integration.gateway.conftest import ADMIN, System, running
from tests.support import wait_until

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLwMfKQ9r8GKY"


class Receiver:
    """A program that takes notices. `status` says what it answers to the nth of one id."""

    def __init__(self, status: Any = lambda _: 204) -> None:
        self.taken: list[JsonObject] = []
        self.tries: Counter[str] = Counter()
        self._status = status

    async def take(self, request: Request) -> Response:
        body = await request.body()
        document = Webhook(SECRET).verify(body, dict(request.headers))
        name = request.headers["webhook-id"]
        assert document["id"] == name
        self.tries[name] += 1
        status = self._status(self.tries[name])
        if status < 300:
            self.taken.append(document)
        return Response(status_code=status)

    def ids(self) -> set[str]:
        return {document["id"] for document in self.taken}


@asynccontextmanager
async def listening(receiver: Receiver) -> AsyncIterator[str]:
    """The address of a receiver."""
    site = Starlette(routes=[Route("/hook", receiver.take, methods=["POST"])])
    http = HttpServer(site, "127.0.0.1", 0)
    await http.start()
    try:
        yield f"http://127.0.0.1:{http.port}/hook"
    finally:
        await http.stop()


def gateway(
    system: System, server: EmbeddedServer, folder: Path, policy: str, **settings: Any
) -> AbstractAsyncContextManager[None]:
    """A gateway that really runs with this policy file."""
    file = folder / "policy.toml"
    file.write_text(policy)
    about = GatewaySettings(
        port=0, admin_key=SecretStr(ADMIN), public_url="https://desk.example.com/"
    )
    return running(system, server, folder, policy_file=file, gateway=about, **settings)


def rule(where: str, more: str = "") -> str:
    return f'[[notify]]\nname = "desk"\nwebhook = "{where}"\nsecret_env = "DESK_SECRET"\n{more}'


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_SECRET", SECRET)


async def test_a_question_is_announced_with_its_deadline_and_a_link_and_no_arguments(
    system: System, server: EmbeddedServer, tmp_path: Path
) -> None:
    receiver = Receiver()
    request = await system.asked()  # before any gateway listens
    async with listening(receiver) as where, gateway(system, server, tmp_path, rule(where)):
        await wait_until(lambda: bool(receiver.taken))
    (document,) = receiver.taken
    assert document["type"] == "request.opened"
    assert document["question"] == "Which John?"
    assert document["link"] == f"https://desk.example.com/inbox/{request}"
    assert document["deadline"]
    assert "John" not in json.dumps({**document, "question": ""})


async def test_arguments_are_shown_where_a_rule_says_so_and_secrets_never(
    system: System, server: EmbeddedServer, tmp_path: Path
) -> None:
    receiver = Receiver()
    async with (
        listening(receiver) as where,
        gateway(system, server, tmp_path, rule(where, "arguments = true")),
    ):
        secret = '{"query":"John","password":"s3cret"}'
        listed = ListedCall(place=1, arguments=secret, reasons=())
        await system.ask(await system.submit(), arguments=secret, others=(listed,))
        await wait_until(lambda: bool(receiver.taken))
    shown = {"query": "John", "password": "***"}
    assert (receiver.taken[0]["arguments"], receiver.taken[0]["others"]) == (shown, [shown])


async def test_a_rule_announces_its_kinds_and_tools_alone(
    system: System, server: EmbeddedServer, tmp_path: Path
) -> None:
    receiver = Receiver()
    async with listening(receiver) as where:
        other = rule(where, 'tools = ["refund_*"]').replace("desk", "money", 1)
        policy = rule(where, 'kinds = ["confirmation"]\ntools = ["lookup_*"]\n') + other
        async with gateway(system, server, tmp_path, policy):
            await system.ask(await system.submit(), RequestKind.CLARIFICATION)
            yes_or_no = await system.ask(await system.submit(), RequestKind.CONFIRMATION)
            await wait_until(lambda: bool(receiver.taken))
    assert receiver.ids() == {f"desk/{yes_or_no}/opened"}
    assert receiver.taken[0]["does"] == "Find a contact by name."


async def test_a_rule_for_a_group_announces_what_is_put_to_it_and_says_to_whom(
    system: System, server: EmbeddedServer, tmp_path: Path
) -> None:
    receiver = Receiver()
    async with listening(receiver) as where:
        people = rule(where, 'to = ["Ann"]\n').replace("desk", "people", 1)
        policy = rule(where, 'to = ["group:finance"]\n') + people
        async with gateway(system, server, tmp_path, policy):
            await system.asked()
            theirs = await system.asked(answerers=Answerers(to=("group:finance", "bob")))
            anns = await system.asked(answerers=Answerers(to=("ann",)))
            await wait_until(lambda: len(receiver.taken) == 2)
    assert receiver.ids() == {f"desk/{theirs}/opened", f"people/{anns}/opened"}
    assert sorted(document["to"] for document in receiver.taken) == [
        ["ann"],
        ["group:finance", "bob"],
    ]


async def test_a_question_that_is_answered_in_time_is_not_announced(
    system: System, server: EmbeddedServer, tmp_path: Path
) -> None:
    receiver = Receiver()
    choice = {"kind": "clarification", "option_id": "u1"}
    answered = await system.asked()
    await system.http.post(f"/v1/requests/{answered}/answer", json=choice)
    async with (
        listening(receiver) as where,
        gateway(system, server, tmp_path, rule(where, 'after = "1s"')),
    ):
        waiting = await system.asked()
        await wait_until(lambda: bool(receiver.taken))
        await wait_until(lambda: _is_empty(system))
    assert receiver.ids() == {f"desk/{waiting}/opened"}


async def _faults(system: System) -> list[str]:
    return [item["fault"] for item in (await system.get("notices"))["items"]]


async def _has_failed(system: System) -> bool:
    return bool(await _faults(system))


async def _is_heard(system: System) -> bool:
    return bool(await system.redis.zcard(f"{FAILED}:desk"))


async def _is_empty(system: System) -> bool:
    return not await system.redis.exists("hp:{0}:notices", "hp:{0}:notices:desk")


async def test_a_service_that_fails_gets_the_notice_again_under_the_same_id(
    system: System, server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("haltpoint_gateway.notices.notifier._PAUSES", [0.05] * 9)
    receiver = Receiver(lambda nth: 500 if nth < 4 else 200)
    async with listening(receiver) as where, gateway(system, server, tmp_path, rule(where)):
        request = await system.asked()
        await wait_until(lambda: bool(receiver.taken))
        await wait_until(lambda: _is_empty(system))
    assert receiver.tries == {f"desk/{request}/opened": 4}
    assert (await system.get("notices"))["items"] == []


async def test_a_service_that_is_slow_holds_up_one_notice_of_its_rule_and_no_other(
    system: System, server: EmbeddedServer, tmp_path: Path
) -> None:
    goes_on = asyncio.Event()

    class Slow(Receiver):
        async def take(self, request: Request) -> Response:
            self.tries[request.headers["webhook-id"]] += 1
            await goes_on.wait()
            return Response(status_code=204)

    receiver = Slow()
    async with listening(receiver) as where, gateway(system, server, tmp_path, rule(where)):
        asked = [await system.asked() for _ in range(2)]
        await wait_until(lambda: len(receiver.tries) == 2)
        goes_on.set()
    assert receiver.tries == {f"desk/{request}/opened": 1 for request in asked}


@pytest.mark.parametrize("place", ["mailto:x", "http://xn--a/"])
async def test_an_answer_that_leads_nowhere_ends_no_gateway(
    system: System, server: EmbeddedServer, tmp_path: Path, place: str
) -> None:
    class Elsewhere(Receiver):
        async def take(self, _: Request) -> Response:
            return Response(status_code=302, headers={"location": place})

    async with listening(Elsewhere()) as where, gateway(system, server, tmp_path, rule(where)):
        await system.asked()
        await wait_until(lambda: _has_failed(system))
        assert all(await _faults(system))


async def test_a_question_that_cannot_be_read_ends_no_gateway_when_its_notice_is_due(
    system: System, server: EmbeddedServer, tmp_path: Path
) -> None:
    receiver = Receiver()
    async with (
        listening(receiver) as where,
        gateway(system, server, tmp_path, rule(where, 'after = "2s"')),
    ):
        request = await system.asked()
        await wait_until(lambda: _is_heard(system))
        chain, name = request.rsplit(".", 1)
        row = system.topology.key_of("data", chain)
        redis: Any = system.redis
        text = await redis.hget(row, name)
        other = text.replace(b'"clarification"', b'"novelty"')
        await redis.hset(row, name, other)

        await wait_until(lambda: _has_failed(system))
        assert "novelty" in (await _faults(system))[0]


async def test_a_notice_that_no_service_takes_is_seen_given_up_after_a_day_and_then_forgotten(
    system: System, server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def listed() -> list[JsonObject]:
        items: list[JsonObject] = (await system.get("notices"))["items"]
        return items

    async def is_listed() -> bool:
        return bool(await listed())

    request = await system.asked()
    async with listening(Receiver(lambda _: 503)) as where:
        async with gateway(system, server, tmp_path, rule(where)):
            await wait_until(is_listed)
            (item,) = await listed()
            assert (item["rule"], item["request_id"]) == ("desk", request)
            assert item["fault"] == "it answered 503"
            assert not item["given_up"]
            shown = await system.http.get(f"/v1/requests/{request}")
            assert shown.json()["status"] == "open"  # a failing notice touches no chain
        monkeypatch.setattr("haltpoint_gateway.notices.notifier._PAUSES", (4.0,))
        again = await system.asked()
        async with gateway(system, server, tmp_path, rule(where)):

            async def is_given_up() -> bool:
                return [n["request_id"] for n in await listed() if n["given_up"]] == [again]

            async def is_forgotten() -> bool:
                return again not in [notice["request_id"] for notice in await listed()]

            await wait_until(is_given_up)
            await wait_until(is_forgotten)


async def test_a_fact_that_a_gateway_took_before_it_died_is_announced_by_the_next(
    system: System, server: EmbeddedServer, tmp_path: Path
) -> None:
    receiver, keys = Receiver(), [system.topology.key(part, "facts") for part in range(2)]
    await make_groups(system.redis, dict.fromkeys(keys, GROUP))
    request = await system.asked()
    taken = await system.redis.xreadgroup(GROUP, "dead", dict.fromkeys(keys, ">"))
    assert taken
    short = {"lease": 0.4, "heartbeat": 0.1}
    async with (
        listening(receiver) as where,
        gateway(system, server, tmp_path, rule(where), **short),
    ):
        await wait_until(lambda: bool(receiver.taken))
    assert receiver.ids() == {f"desk/{request}/opened"}


async def test_a_fact_that_could_not_be_handled_again_and_again_is_announced_when_it_can(
    system: System, server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver, failures = Receiver(), 4
    hear = Notifier._hear
    heard: list[str] = []

    async def fail_first(notifier: Notifier, request_id: str) -> None:
        heard.append(request_id)
        if len(heard) <= failures:
            raise ValueError("another release wrote the question")
        await hear(notifier, request_id)

    monkeypatch.setattr(Notifier, "_hear", fail_first)
    request = await system.asked()
    short = {"lease": 0.2, "heartbeat": 0.1, "deliveries": 2}
    async with (
        listening(receiver) as where,
        gateway(system, server, tmp_path, rule(where), **short),
    ):
        await wait_until(lambda: bool(receiver.taken))
    assert receiver.ids() == {f"desk/{request}/opened"}


async def test_the_end_of_an_announced_question_is_announced_too(
    system: System, server: EmbeddedServer, tmp_path: Path
) -> None:
    receiver = Receiver()
    async with (
        listening(receiver) as where,
        gateway(system, server, tmp_path, rule(where, "also_closed = true")),
    ):
        chain = await system.submit()
        request = await system.ask(chain)
        await wait_until(lambda: bool(receiver.taken))
        await system.withdraw(chain)
        await wait_until(lambda: len(receiver.taken) == 2)
    assert [document["type"] for document in receiver.taken] == ["request.opened", "request.closed"]
    assert receiver.taken[1]["id"] == f"desk/{request}/closed"


async def test_the_end_of_a_question_that_was_not_announced_is_not_either(
    system: System, server: EmbeddedServer, tmp_path: Path
) -> None:
    receiver = Receiver()
    earlier = await system.submit()
    await system.ask(earlier)
    await system.withdraw(earlier)
    async with (
        listening(receiver) as where,
        gateway(system, server, tmp_path, rule(where, "also_closed = true")),
    ):
        request = await system.asked()
        await wait_until(lambda: bool(receiver.taken))
    assert receiver.ids() == {f"desk/{request}/opened"}


class Mailbox(Message):
    """A mail server that keeps what it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.mails: list[Any] = []

    def handle_message(self, message: Any) -> None:
        self.mails.append(message)


async def test_a_notice_goes_by_mail(
    system: System, server: EmbeddedServer, tmp_path: Path
) -> None:
    mailbox = Mailbox()
    loop = asyncio.get_running_loop()
    mail_server = await loop.create_server(lambda: SMTP(mailbox, loop=loop), "127.0.0.1", 0)
    port = mail_server.sockets[0].getsockname()[1]
    url = f"mailto://127.0.0.1:{port}?from=halt@example.com&to=ann@example.com&mode=insecure"
    policy = f'[[notify]]\nname = "mail"\nurl = "{url}"\n'
    async with mail_server, gateway(system, server, tmp_path, policy):
        request = await system.asked(kind=RequestKind.CONFIRMATION)
        await wait_until(lambda: bool(mailbox.mails))
    (mail,) = mailbox.mails
    assert "Lookup contacts: Which John?" in mail["Subject"]
    assert "Find a contact by name." in mail.as_string()
    assert request in mail.as_string()


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ('url = "nowhere://x"', "Apprise does not know the address"),
        ('webhook = "http://h/x"\nsecret_env = "NOT_SET"', "NOT_SET has no secret"),
        ('webhook = "http://h/x"', "belong together"),
        ("", "give either `url` or `webhook`"),
        ('url = "json://h"\nafter = "soon"', "after"),
    ],
)
async def test_a_rule_that_leads_nowhere_stops_the_start(
    system: System, server: EmbeddedServer, tmp_path: Path, policy: str, words: str
) -> None:
    with pytest.raises(HaltpointError, match=words):
        async with gateway(system, server, tmp_path, f'[[notify]]\nname = "desk"\n{policy}\n'):
            pass


async def test_without_public_facts_there_are_no_notices(
    system: System, server: EmbeddedServer, tmp_path: Path
) -> None:
    limits = LimitSettings(facts_age=0)
    with pytest.raises(HaltpointError, match="FACTS_AGE=0 writes none"):
        async with gateway(system, server, tmp_path, rule("http://h/x"), limits=limits):
            pass


async def test_an_operator_tries_a_rule_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def typed(name: str) -> Any:
        return CliRunner().invoke(app, ["notify", "test", name])

    file = tmp_path / "policy.toml"
    monkeypatch.setenv("HALTPOINT_POLICY_FILE", str(file))
    receiver = Receiver()
    async with listening(receiver) as where:
        file.write_text(rule(where))
        assert (await asyncio.to_thread(typed, "desk")).exit_code == 0
        unknown = await asyncio.to_thread(typed, "disk")
    assert [document["type"] for document in receiver.taken] == ["test"]
    assert "no rule is called 'disk': there are: desk" in unknown.stderr
    gone = await asyncio.to_thread(typed, "desk")
    assert "HP-006 the notice was not delivered: All connection attempts failed" in gone.stderr
