"""docker-compose.yml as values, with its variables filled in as Compose does it."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from haltpoint.contracts.base import JsonObject

COMPOSE: Final[JsonObject] = yaml.safe_load(
    (Path(__file__).parents[2] / "docker-compose.yml").read_text()
)
SERVICES: Final[dict[str, JsonObject]] = COMPOSE["services"]

_VARIABLE: Final = re.compile(r"\$\{(\w+)(?::([-+?])([^${}]*))?\}")
"""One that has no other inside."""


def interpolated(text: str, variables: Mapping[str, str]) -> str:
    """The text with its variables. Raises LookupError for one that has to be chosen."""

    def chosen(match: re.Match[str]) -> str:
        name, sign, word = match.groups()
        given = variables.get(name, "")
        if sign == "?" and not given:
            raise LookupError(f"{name}: {word}")
        if sign == "+":
            return str(word) if given else ""
        return given or (word if sign == "-" else "")

    while _VARIABLE.search(text):
        text = _VARIABLE.sub(chosen, text)
    return text


def environment(service: str, variables: Mapping[str, str]) -> dict[str, str]:
    """What Compose gives to a container of the service."""
    own = SERVICES[service].get("environment", {})
    return {name: interpolated(str(text), variables) for name, text in own.items()}
