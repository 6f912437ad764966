"""Read the agents file (HALTPOINT_AGENTS_FILE): who there is to work on tasks, and with which
models.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from haltpoint.contracts.tools import BUILT_IN
from haltpoint.contracts.work.agents import Agents
from haltpoint.contracts.work.routing import (
    ROUTE,
    SUPERVISOR,
    Strategy,
    Supervisor,
)
from haltpoint.contracts.written import regex
from haltpoint.runtime.config.faults import near
from haltpoint.runtime.config.toml_file import TomlFile, repeated

_FILE: Final = TomlFile(
    "HP-037",
    "the agents file",
    "Correct the file; "
    "https://github.com/haltpoint/haltpoint/blob/main/docs/guides/agents.md shows one",
)

_OF_A_MODEL: Final = (
    "tools",
    "prompt",
    "model",
    "threshold",
    "max_tool_retries",
    "max_iterations",
    "verbose",
)

READ_BY: Final = {
    "agents": tuple(strategy for strategy in Strategy if strategy is not Strategy.RULE),
    "rules": (Strategy.RULE,),
    "function": (Strategy.FUNCTION,),
    "fallback": (Strategy.RULE, Strategy.SKILL, Strategy.FUNCTION),
    **dict.fromkeys(_OF_A_MODEL, (Strategy.LLM,)),
}
"""Which strategies read a field of the supervisor; all others ignore it."""

_UNSAID: Final = Supervisor()
_TAKEN: Final = (*BUILT_IN, ROUTE, SUPERVISOR)


def read(path: Path | None) -> Agents:
    """The file, checked; without one there are no agents. Raises HaltpointError HP-037."""
    if path is None:
        return Agents()
    return _FILE.checked(path, _FILE.read(path), Agents, _faults)


def _faults(file: Agents) -> Iterator[str]:
    """What a file says that fits its schema, and contradicts itself or names what is not there."""
    names = [agent.name for agent in file.agents]
    for name, times in repeated(map(str.casefold, names)):
        yield f"{times} agents are called {name!r}, whatever its case"
    for agent in file.agents:
        place = f"agent {agent.name!r}"
        if agent.name in _TAKEN:
            yield f"{place}: the name is built in"
        yield from _missing_model(place, agent.model, file)
        for other in agent.agents:
            if other == agent.name:
                yield f"{place}.agents: it cannot hand a task on to itself"
            yield from _missing_agent(f"{place}.agents", other, names)
    if file.supervisor is not None:
        yield from _missing_model("supervisor", file.supervisor.model, file)
        yield from _faults_of_routing(file.supervisor, names)


def _missing_model(place: str, name: str | None, file: Agents) -> Iterator[str]:
    if name is not None and name not in file.models:
        yield f"{place}.model: there is no section [models.{name}]"


def _missing_agent(place: str, name: str, names: Sequence[str]) -> Iterator[str]:
    if name not in names:
        yield f"{place}: there is no agent {name!r}{near(name, names)}"


def _faults_of_routing(supervisor: Supervisor, names: Sequence[str]) -> Iterator[str]:
    """What the supervisor names and is not there, and the needs of its strategy."""
    if not names:
        yield "supervisor: there are no agents that it could choose from"
    for name in supervisor.agents:
        yield from _missing_agent("supervisor.agents", name, names)
    if supervisor.fallback is not None:
        yield from _missing_agent("supervisor.fallback", supervisor.fallback, names)
    for name, times in repeated(rule.id for rule in supervisor.rules):
        yield f"supervisor.rules: {times} rules have the id {name!r}"
    for rule in supervisor.rules:
        place = f"supervisor.rule {rule.id!r}"
        yield from _missing_agent(f"{place}.agent", rule.agent, names)
        if not rule.match and not rule.context:
            yield f"{place}: it has no condition: give it `match`, `context` or both"
        try:
            regex(rule.match)
        except ValueError as error:
            yield f"{place}.match: {error}"
    if supervisor.strategy is Strategy.RULE and not supervisor.rules:
        yield "supervisor: strategy rule needs at least one [[supervisor.rules]]"
    if supervisor.strategy is Strategy.FUNCTION and supervisor.function is None:
        yield "supervisor: strategy function needs `function`"
    for name, readers in READ_BY.items():
        is_said = getattr(supervisor, name) != getattr(_UNSAID, name)
        if is_said and supervisor.strategy not in readers:
            yield f"supervisor.{name}: strategy {supervisor.strategy} does not use it"
