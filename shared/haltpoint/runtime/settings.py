"""Every setting, its default and where its value comes from.

One order for all: flag, environment, `.env`, `haltpoint.toml`, standard names (OPENAI_*), policy file, default. A
name that we do not know is an error: a misspelt HALTPOINT_LEASE would otherwise run with the default for months.

`load` reads the world; the constructor `Settings(...)` takes only what it is given, which is what tests want.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)
from pydantic_settings import SettingsError as SourceError

from haltpoint.runtime import policy_file
from haltpoint.runtime.errors import HaltpointError

_PREFIX = "HALTPOINT_"
_SCHEMES = ("redis://", "rediss://", "unix://", "redis+cluster://", "redis+sentinel://")
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_STANDARD = {"base_url": "OPENAI_BASE_URL", "api_key": "OPENAI_API_KEY"}


class SettingsError(Exception):
    """Settings that cannot be used: a line for each, with its name, its origin and what is allowed."""


def _seconds(value: object) -> object:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*", value) if isinstance(value, str) else None
    return float(match[1]) * _UNITS[match[2]] if match else value


def _words(value: object) -> object:
    return [word.strip() for word in value.split(",") if word.strip()] if isinstance(value, str) else value


def _redis_url(value: str) -> str:
    if not value.startswith(_SCHEMES):
        raise ValueError(f"must start with one of {', '.join(_SCHEMES)}")
    return value


Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0)]
"""A length of time in seconds; `"500ms"`, `"24h"` and `"7d"` are read too."""

Count = Annotated[int, Field(ge=1)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelSettings(_Section):
    """The OpenAI-compatible endpoint that the planner asks. None is needed for literal plans."""

    base_url: str | None = None
    name: str | None = None
    retry_name: str | None = Field(
        default=None, description="the model that is asked when a person wants an escalated case tried again"
    )
    api_key: SecretStr | None = None
    timeout: Seconds = 60.0
    max_tokens: Count = Field(default=2048, description="tokens of one reply; bounds a small model that repeats itself")


class GatewaySettings(_Section):
    """Where the gateway listens, and the first key."""

    host: str = "127.0.0.1"
    port: int = Field(default=8700, ge=0, le=65535)
    admin_key: SecretStr | None = None
    trusted_proxy: str | None = Field(
        default=None, description="address or network of the proxy that ends TLS in front of the gateway"
    )


class LogSettings(_Section):
    """`auto` is pretty on a terminal and JSON lines elsewhere."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "json", "console"] = "auto"


class PolicySettings(_Section):
    """How long the machine tries, waits and remembers."""

    max_turns: Count = 10
    actions_per_turn: Count = 1
    strikes: Count = 3
    steps: Count = 50
    actions: Count = 100
    request_timeout: Seconds = 24 * 3600.0
    chain_deadline: Seconds = 7 * 86400.0
    retention: Seconds = 7 * 86400.0
    backlog_limit: Count = Field(default=10_000, description="waiting entries per partition; above it: 429")


def _state_dir() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "haltpoint"


class Settings(BaseSettings):
    """All settings of one process, checked and frozen."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix=_PREFIX,
        env_nested_delimiter="__",
        # A compose file passes `X: ${X:-}`; that is not a value.
        env_ignore_empty=True,
    )

    redis_url: Annotated[str, AfterValidator(_redis_url)] | None = Field(default=None, repr=False)
    partitions: int = Field(default=4, ge=1, le=256)
    tools: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words)] = ()
    skills: Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_words)] = ()
    escalation_handler: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$",
        description="module:function that the gateway shows an escalated case to before people",
    )
    hooks: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words)] = ()
    state_dir: Annotated[Path, AfterValidator(Path.expanduser)] = Field(default_factory=_state_dir)
    profile: Literal["dev", "standard", "strict"] = "dev"
    allow_unsafe: bool = False
    lease: Seconds = 10.0
    beat: Seconds = 3.0
    executor_lease: Seconds = 5.0
    slots: Count = 16
    deliveries: Count = 5
    health_host: str = "127.0.0.1"
    health_port: int | None = Field(
        default=None, ge=0, le=65535, description="of /livez, /readyz, /metrics; none: not served"
    )
    model: ModelSettings = ModelSettings()
    gateway: GatewaySettings = GatewaySettings()
    log: LogSettings = LogSettings()
    policy: PolicySettings = PolicySettings()
    policy_file: Annotated[Path, AfterValidator(Path.expanduser)] | None = Field(
        default=None, description="TOML: patterns, blocked tools, messages, claims and limits"
    )

    @model_validator(mode="after")
    def _beats_fit(self) -> Self:
        if self.beat * 2 > self.lease:
            raise ValueError(
                f"beat ({self.beat:g} s) must be at most half of lease ({self.lease:g} s): "
                "one late beat would lose the action"
            )
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what is given: `load` reads the sources itself, because it also tells their origins."""
        return (init_settings,)


@dataclass(frozen=True, slots=True)
class Origin:
    """One setting as `haltpoint config show --origin` prints it; secrets and passwords are stars."""

    name: str
    variable: str
    value: str
    origin: str


def load(config: Path | None = None, /, **flags: object) -> Settings:
    """Read flags (None: not given), environment, `.env` and `config` (default: `haltpoint.toml`, if any).

    Raises SettingsError; HaltpointError HP-004 when nothing but the policy file is wrong.
    """
    layers, faults, policy = _layers(config, flags)
    if faults:
        raise SettingsError("\n".join(faults))
    if policy is not None:
        raise policy
    return _build(layers)


