"""Where the values of settings come from, and what is said when one cannot be used.

One order for all: flag, environment, `.env`, `haltpoint.toml`, standard names (OPENAI_*), policy file, default. A
name that we do not know is an error: a misspelt HALTPOINT_LEASE would otherwise run with the default for months.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_settings import DotEnvSettingsSource, EnvSettingsSource, TomlConfigSettingsSource
from pydantic_settings import SettingsError as SourceError

from haltpoint.runtime.config import policy_file
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.faults import in_words
from haltpoint.runtime.config.settings import PREFIX, GatewaySettings, Settings, SettingsError

_FILE: Final = "haltpoint.toml"
_STANDARD: Final = {"base_url": "OPENAI_BASE_URL", "api_key": "OPENAI_API_KEY"}


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


def gateway_outside(config: Path | None = None, /, **flags: object) -> GatewaySettings:
    """The gateway's settings without those of the current folder: its `.env`, and its `haltpoint.toml` unless `config`
    names it. Raises SettingsError.
    """
    layers, _, _ = _layers(config, flags)
    folder = (".env",) if config else (".env", _FILE)
    return _build({name: layer for name, layer in layers.items() if name not in folder}).gateway


def explain(config: Path | None = None, /, **flags: object) -> tuple[list[Origin], str]:
    """Say for every setting what it is and where that comes from; and all that is wrong with them, a line for each.

    An invalid value is shown as it was given.
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
    file = config or Path(_FILE)
    standard = {**dotenv.env_vars, **environment.env_vars}

    def read(source: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        try:
            return source()
        except (TOMLDecodeError, UnicodeDecodeError) as error:
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
            layers[str(named)] = {"limits": policy_file.numbers(policy_file.read(Path(str(named)).expanduser()))}
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
        lines = [_sentence(layers, tuple(map(str, e["loc"])), in_words(e), e["type"]) for e in error.errors()]
        raise SettingsError("\n".join(lines)) from None


def _sentence(layers: _Layers, path: _Path, message: str, kind: str) -> str:
    if not path:
        return message
    origin = _origin(layers, path)
    if kind == "extra_forbidden":
        name, known = ".".join(path), map(".".join, _paths(Settings))
        return f"{name} (from {origin}) is not a setting{_nearest(name, known)}"
    path = next((known for known in _paths(Settings) if path[: len(known)] == known), path)
    value = next((found for layer in layers.values() if (found := _at(layer, path)) is not None), None)
    shown = "a secret" if _is_secret(path) else _shown(value)
    return f"{'.'.join(path)} = {shown} (from {origin}; {_variable(path)}): {message}"


def _unknown(variables: Mapping[str, str | None], where: str) -> list[str]:
    known = {_variable(path) for path in _paths(Settings)} | {_variable((name,)) for name in Settings.model_fields}
    given = {name.upper() for name in variables if name.upper().startswith(PREFIX)}
    return [f"{name} (from {where}) is not a setting{_nearest(name, known)}" for name in sorted(given - known)]


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
    return PREFIX + "__".join(path).upper()


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
