"""Read the agents file (HALTPOINT_AGENTS_FILE, TOML): who there is to work on tasks, and with which models."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from msgspec.structs import fields
from pydantic import ValidationError

from haltpoint.contracts.base import Contract
from haltpoint.contracts.doors import door
from haltpoint.contracts.work.agents import Agent, Agents, ModelEndpoint
from haltpoint.contracts.work.routing import (
    NAME,
    OTHER_NAMES,
    OTHER_STRATEGIES,
    ROUTE,
    SUPERVISOR,
    Rule,
    Strategy,
    Supervisor,
)
from haltpoint.contracts.work.tasks import Budget
from haltpoint.contracts.written import LENGTH, regex
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.faults import in_words

READ_BY: Final = {
    "agents": tuple(one for one in Strategy if one is not Strategy.RULE),
    "rules": (Strategy.RULE,),
    "function": (Strategy.FUNCTION,),
    "fallback": (Strategy.RULE, Strategy.SKILL, Strategy.FUNCTION),
    **dict.fromkeys(
        ("tools", "prompt", "model", "threshold", "max_tool_retries", "max_iterations", "verbose"),
        (Strategy.LLM,),
    ),
}
"""Which strategies read a field of the supervisor; all others ignore it."""


def read(path: Path | None) -> Agents:
    """The file, checked; without one there are no agents. Raises HaltpointError HP-037 with all that is wrong."""
    if path is None:
        return Agents()
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


def schema() -> dict[str, Any]:
    """The file as JSON Schema, with the times in words and the other names that it is read with."""
    made = door(Agents).json_schema()
    forms = {name: form["properties"] for name, form in made["$defs"].items() if "properties" in form}
    for form, name in (("ModelEndpoint", "timeout"), ("Budget", "seconds")):
        said = forms[form][name]
        forms[form][name] = {"anyOf": [said, {"type": "string", "pattern": f"^{LENGTH}$"}]}
    for form, others in OTHER_NAMES.items():
        forms[form] |= {other: forms[form][name] for other, name in others.items()}
    made["$defs"]["Strategy"]["enum"] += OTHER_STRATEGIES
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def _unusable(path: Path, why: str, fix: str = "Correct the file; docs/supervisor.md shows one") -> HaltpointError:
    return HaltpointError("HP-037", f"the agents file {path} cannot be used", why, fix)


def _contradictions(said: Mapping[str, Any]) -> Iterator[str]:
    """Names that are there twice or not at all, also in a file that has other faults."""
    from haltpoint.chain.checks import human_tool  # its forms take a moment to import

    listed = said.get("agents")
    agents = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    models = said.get("models")
    names = [one["name"] for one in agents if isinstance(one.get("name"), str)]
    built_in = (human_tool.NAME, ROUTE, SUPERVISOR)
    usable = [one for one in names if re.fullmatch(NAME, one) and one not in built_in]
    yield from (f"{times} agents are called {name!r}" for name, times in _repeated(names))
    alike = _repeated([one.casefold() for one in dict.fromkeys(names)])
    yield from (f"{times} agents are called {name!r}, but for upper and lower case" for name, times in alike)
    yield from (f"agent {name!r}: the name is built in" for name in dict.fromkeys(names) if name in built_in)
    for agent in agents:
        about, model, others = f"agent {agent.get('name')!r}", agent.get("model"), agent.get("agents")
        if isinstance(model, str) and model not in (models if isinstance(models, dict) else ()):
            yield f"{about}: model: there is no section [models.{model}]"
        yield from (f"{about}: {one}" for one in _twice(agent, OTHER_NAMES["Agent"]))
        listed = others if isinstance(others, list) else []
        yield from (f"{about}: agents: {one!r} is there {times} times" for one, times in _repeated(listed))
        for other in listed:
            if other == agent.get("name"):
                yield f"{about}: agents: it cannot hand a task on to itself"
            elif other == SUPERVISOR:
                yield f"{about}: agents: a circle: the supervisor hands tasks on to its agents, and gets none back"
            elif other not in names:
                yield f"{about}: agents: there is no agent {other!r}{_near(other, usable)}"
    if isinstance(said.get("supervisor"), dict):
        yield from _routing(said["supervisor"], names, usable, models if isinstance(models, dict) else {})


def _routing(
    raw: Mapping[str, Any], names: Sequence[str], usable: Sequence[str], models: Mapping[str, Any]
) -> Iterator[str]:
    """What the supervisor names and is not there, and what its strategy needs. `usable` are names that no fault has."""
    said = Supervisor.arriving(raw)
    if not names:
        yield "supervisor: there are no agents that it could choose from"
    listed, rules = said.get("agents"), said.get("rules")
    named = [("agents", one) for one in (listed if isinstance(listed, list) else ())]
    yield from (f"supervisor: agents: {one!r} is there {times} times" for one, times in _repeated(listed))
    named += [("fallback", said["fallback"])] if "fallback" in said else []
    rules = [one for one in rules if isinstance(one, dict)] if isinstance(rules, list) else []
    yield from (
        f"supervisor: {times} rules have the id {one!r}" for one, times in _repeated([r.get("id") for r in rules])
    )
    for rule in rules:
        where = f"rule {rule.get('id')!r}"
        named.append((where, rule.get("agent")))
        if not rule.get("match") and not rule.get("context"):
            yield f"supervisor: {where}: it looks at nothing: give it `match`, `context` or both"
        try:
            regex(str(rule.get("match", "")))
        except ValueError as error:
            yield f"supervisor: {where}: match: {error}"
    for where, name in named:
        if isinstance(name, str) and name not in names:
            yield f"supervisor: {where}: there is no agent {name!r}{_near(name, usable)}"
    if isinstance(model := said.get("model"), str) and model not in models:
        yield f"supervisor: model: there is no section [models.{model}]"
    strategy = said.get("strategy", Strategy.LLM)
    if strategy == Strategy.RULE and not rules:
        yield "supervisor: strategy rule needs at least one [[supervisor.rules]]"
    if strategy == Strategy.FUNCTION and "function" not in said:
        yield "supervisor: strategy function needs `function`"
    ignored = [name for name, readers in READ_BY.items() if name in said and strategy not in readers]
    yield from (
        f"supervisor: {name}: strategy {strategy} does not read it" for name in ignored if strategy in [*Strategy]
    )
    yield from (f"supervisor: {one}" for one in _twice(raw, OTHER_NAMES["Supervisor"]))
    if "function" in said and not re.fullmatch(r"[\w.]+:[\w.]+", str(said["function"])):
        yield f"supervisor: function: {said['function']!r} is not module:function"


def _twice(raw: Mapping[str, Any], others: Mapping[str, str]) -> Iterator[str]:
    """What is said under both its names."""
    return (
        f"{other} is another name of {name}: give one of them"
        for other, name in others.items()
        if {other, name} <= raw.keys()
    )


def _repeated(listed: Any) -> Iterator[tuple[str, int]]:
    """The texts that are more than once in a list, and how often; none where it is no list."""
    texts = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
    return ((one, texts.count(one)) for one in dict.fromkeys(texts) if texts.count(one) > 1)


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
    elif parts[:1] == ["supervisor"]:
        where, form, about = parts[1:], Supervisor, ["supervisor"]
        if where[:1] == ["rules"] and len(where) > 2:
            where, form, about = where[2:], Rule, [*about, f"rule number {int(where[1]) + 1}"]
    if where[:1] == ["budget"] and len(where) > 1:
        form = Budget
    if error["type"] == "extra_forbidden":
        keys = (one.name for one in fields(form))
        return f"{': '.join((*about, '.'.join(map(str, where))))} is not a key{_near(str(where[-1]), keys)}"
    return ": ".join((*about, *([".".join(map(str, where))] if where else []), in_words(error)))


def _near(name: object, known: Iterable[str]) -> str:
    names = sorted(set(known))
    near = get_close_matches(str(name), names, n=1)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(names) or 'none'}"
