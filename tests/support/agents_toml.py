"""Agents as the file that services read."""

import json
from collections.abc import Iterator
from pathlib import Path

from msgspec import to_builtins

from haltpoint.contracts.base import Contract, JsonObject
from haltpoint.contracts.work.agents import Agents


def written(agents: Agents, folder: Path) -> Path:
    """The file in this folder."""
    file = folder / "agents.toml"
    file.write_text("\n".join(_lines(agents)))
    return file


def _lines(agents: Agents) -> Iterator[str]:
    for agent in agents.agents:
        yield from _table("[[agents]]", agent)
    if agents.supervisor is not None:
        rules = agents.supervisor.rules
        yield from _table("[supervisor]", agents.supervisor, without="rules")
        for rule in rules:
            yield from _table("[[supervisor.rules]]", rule)


def _table(head: str, form: Contract, without: str = "") -> Iterator[str]:
    yield head
    fields: JsonObject = to_builtins(form)
    yield from (
        f"{name} = {json.dumps(value)}" for name, value in fields.items() if name != without
    )
