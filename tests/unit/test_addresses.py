"""What an address says: where to ask, with which login, and over what; and what people see of
it.
"""

import asyncio
import io
from contextlib import suppress
from typing import Any

import pytest
from redis.asyncio import SSLConnection
from redis.exceptions import AuthenticationError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError

from haltpoint.runtime.config import settings_sources
from haltpoint.runtime.config.addresses import masked
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import LogSettings, SettingsError
from haltpoint.runtime.observability import logs
from haltpoint.runtime.streams.broker import reach
from haltpoint.runtime.streams.connection import connect, unusable

ANN = ("ann", "p:/@x")
NO_LOGIN = (None, None)


@pytest.mark.parametrize(
    ("url", "places", "login"),
    [
        ("redis+sentinel://a,b:1/m", ("a:26379", "b:1"), NO_LOGIN),
        ("redis+sentinel://ann:p%3A%2F%40x@a/m?db=0", ("a:26379",), ANN),
        ("redis+sentinel://a/m?username=ann&password=p:/%40x", ("a:26379",), ANN),
        ("rediss+sentinel://[::1]:7,a/m?ssl_ca_certs=/ca", ("::1:7", "a:26379"), NO_LOGIN),
        ("redis+cluster://a:7000,b", ("a:7000", "b:6379"), NO_LOGIN),
        ("rediss+cluster://ann:p%3A%2F%40x@a?ssl_ca_certs=/ca", ("a:6379",), ANN),
    ],
)
def test_an_address_of_several_hosts(
    url: str, places: tuple[str, ...], login: tuple[str | None, str | None]
) -> None:
    pool: Any = connect(url).connection_pool
    guides = pool.connection_kwargs["whereabouts"].guides.all
    assert tuple(str(guide.place) for guide in guides) == places
    server = pool.make_connection()
    assert (server.username, server.password) == login
    strangers = [guide.anonymous.make_connection() for guide in guides]
    known = [guide.known.make_connection() for guide in guides]
    assert {(one.username, one.password) for one in strangers} == {NO_LOGIN}
    assert {(one.username, one.password) for one in known} == {login}
    over_tls = {isinstance(one, SSLConnection) for one in (server, *strangers, *known)}
    assert over_tls == {url.startswith("rediss")}


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://a", "begins with one of redis://"),
        ("redis+sentinel://a", "end the hosts with /NAME"),
        ("redis+cluster://ann:s3cr/et@a", "used: its login, hosts"),
        ("redis://a?user=1", "an option cannot be read"),
        ("redis://a/1", "database 0"),
        ("unix:///run/redis.sock?db=1", "database 0"),
        ("redis+sentinel://a/m?db=3", "database 0"),
        ("redis+cluster://a?db=3", "database 0"),
    ],
)
def test_what_is_wrong_with_an_address_is_said(url: str, why: str) -> None:
    with pytest.raises(HaltpointError, match=f"HP-001 .*{why}"):
        connect(url)


SECRET = "hunter22"

SHOWN = [
    ("redis://:hunter22@h:6379/0", "redis://:***@h:6379/0"),
    ("redis://ann:hunter22@h", "redis://ann:***@h"),
    ("redis://hunter22@h", "redis://:***@h"),
    ("rediss://ann:%68unter22hunter22@h/1", "rediss://ann:***@h/1"),
    ("redis://ann:p/hunter22#x:@y@h", "redis://***"),
    ("redis://ann:p@hunter22@h/0", "redis://ann:***@h/0"),
    ("redis://ann:p?hunter22@h/0", "redis://***"),
    ("redis://h?password=hunter22", "redis://h?password=***"),
    ("redis://h/0?username=ann&password=hunter22&db=3", None),
    ("redis://h?db=3;password=hunter22", "redis://h?db=3;password=***"),
    ("redis://h?pass%77ord=hunter22", "redis://h?pass%77ord=***"),
    ("redis://h?PASSWORD=hunter22", "redis://h?PASSWORD=***"),
    ("redis://h?password=hun@hunter22", "redis://***"),
    ("redis://h?ssl_password=hunter22&ssl_keyfile=/k", None),
    ("redis://h/0#password=hunter22", "redis://h/0#password=***"),
    ("redis://ann:hunter22@h?password=hunter22", "redis://ann:***@h?password=***"),
    ('redis://h?sentinel_kwargs={"password":"hunter22"}', "redis://h?sentinel_kwargs=***"),
    ("redis://h?sentinel_kwargs=%7B%27password%27%3A%27hunter22%27%7D", None),
    ("unix://ann:hunter22@/run/redis.sock?db=1", "unix://ann:***@/run/redis.sock?db=1"),
    ("unix:///run/redis.sock?password=hunter22", "unix:///run/redis.sock?password=***"),
    ("redis+sentinel://ann:hunter22@a:1,b:2/m?db=3", "redis+sentinel://ann:***@a:1,b:2/m?db=3"),
    ("redis+sentinel://a:1,ann:hunter22@b:2/m", "redis+sentinel://a:***@b:2/m"),
    ("redis+cluster://ann:hunter22@a,bob:hunter22@b", "redis+cluster://ann:***@b"),
    ("rediss+cluster://a:7000,b?password=hunter22", "rediss+cluster://a:7000,b?password=***"),
    ("redis:ann:hunter22@h:6379", None),
    ("ann:hunter22@h:6379", None),
    ("https://ann:hunter22@h/v1", "https://ann:***@h/v1"),
]


@pytest.mark.parametrize(("url", "shown"), SHOWN)
async def test_no_password_of_an_address_is_printed_or_logged(
    url: str, shown: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = [masked(url)]
    assert shown in (None, *printed)

    monkeypatch.setenv("HALTPOINT_REDIS_URL", url)
    origins, faults = settings_sources.explain()
    printed += [f"{origins}", faults]
    with suppress(SettingsError):
        printed.append(f"{settings_sources.load()!r}")
    with suppress(HaltpointError):
        connect(url)

    stream = io.StringIO()
    logs.configure(LogSettings(format="console"), service="executor", stream=stream)
    asked: list[RedisError] = [RedisConnectionError("gone"), AuthenticationError("no")]

    async def ask() -> None:
        raise asked.pop(0)

    with pytest.raises(HaltpointError, match="HP-010") as rejected:
        await asyncio.wait_for(reach(url, ask), 5)
    printed += [stream.getvalue(), f"{rejected.value}", f"{unusable(asked_for(url), url)}"]
    assert "waiting for the server" in stream.getvalue()
    for text in printed:
        assert SECRET not in text


def asked_for(url: str) -> Exception:
    """What a client says that cannot read this address, or that nobody answers it."""
    try:
        connect(url)
    except HaltpointError as error:
        return error
    return RedisConnectionError("Connection refused")


@pytest.mark.parametrize(
    "url",
    [
        "redis://h:6379/0",
        "redis+sentinel://a:1,b:2/master?db=0",
        "rediss://h?ssl_ca_certs=/etc/ca.pem&socket_timeout=3",
        "http://127.0.0.1:8700",
    ],
)
def test_an_address_without_a_password_is_shown_as_it_is(url: str) -> None:
    assert masked(url) == url
