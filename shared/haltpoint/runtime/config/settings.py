"""Every setting and its default. `settings_sources.load` reads them from the world and tells where
each comes from.

The constructor `Settings(...)` takes only what it is given, which is what tests want.
"""

import hashlib
import ipaddress
import os
from pathlib import Path
from typing import Annotated, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from haltpoint.contracts import written

PREFIX: Final = "HALTPOINT_"
"""What the names of all our environment variables begin with."""


class SettingsError(Exception):
    """Settings that cannot be used: a line for each, with its name, its origin and what is
    allowed.
    """


def _words(value: object) -> object:
    return (
        [word.strip() for word in value.split(",") if word.strip()]
        if isinstance(value, str)
        else value
    )


_LONGEST: Final = Field(le=315_360_000)
"""Ten years: servers, timers and dates can all take it, and not every longer time."""
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Seconds = Annotated[written.Seconds, _LONGEST]
_File = Annotated[Path, AfterValidator(Path.expanduser)]
_Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words)]
_Origins = Annotated[
    tuple[Annotated[str, Field(pattern=r"^(\*|https?://[^/]+)$")], ...],
    NoDecode,
    BeforeValidator(_words),
]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelSettings(_Section):
    """The model that the planner asks. None is needed for literal plans."""

    base_url: str | None = Field(default=None, pattern=r"^(https?://[^/]|$)")
    """The address of the model's server; it usually ends in `/v1`."""
    name: str | None = None
    """The model's name on that server; default: `default`."""
    provider: str | None = Field(default=None, pattern=r"^[a-z0-9][a-z0-9/_-]{0,63}$")
    """`openai` (chat completions), or a provider of haltpoint[providers]: `anthropic`, `google`."""
    retry_name: str | None = None
    """The model that is asked when a person answers an escalated case with `retry`."""
    api_key: SecretStr | None = None
    """The model's API key; it is sent only to this address."""
    connect_timeout: Seconds = 5.0
    """How long to wait for a connection to the server."""
    silence: Seconds = 60.0
    """How long a reply may be silent, without a byte."""
    timeout: Seconds = 600.0
    """How long one reply may take."""
    max_tokens: Count = 2048
    """The most tokens of one reply; this stops a small model that repeats itself."""
    context: Count | None = None
    """The most tokens of a prompt and its reply; default: learned from a refusal, else 32000."""
    headers: Literal["auto", "always", "never"] = "auto"
    """Whether requests carry X-Haltpoint-* (chain, step, turn); `auto`: only to private hosts."""

    def chosen(self, another: bool) -> str:
        """The model that is asked: `another` where a person wants a retry and there is one (D3)."""
        return (self.retry_name if another else None) or self.name or "default"


def _network(text: str) -> str:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ValueError(f"{text!r} is not an address or network, such as 10.0.0.0/8") from None
    return text


class GatewaySettings(_Section):
    """Where the gateway listens, and the first key."""

    host: str = "127.0.0.1"
    """The address to listen on; an address beyond this machine needs a trusted proxy."""
    port: int = Field(default=8700, ge=0, le=65535)
    """The port to listen on; 0 takes a free one."""
    admin_key: SecretStr | None = None
    """The key that allows everything; default: `haltpoint up` makes one."""
    trusted_proxy: Annotated[str, AfterValidator(_network)] | None = None
    """The address or network of the proxy that terminates TLS in front of the gateway."""
    user_header: str | None = None
    """The header in which the trusted proxy says who is signed in."""
    groups_header: str | None = None
    """The header in which the proxy lists the person's groups, separated by commas."""
    cors_origins: _Origins = ()
    """Origins whose pages may call the API in a browser."""
    public_url: Annotated[str | None, Field(pattern="^https?://")] = None
    """The address at which people reach the pages, for links in notices; default: the gateway's
    address.
    """

    @field_validator("user_header", "groups_header")
    @classmethod
    def _believes_a_proxy(cls, name: str | None, given: ValidationInfo) -> str | None:
        if name and not given.data.get("trusted_proxy"):
            raise ValueError(
                "is believed only from a trusted proxy: set HALTPOINT_GATEWAY__TRUSTED_PROXY too"
            )
        return name


class LogSettings(_Section):
    """`auto` is pretty on a terminal and JSON lines elsewhere."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The lowest level of lines that are written."""
    format: Literal["auto", "json", "console"] = "auto"
    """`auto`: readable on a terminal, JSON lines elsewhere."""
    actions: Literal["off", "on"] = "off"
    """A line for each action."""


