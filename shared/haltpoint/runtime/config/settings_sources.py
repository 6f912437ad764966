"""Where the values of settings come from, and what is said when one cannot be used.

One order for all: flag, environment, `.env`, `haltpoint.toml`, standard names (OPENAI_*), policy
file, default. A name that we do not know is an error: a misspelt HALTPOINT_LEASE would otherwise
run with the default for months.
"""

import re
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_settings import DotEnvSettingsSource, EnvSettingsSource, TomlConfigSettingsSource
from pydantic_settings import SettingsError as SourceError

from haltpoint.contracts.base import value
from haltpoint.runtime.config import policy_file
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.faults import in_words, near
from haltpoint.runtime.config.settings import PREFIX, GatewaySettings, Settings, SettingsError

_FILE: Final = "haltpoint.toml"
_STANDARD: Final = {"openai_base_url": "model.base_url", "openai_api_key": "model.api_key"}
_OTHERWISE: Final = "; `haltpoint config show` lists all"

_Values = dict[str, Any]
"""By the names of settings: `gateway.port`."""


def _names() -> Iterator[str]:
    for key, field in Settings.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from (f"{key}.{name}" for name in kind.model_fields)
        else:
            yield key


_NAMES: Final = tuple(_names())


@value
class Origin:
    """One setting as `haltpoint config show --origin` prints it; secrets and passwords are
    stars.
    """

    name: str
    variable: str
    value: str
    origin: str


@value
class _Given:
    """The values of each origin, the strongest first, and what is wrong with them."""

    layers: dict[str, _Values]
    faults: list[str]
    policy: HaltpointError | None = None
    """What is wrong with the policy file."""

    def merged(self) -> ChainMap[str, Any]:
        """The values that count."""
        return ChainMap(*self.layers.values())

    def origin(self, name: str) -> str:
        """Where the value that counts comes from, also of a whole section."""
        for origin, layer in self.layers.items():
            if any(_is_in(given, name) for given in layer):
                return origin
        return "default"


def load(config: Path | None = None, /, **flags: object) -> Settings:
    """Read flags (None: not given), environment, `.env` and `config` (default: `haltpoint.toml`, if
    any).

    Raises SettingsError; HaltpointError HP-004 when nothing but the policy file is wrong.
    """
    given = _read(config, flags)
    if given.faults:
        raise SettingsError("\n".join(given.faults))
    if given.policy is not None:
        raise given.policy
    return _build(given)


def gateway_outside(config: Path | None = None, /, **flags: object) -> GatewaySettings:
    """The gateway's settings without those of the current folder: its `.env`, and its
    `haltpoint.toml` unless `config` names it. Raises SettingsError.
    """
    layers = _read(config, flags).layers
    folder = (".env",) if config else (".env", _FILE)
    outside = {origin: layer for origin, layer in layers.items() if origin not in folder}
    return _build(_Given(outside, [])).gateway


def explain(config: Path | None = None, /, **flags: object) -> tuple[list[Origin], str]:
    """Say for every setting what it is and where that comes from; and all that is wrong with them,
    a line for each.

    An invalid value is shown as it was given.
    """
    given = _read(config, flags)
    faults = given.faults
    if given.policy is not None:
        faults.append(f"{given.policy.what}: {given.policy.why}")
    try:
        values = _flat(_build(given).model_dump())
    except SettingsError as error:
        faults += str(error).splitlines()
        values = _flat(Settings().model_dump()) | dict(given.merged())
    origins: list[Origin] = []
    for name in _NAMES:
        value = values.get(name)
        shown = "**********" if _is_secret(name) and value is not None else _shown(value)
        origins.append(Origin(name, _variable(name), shown, given.origin(name)))
    return origins, "\n".join(faults)


