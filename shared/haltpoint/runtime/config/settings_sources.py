"""Where the values of settings come from, and what is said when one cannot be used.

One order for all: flag, environment, `.env`, `haltpoint.toml`, standard names (OPENAI_*), policy
file, default. A name that we do not know is an error: a misspelt HALTPOINT_LEASE would otherwise
run with the default for months.
"""

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_settings import DotEnvSettingsSource, EnvSettingsSource, TomlConfigSettingsSource

from haltpoint.contracts.base import value
from haltpoint.runtime.config import policy_file
from haltpoint.runtime.config.addresses import masked
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.faults import in_words, near
from haltpoint.runtime.config.key_origin import KEY_VARIABLE, URL_VARIABLE
from haltpoint.runtime.config.settings import PREFIX, GatewaySettings, Settings, SettingsError

_FILE: Final = "haltpoint.toml"
_STANDARD: Final = {"openai_base_url": "model.base_url", "openai_api_key": "model.api_key"}
_OTHERWISE: Final = "; `haltpoint config show` lists all"
_STARS: Final = "**********"

_Values = dict[str, Any]
"""By the names of settings: `gateway.port`."""

_Layers = dict[str, _Values]
"""By their origin, the strongest first."""


def _names() -> Iterator[str]:
    for key, field in Settings.model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from (f"{key}.{name}" for name in type(field.default).model_fields)
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


def load(config: Path | None = None, /, **flags: object) -> Settings:
    """Read flags (None: not given), environment, `.env` and `config` (default: `haltpoint.toml`, if
    any).

    Raises SettingsError; HaltpointError HP-004 when nothing but the policy file is wrong.
    """
    layers, faults = _read(config, flags)
    if faults:
        raise SettingsError("\n".join(faults))
    _add_policy(layers)
    return _build(layers)


def load_given(**values: object) -> Settings:
    """The settings that a test gives, and behind them the policy file that it names; nothing of the
    world around it. Raises as `load` does.
    """
    layers = {"the test": _flat(values)}
    _add_policy(layers)
    return _build(layers)


def gateway_outside(config: Path | None = None, /, **flags: object) -> GatewaySettings:
    """The gateway's settings without those of the current folder: its `.env`, and its
    `haltpoint.toml` unless `config` names it. Raises SettingsError.
    """
    layers, _ = _read(config, flags)
    del layers[".env"]
    if config is None:
        del layers[_FILE]
    return _build(layers).gateway


def explain(config: Path | None = None, /, **flags: object) -> tuple[list[Origin], str]:
    """Say for every setting what it is and where that comes from; and all that is wrong with them,
    a line for each.

    An invalid value is shown as it was given.
    """
    layers, faults = _read(config, flags)
    values = {**_flat(Settings().model_dump()), **ChainMap(*layers.values())}
    try:
        _add_policy(layers)
        values = _flat(_build(layers).model_dump())
    except HaltpointError as error:
        faults.append(f"{error.what}: {error.why}")
    except SettingsError as error:
        faults.append(str(error))
    origins = [
        Origin(name, _variable(name), _shown(name, values.get(name)), _origin(layers, name))
        for name in _NAMES
    ]
    return origins, "\n".join(faults)


def _read(config: Path | None, flags: Mapping[str, object]) -> tuple[_Layers, list[str]]:
    """The values of each origin, the strongest first, and what is wrong with them."""
    environment = EnvSettingsSource(Settings)
    dotenv = DotEnvSettingsSource(Settings, env_file=".env", dotenv_filtering="only_existing")
    faults = _unknown(environment.env_vars, "the environment")
    faults += _unknown(dotenv.env_vars, ".env")
    file = config or Path(_FILE)
    if config and not config.is_file():
        faults.append(f"the file {config} does not exist")
    layers = {"flag": _flat(flags)}
    sources: dict[str, Callable[[], _Values]] = {
        "environment": environment,
        ".env": dotenv,
        str(file): lambda: TomlConfigSettingsSource(Settings, toml_file=file)(),  # noqa: PLW0108 - it reads when it is made
    }
    for origin, read in sources.items():
        layers[origin] = {}
        try:
            layers[origin] = _flat(read())
        except ValueError as error:  # no TOML, no UTF-8, no JSON
            faults.append(f"{origin} cannot be read: {error}")
    standard = {**dotenv.env_vars, **environment.env_vars}
    layers["standard name"] = {
        name: standard[variable] for variable, name in _STANDARD.items() if variable in standard
    }
    return layers, faults


def _add_policy(layers: _Layers) -> None:
    """The limits of the policy file count less than all others. Raises HaltpointError HP-004."""
    policy = ChainMap(*layers.values()).get("policy_file")
    if policy:
        limits = policy_file.numbers(Path(policy).expanduser())
        layers[str(policy)] = _flat({"limits": limits})


def _build(layers: _Layers) -> Settings:
    """The values that count, in their sections; a value in the place of a section gives way."""
    values: _Values = {}
    for name, given in sorted(ChainMap(*layers.values()).items()):
        section, _, key = name.rpartition(".")
        if section and not isinstance(values.get(section), dict):
            values[section] = {}
        (values[section] if section else values)[key] = given
    try:
        return Settings(**values)
    except ValidationError as error:
        # Without the cause: pydantic's own text repeats the input, and with it a secret.
        lines = [_sentence(layers, fault) for fault in error.errors()]
        raise SettingsError("\n".join(lines)) from None


def _sentence(layers: _Layers, fault: Mapping[str, Any]) -> str:
    place = ".".join(map(str, fault["loc"]))
    if not place:
        return in_words(fault)
    name = next((known for known in _NAMES if _is_in(place, known)), place)
    origin = _origin(layers, name)
    if fault["type"] == "extra_forbidden":
        known = (*_NAMES, *Settings.model_fields)
        return f"{name} (from {origin}) is not a setting{near(name, known, _OTHERWISE)}"
    shown = _shown(name, ChainMap(*layers.values()).get(name))
    return f"{name} = {shown} (from {origin}; {_variable(name)}): {in_words(fault)}"


def _origin(layers: _Layers, name: str) -> str:
    """Where the value that counts comes from, also of a whole section."""
    for origin, layer in layers.items():
        if any(_is_in(given, name) for given in layer):
            return origin
    return "default"


def _unknown(variables: Mapping[str, str | None], where: str) -> list[str]:
    known = {URL_VARIABLE, KEY_VARIABLE, *map(_variable, (*_NAMES, *Settings.model_fields))}
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


def _shown(name: str, given: object) -> str:
    if given is None:
        return ""
    if name.endswith("_key"):
        return _STARS
    if isinstance(given, list | tuple):
        return ",".join(map(str, given))
    text = str(given)
    return masked(text) if "://" in text or name == "redis_url" else text