class LimitSettings(_Section):
    """How long the machine tries, waits and remembers."""

    max_turns: Count = 10
    """How many proposals a model may make in one step."""
    actions_per_turn: Count = 1
    """How many calls a model may make in one proposal."""
    parallel: int = Field(default=1, ge=1, le=16)
    """How many calls and thoughts of one chain may run at once."""
    strikes: Count = 3
    """After how many violations in a row a person decides."""
    steps: Count = 50
    """How many steps a drafted plan may have."""
    actions: Count = 100
    """How many calls a chain may make."""
    request_timeout: Seconds = 24 * 3600.0
    """How long a question stays open."""
    approval_ttl: Seconds = 900.0
    """How long an approval holds."""
    chain_deadline: Seconds = 7 * 86400.0
    """How long a chain may take."""
    retention: Seconds = 7 * 86400.0
    """How long ended chains are kept."""
    facts_age: Annotated[float, BeforeValidator(written.in_seconds), Field(ge=0), _LONGEST] = (
        86400.0
    )
    """How long public facts are kept for FastStream services; 0: none are written."""
    backlog_limit: Count = 10_000
    """How many messages may wait in a partition; above that, tasks get 429."""
    submissions: Count = 600
    """How many tasks a person or program may submit in a minute; above that: 429. Admins are
    exempt.
    """


def _state_dir() -> Path:
    """One for each project folder, so that the chains and questions of two never meet."""
    states = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    here = Path.cwd()
    digest = hashlib.sha256(os.fsencode(here)).hexdigest()[:8]
    return states / "haltpoint" / f"{here.name}-{digest}"


class Settings(BaseSettings):
    """All settings of one process, checked and frozen."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        # A compose file passes `X: ${X:-}`; that is not a value.
        env_ignore_empty=True,
    )

    redis_url: (
        Annotated[str, Field(pattern=r"^(unix|rediss?(\+sentinel|\+cluster)?)://")] | None
    ) = Field(default=None, repr=False)
    """The server: `redis://`, `rediss://`, `unix://`, `redis+sentinel://HOSTS/MASTER` or
    `redis+cluster://HOSTS`; default: `haltpoint up` starts one.
    """
    partitions: int = Field(default=4, ge=1, le=256)
    """How many parts the chains are spread over; it can never change in a deployment."""
    tools: _Names = ()
    """Modules with tools that a worker serves."""
    skills: Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_words)] = ()
    """Directories with skills that a worker serves."""
    escalation_handler: str | None = Field(
        default=None, pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$"
    )
    """`module:function` that sees an escalated case before people do; the gateway calls it."""
    hooks: _Names = ()
    """Hooks that a worker runs, `module:function`."""
    state_dir: _File = Field(default_factory=_state_dir)
    """Where `haltpoint up` keeps the admin key and its server's data; each project folder has
    its own.
    """
    profile: Literal["dev", "standard", "strict"] = "dev"
    """What a service demands of its server: `standard` wants the append-only file and TLS, `strict`
    every write on disk or on a replica.
    """
    durability: str = Field(default="everysec", pattern=r"^(everysec|always|wait:[1-9])$")
    """What protects a started call: `always` demands `appendfsync always`, `wait:N` waits until N
    replicas have its start mark, and then its receipt.
    """
    allow_unsafe: bool = False
    """Start even if a check of the server fails; the failure is a warning. Vital checks still stop
    it.
    """
    lease: Seconds = 10.0
    """How long a silent worker keeps its calls; then another worker takes them over."""
    heartbeat: Seconds = 3.0
    """How often a worker renews its leases; at most half of `lease`."""
    executor_lease: Seconds = 5.0
    """How long a silent executor keeps its partitions."""
    slots: Count = 16
    """How many calls a worker, and how many thoughts a planner, has under way at once."""
    deliveries: Count = 5
    """After so many deliveries a message that kills its reader becomes a dead letter."""
    health_host: str = "127.0.0.1"
    """The address of the health port."""
    health_port: int | None = Field(default=None, ge=0, le=65535)
    """The port of /livez, /readyz and /metrics of a service; unset: they are off; 0: a free
    port. The services of one `haltpoint up` take this port and the next ones, in their order.
    """
    hosts: _Names = ()
    """Names by which other machines reach the ports of this process; IP addresses, `localhost` and
    the name in HALTPOINT_GATEWAY__PUBLIC_URL need none.
    """
    model: ModelSettings = ModelSettings()
    gateway: GatewaySettings = GatewaySettings()
    log: LogSettings = LogSettings()
    limits: LimitSettings = LimitSettings()
    policy_file: _File | None = None
    """TOML: patterns, approvals, notices, blocked tools, messages and limits."""
    phrases_file: _File | None = None
    """TOML: your own words for the fixed phrases in answers."""
    agents_file: _File | None = None
    """TOML: agents, their models, and the supervisor that routes tasks to them."""

    @model_validator(mode="after")
    def _heartbeat_fits(self) -> Self:
        if self.heartbeat * 2 > self.lease:
            raise ValueError(
                f"heartbeat ({self.heartbeat:g} s) must be at most half of lease "
                f"({self.lease:g} s): "
                "one late heartbeat would lose the action"
            )
        return self

    @property
    def own_names(self) -> set[str]:
        """What a request to a port of this process may say in Host."""
        public = urlsplit(self.gateway.public_url or "").hostname
        names = {public or "localhost", self.gateway.host, self.health_host, *self.hosts}
        return {*map(str.lower, names)}

    @property
    def replicas(self) -> int:
        """How many replicas have to have what a worker writes."""
        return int(self.durability.partition(":")[2] or 0)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what is given: `settings_sources` reads the sources itself, because it also tells
        their origins.
        """
        return (init_settings,)