def explain(config: Path | None = None, /, **flags: object) -> tuple[list[Origin], str]:
    """Say for every setting what it is and where that comes from; and all that is wrong with them, a line for each.

    A value that cannot be used is told as it was given.
    """
    layers, faults, policy = _layers(config, flags)
    if policy is not None:
        faults.append(f"{policy.what}: {policy.why}")
    try:
        values = _build(layers).model_dump()
    except SettingsError as error:
        faults += str(error).splitlines()
        values = Settings().model_dump()
        _overlay(values, _merged(layers))
    told = [
        Origin(
            name=".".join(path),
            variable=_variable(path),
            value=_hidden(_at(values, path)) if _is_secret(path) else _shown(_at(values, path)),
            origin=_origin(layers, path),
        )
        for path in _paths(Settings)
    ]
    return told, "\n".join(faults)


_Path = tuple[str, ...]
_Layers = dict[str, dict[str, Any]]


def _layers(config: Path | None, flags: Mapping[str, object]) -> tuple[_Layers, list[str], HaltpointError | None]:
    """What each origin says, the strongest first; what cannot be read of them; what is wrong with the policy file."""
    environment = EnvSettingsSource(Settings)
    dotenv = DotEnvSettingsSource(Settings, env_file=".env", dotenv_filtering="only_existing")
    faults = [*_unknown(environment.env_vars, "the environment"), *_unknown(dotenv.env_vars, ".env")]
    if config and not config.is_file():
        faults.append(f"the file {config} does not exist")
    file = config or Path("haltpoint.toml")
    standard = {**dotenv.env_vars, **environment.env_vars}

    def read(source: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        try:
            return source()
        except TOMLDecodeError as error:
            faults.append(f"{file} is not TOML: {error}")
        except SourceError as error:
            faults.append(str(error))
        return {}

    def from_file() -> dict[str, Any]:
        return TomlConfigSettingsSource(Settings, toml_file=file)()

    layers = {
        "flag": _given(flags),
        "environment": read(environment),
        ".env": read(dotenv),
        str(file): read(from_file),
        "standard name": {"model": _given({key: standard.get(v.lower()) for key, v in _STANDARD.items()})},
    }
    if named := next((layer["policy_file"] for layer in layers.values() if layer.get("policy_file")), None):
        try:
            layers[str(named)] = {"policy": policy_file.numbers(policy_file.read(Path(str(named)).expanduser()))}
        except HaltpointError as error:
            return layers, faults, error
    return layers, faults, None


def _merged(layers: _Layers) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for layer in reversed(layers.values()):
        _overlay(merged, layer)
    return merged


def _build(layers: _Layers) -> Settings:
    try:
        return Settings(**_merged(layers))
    except ValidationError as error:
        # Without the cause: pydantic's own text repeats the input, and with it a secret.
        lines = [_sentence(layers, tuple(map(str, e["loc"])), e["msg"], e["type"]) for e in error.errors()]
        raise SettingsError("\n".join(lines)) from None


def _sentence(layers: _Layers, path: _Path, message: str, kind: str) -> str:
    message = message.removeprefix("Value error, ")
    if not path:
        return message
    origin = _origin(layers, path)
    if kind == "extra_forbidden":
        name, known = ".".join(path), map(".".join, _paths(Settings))
        return f"{name} (from {origin}) is no setting{_nearest(name, known)}"
    path = next((known for known in _paths(Settings) if path[: len(known)] == known), path)
    value = next((found for layer in layers.values() if (found := _at(layer, path)) is not None), None)
    shown = "a secret" if _is_secret(path) else _shown(value)
    return f"{'.'.join(path)} = {shown} (from {origin}; {_variable(path)}): {message}"


def _unknown(variables: Mapping[str, str | None], where: str) -> list[str]:
    known = {_variable(path) for path in _paths(Settings)} | {_variable((name,)) for name in Settings.model_fields}
    given = {name.upper() for name in variables if name.upper().startswith(_PREFIX)}
    return [f"{name} (from {where}) is no setting{_nearest(name, known)}" for name in sorted(given - known)]


def _nearest(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else "; `haltpoint config show` lists all"


def _paths(model: type[BaseModel], above: _Path = ()) -> Iterator[_Path]:
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _paths(field.annotation, (*above, name))
        else:
            yield (*above, name)


def _variable(path: _Path) -> str:
    return _PREFIX + "__".join(path).upper()


def _at(layer: Mapping[str, Any], path: _Path) -> Any:
    value: Any = layer
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _origin(layers: _Layers, path: _Path) -> str:
    return next((name for name, layer in layers.items() if _at(layer, path) is not None), "default")


def _overlay(below: dict[str, Any], above: Mapping[str, Any]) -> None:
    for key, value in above.items():
        if isinstance(value, Mapping) and isinstance(below.get(key), dict):
            _overlay(below[key], value)
        else:
            below[key] = dict(value) if isinstance(value, Mapping) else value


def _given(values: Mapping[str, object]) -> dict[str, Any]:
    """Without what was not given, at any depth."""
    return {
        key: _given(value) if isinstance(value, Mapping) else value
        for key, value in values.items()
        if value is not None
    }


def _is_secret(path: _Path) -> bool:
    return path[-1].endswith("_key")


def _hidden(value: object) -> str:
    return "" if value is None else "**********"


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return (
        ""
        if value is None
        else re.sub(r"(//[^/:@]*:).*@", r"\1***@", re.sub(r"(?<=password=)[^&]*", "***", str(value)))
    )
