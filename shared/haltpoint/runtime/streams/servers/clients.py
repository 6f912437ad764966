"""redis-py's clients as we use them: no hidden retries, "not now" as RefusedForNow, and a server
that may move.

    redis://user:password@host:6379/0
    redis+sentinel://user:password@host:26379,host2:26379/master?db=0
    redis+cluster://user:password@host:7000,host2:7001

`rediss...` is the same over TLS. The login is that of the server; a Sentinel that asks for one gets
it too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from redis.asyncio import Connection, Redis, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.connection import AbstractConnection, ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import BusyLoadingError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from haltpoint.contracts.base import value
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.streams.refused import meaning_of
from haltpoint.runtime.streams.servers.cluster import ClusterRedis
from haltpoint.runtime.streams.servers.link import Link
from haltpoint.runtime.streams.servers.locating import Guide, Guides, Place, Whereabouts

_PORT: Final = 6379
_SENTINEL_PORT: Final = 26379
_LOGIN: Final = ("username", "password")


class _Telling(AbstractConnection):
    """redis-py's connection, but for a reply that says "not now": it raises RefusedForNow."""

    async def find(self) -> None:
        """Before it connects: the server is where the address says."""

    def follow(self, link: Link) -> None:
        """After a link was opened to its server: that stays where it is."""

    async def activate_maint_notifications_handling_if_enabled(self, *_: Any, **__: Any) -> None:
        """Not here: it would be one more reply to wait for at each connect."""

    async def read_response(self, *args: Any, **options: Any) -> Any:
        """As redis-py does. Raises RefusedForNow too."""
        try:
            return await super().read_response(*args, **options)
        except (ResponseError, BusyLoadingError) as error:
            meaning = meaning_of(error)
            if meaning is error or "client|setinfo" in str(error):  # redis-py ignores it
                raise
            raise meaning from error


class _TcpConnection(_Telling, Connection): ...


class _TlsConnection(_Telling, SSLConnection): ...


class _UnixConnection(_Telling, UnixDomainSocketConnection): ...


class _Moving(Connection):
    """A connection to a server that moves. It asks where that is at each connect; and connects anew
    before its next command when another one broke.
    """

    def __init__(self, *, whereabouts: Whereabouts, **options: Any) -> None:
        super().__init__(**options)
        self._whereabouts = whereabouts
        self._breaks = 0

    async def find(self) -> None:
        """Before it connects: the server is where those who know say."""
        self._breaks = self._whereabouts.breaks
        self.host, self.port = await self._whereabouts.locate()

    def follow(self, link: Link) -> None:
        """After a link was opened to its server: it ends when that hangs, and hears of others."""
        self._whereabouts.links.add(link)
        link.on_silence = self._whereabouts.hangs

    async def connect(self) -> None:
        """Connect, unless it is connected and none broke since then."""
        if self._breaks != self._whereabouts.breaks:
            await self.disconnect(nowait=True)
        await super().connect()  # type: ignore[no-untyped-call]

    async def read_response(self, *args: Any, **options: Any) -> Any:
        """As redis-py does."""
        try:
            return await super().read_response(*args, **options)
        except RedisConnectionError:
            self._whereabouts.breaks += 1
            raise
        except RedisTimeoutError:
            self._whereabouts.hangs()
            raise

    async def _connect(self) -> None:
        await self.find()
        await super()._connect()  # type: ignore[no-untyped-call]


class _MovingTcpConnection(_Moving, _TcpConnection): ...


class _MovingTlsConnection(_Moving, _TlsConnection): ...


_FIXED: Final = {"redis": _TcpConnection, "rediss": _TlsConnection, "unix": _UnixConnection}
_MOVING: Final = {"redis": _MovingTcpConnection, "rediss": _MovingTlsConnection}
SCHEMES: Final = (
    *_FIXED,
    *(f"{scheme}+sentinel" for scheme in _MOVING),
    *(f"{scheme}+cluster" for scheme in _MOVING),
)


