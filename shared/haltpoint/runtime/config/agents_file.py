"""Read the agents file (HALTPOINT_AGENTS_FILE, TOML): who there is to work on tasks, and with which models."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from msgspec.structs import fields
from pydantic import ValidationError

from haltpoint.chain.checks import human_tool
from haltpoint.contracts.base import Contract
from haltpoint.contracts.doors import door
from haltpoint.contracts.work.agents import Agent, Agents, ModelEndpoint
from haltpoint.contracts.work.tasks import Budget
from haltpoint.runtime.config.errors import HaltpointError


def read(path: Path) -> Agents:
    """The file, checked. Raises HaltpointError HP-037 with all that is wrong."""
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unusable(path, f"{error.strerror or error}", "Correct the path") from error
    except ValueError as error:  # no TOML, or no UTF-8
        raise _unusable(path, f"it is not TOML: {error}") from error
    faults, found = list[str](), Agents()
    try:
        found = door(Agents).validate_python(said)
    except ValidationError as error:
        faults = [_sentence(one["loc"], one, said) for one in error.errors()]
    if faults := list(dict.fromkeys((*faults, *_contradictions(said)))):
        raise _unusable(path, faults[0] if len(faults) == 1 else "".join(f"\n  - {one}" for one in faults))
    return found


def _unusable(path: Path, why: str, fix: str = "Correct the file; docs/supervisor.md shows one") -> HaltpointError:
    return HaltpointError("HP-037", f"the agents file {path} cannot be used", why, fix)


def _contradictions(said: Mapping[str, Any]) -> Iterator[str]:
    """Names that are there twice or not at all, also in a file that has other faults."""
    listed = said.get("agents")
    agents = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    models = said.get("models")
    names = [one["name"] for one in agents if isinstance(one.get("name"), str)]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield f"{names.count(name)} agents are called {name!r}"
        if name == human_tool.NAME:
            yield f"agent {name!r}: the name is that of a built-in tool"
    for agent in agents:
        about, model, others = f"agent {agent.get('name')!r}", agent.get("model"), agent.get("agents")
        if isinstance(model, str) and model not in (models if isinstance(models, dict) else ()):
            yield f"{about}: model: there is no section [models.{model}]"
        for other in others if isinstance(others, list) else ():
            if other not in names:
                yield f"{about}: agents: there is no agent {other!r}{_near(other, names)}"


def _sentence(place: tuple[int | str, ...], error: Mapping[str, Any], said: Mapping[str, Any]) -> str:
    """One fault: where, with the name of the agent or the model, and what is allowed."""
    parts = [part for part in place if isinstance(part, int) or "[" not in part]
    where, about = parts, list[str]()
    form: type[Contract] = Agents
    if parts[:1] == ["agents"] and len(parts) > 1:
        where, form = parts[2:], Agent
        agent = said["agents"][parts[1]]
        name = agent.get("name") if isinstance(agent, dict) else None
        about = [f"agent {name!r}" if name else f"agent number {int(parts[1]) + 1}"]
    elif parts[:1] == ["models"] and len(parts) > 1:
        where, form, about = parts[2:], ModelEndpoint, [f"model {parts[1]!r}"]
    if where[:1] == ["budget"] and len(where) > 1:
        form = Budget
    if error["type"] == "extra_forbidden":
        keys = (one.name for one in fields(form))
        return f"{': '.join((*about, '.'.join(map(str, where))))} is not a key{_near(str(where[-1]), keys)}"
    text = str(error["msg"]).removeprefix("Value error, ")
    return ": ".join((*about, *([".".join(map(str, where))] if where else []), text))


def _near(name: object, known: Iterable[str]) -> str:
    names = sorted(set(known))
    near = get_close_matches(str(name), names, n=1)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(names)}"