def _read(config: Path | None, flags: Mapping[str, object]) -> _Given:
    environment = EnvSettingsSource(Settings)
    dotenv = DotEnvSettingsSource(Settings, env_file=".env", dotenv_filtering="only_existing")
    faults = [
        *_unknown(environment.env_vars, "the environment"),
        *_unknown(dotenv.env_vars, ".env"),
    ]
    if config and not config.is_file():
        faults.append(f"the file {config} does not exist")
    file = config or Path(_FILE)
    layers = {"flag": _flat(flags)}
    sources: dict[str, Callable[[], dict[str, Any]]] = {
        "environment": environment,
        ".env": dotenv,
        str(file): lambda: TomlConfigSettingsSource(Settings, toml_file=file)(),  # noqa: PLW0108 - it reads when it is made
    }
    for origin, read in sources.items():
        layers[origin] = {}
        try:
            layers[origin] = _flat(read())
        except (TOMLDecodeError, UnicodeDecodeError) as error:
            faults.append(f"{file} is not TOML: {error}")
        except SourceError as error:
            faults.append(str(error))
    standard = {**dotenv.env_vars, **environment.env_vars}
    layers["standard name"] = {
        name: standard[variable] for variable, name in _STANDARD.items() if variable in standard
    }
    given = _Given(layers, faults)
    policy = given.merged().get("policy_file")
    if not policy:
        return given
    try:
        limits = policy_file.numbers(policy_file.read(Path(policy).expanduser()))
    except HaltpointError as error:
        return _Given(layers, faults, error)
    layers[str(policy)] = _flat({"limits": limits})
    return given


def _build(given: _Given) -> Settings:
    try:
        return Settings(**_nested(given.merged()))
    except ValidationError as error:
        # Without the cause: pydantic's own text repeats the input, and with it a secret.
        lines = [_sentence(given, fault) for fault in error.errors()]
        raise SettingsError("\n".join(lines)) from None


def _sentence(given: _Given, fault: Mapping[str, Any]) -> str:
    place = ".".join(map(str, fault["loc"]))
    if not place:
        return in_words(fault)
    origin = given.origin(place)
    if fault["type"] == "extra_forbidden":
        return f"{place} (from {origin}) is not a setting{near(place, _NAMES, _OTHERWISE)}"
    name = next((known for known in _NAMES if _is_in(place, known)), place)
    shown = "a secret" if _is_secret(name) else _shown(given.merged().get(name))
    return f"{place} = {shown} (from {origin}; {_variable(name)}): {in_words(fault)}"


def _unknown(variables: Mapping[str, str | None], where: str) -> list[str]:
    known = set(map(_variable, (*_NAMES, *Settings.model_fields)))
    given = {name.upper() for name in variables if name.upper().startswith(PREFIX)}
    unknown = sorted(given - known)
    return [
        f"{name} (from {where}) is not a setting{near(name, known, _OTHERWISE)}" for name in unknown
    ]


def _variable(name: str) -> str:
    return PREFIX + name.replace(".", "__").upper()


def _is_in(name: str, section: str) -> bool:
    """Whether it is this setting or section, or one inside of it."""
    return f"{name}.".startswith(f"{section}.")


def _flat(values: Mapping[str, Any], section: str = "") -> _Values:
    """Each value by its whole name, without those that are None: not given."""
    flat: _Values = {}
    for key, given in values.items():
        if isinstance(given, Mapping) and not section:
            flat |= _flat(given, f"{key}.")
        elif given is not None:
            flat[section + key] = given
    return flat


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values in their sections; a value in the place of a section gives way."""
    alone: dict[str, Any] = {}
    sections: dict[str, dict[str, Any]] = {}
    for name, given in values.items():
        section, _, key = name.partition(".")
        if key:
            sections.setdefault(section, {})[key] = given
        else:
            alone[name] = given
    return alone | sections


def _is_secret(name: str) -> bool:
    return name.endswith("_key")


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    without_password = re.sub(r"(?<=password=)[^&]*", "***", str(value))
    return re.sub(r"(//[^/:@]*:).*@", r"\1***@", without_password)
