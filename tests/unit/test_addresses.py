"""What an address says: where to ask, with which login, and over what."""

from typing import Any

import pytest
from redis.asyncio import SSLConnection

from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.streams.connection import connect

ANN = ("ann", "p:/@x")
NO_LOGIN = (None, None)


@pytest.mark.parametrize(
    ("url", "places", "login", "db"),
    [
        ("redis+sentinel://a,b:1/m", ("a:26379", "b:1"), NO_LOGIN, 0),
        ("redis+sentinel://ann:p%3A%2F%40x@a/m?db=3", ("a:26379",), ANN, 3),
        ("redis+sentinel://a/m?username=ann&password=p:/%40x", ("a:26379",), ANN, 0),
        ("rediss+sentinel://[::1]:7,a/m?ssl_ca_certs=/ca", ("::1:7", "a:26379"), NO_LOGIN, 0),
        ("redis+cluster://a:7000,b", ("a:7000", "b:6379"), NO_LOGIN, 0),
        ("rediss+cluster://ann:p%3A%2F%40x@a?ssl_ca_certs=/ca", ("a:6379",), ANN, 0),
    ],
)
def test_an_address_of_several_hosts(
    url: str, places: tuple[str, ...], login: tuple[str | None, str | None], db: int
) -> None:
    pool: Any = connect(url).connection_pool
    guides = pool.connection_kwargs["whereabouts"].guides.all
    assert tuple(str(guide.place) for guide in guides) == places
    server = pool.make_connection()
    assert (server.username, server.password, server.db) == (*login, db)
    strangers = [guide.anonymous.make_connection() for guide in guides]
    known = [guide.known.make_connection() for guide in guides]
    assert {(one.username, one.password, one.db) for one in strangers} == {(*NO_LOGIN, 0)}
    assert {(one.username, one.password, one.db) for one in known} == {(*login, 0)}
    over_tls = {isinstance(one, SSLConnection) for one in (server, *strangers, *known)}
    assert over_tls == {url.startswith("rediss")}


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://a", "begins with one of redis://"),
        ("redis+sentinel://a", "end the hosts with /NAME"),
        ("redis+cluster://ann:s3cr/et@a", "used: its login, hosts"),
        ("redis://a?user=1", "an option cannot be read"),
    ],
)
def test_what_is_wrong_with_an_address_is_said(url: str, why: str) -> None:
    with pytest.raises(HaltpointError, match=f"HP-001 .*{why}"):
        connect(url)