@value
class _Parts:
    """The parts of an address that names several hosts: `login` with its `@`, or empty."""

    scheme: str
    login: str
    hosts: Sequence[str]
    path: str
    query: Mapping[str, str]

    @classmethod
    def of(cls, url: str) -> "_Parts":
        parts = urlsplit(url)
        login, at, hosts = parts.netloc.rpartition("@")
        scheme = parts.scheme.partition("+")[0]
        path = unquote(parts.path.removeprefix("/"))
        query = dict(parse_qsl(parts.query))
        return cls(scheme, login + at, hosts.split(","), path, query)

    def address(self, host: str) -> str:
        """That of one of the hosts."""
        return f"{self.scheme}://{self.login}{host}?{urlencode(self.query)}"

    def without_login(self) -> "_Parts":
        """The same for a stranger."""
        query = {name: text for name, text in self.query.items() if name not in _LOGIN}
        return replace(self, login="", query=query)


def client(url: str) -> Redis:
    """A client for an address with one of `SCHEMES`. Raises HaltpointError HP-001 for a database
    that cannot be used; else ValueError, and TypeError for an option that is not known: their words
    may have a part of the login.
    """
    scheme, _, kind = url.partition("://")[0].partition("+")
    if not kind:
        return Redis.from_pool(_pool(url, _FIXED[scheme]))
    parts = _Parts.of(url)
    if kind == "cluster":
        return _cluster(parts)
    return Redis.from_pool(_pool_of_master(parts))


def _cluster(parts: _Parts) -> Redis:
    url = parts.address(parts.hosts[0])

    def moving(whereabouts: Whereabouts) -> ConnectionPool:
        return _pool(url, _MOVING[parts.scheme], whereabouts=whereabouts)

    def fixed(place: Place) -> ConnectionPool:
        return _pool(parts.address(str(place)), _FIXED[parts.scheme])

    return ClusterRedis(_guides("node of the cluster", parts, _PORT), moving, fixed)


def _pool_of_master(parts: _Parts) -> ConnectionPool:
    if not parts.path:
        raise ValueError
    url = parts.address(parts.hosts[0])
    question = "SENTINEL", "GET-MASTER-ADDR-BY-NAME", parts.path
    whereabouts = Whereabouts(_guides("Sentinel", parts, _SENTINEL_PORT), question, _place)
    return _pool(url, _MOVING[parts.scheme], whereabouts=whereabouts)


def _place(reply: Any, _: Guide) -> Place:
    if reply is None:
        raise LookupError("it watches no master of this name")
    host, port = reply
    return Place(host.decode(), int(port))


def _guides(kind: str, parts: _Parts, port: int) -> Guides:
    guides: list[Guide] = []
    for host in parts.hosts:
        named = host if ":" in host.rpartition("]")[2] else f"{host}:{port}"
        anonymous = _pool(parts.without_login().address(named), _FIXED[parts.scheme])
        known = _pool(parts.address(named), _FIXED[parts.scheme])
        there = anonymous.connection_kwargs
        place = Place(there["host"], there["port"])
        guides.append(Guide(place, anonymous, known))
    return Guides(kind, guides)


def _pool(url: str, kind: type[AbstractConnection], **more: Any) -> ConnectionPool:
    pool = ConnectionPool.from_url(
        url,
        socket_timeout=5.0,
        retry=Retry(NoBackoff(), 0),
        health_check_interval=0,
        protocol=3,
        **more,
    )
    if pool.connection_kwargs.get("db"):
        raise HaltpointError(
            "HP-001",
            "only database 0 of a server can be used",
            "its function library counts for the whole server, so deployments in two databases "
            "would each find the writes of the other lost",
            "End the address with /0, or leave the database out; give each deployment a server",
        )
    pool.connection_class = kind  # from_url has chosen redis-py's own
    kind(**pool.connection_kwargs)  # it knows all options
    return pool
