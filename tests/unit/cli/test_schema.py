"""The contracts as documents: whole, and true."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from haltpoint.cli.main import app
from haltpoint.contracts.catalogue import CATALOGUE
from haltpoint.contracts.public_facts import PUBLIC

PAGE = Path(__file__).parents[3] / "docs" / "supervisor.md"


def printed(name: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["schema", name])
    assert result.exit_code == 0
    made: dict[str, Any] = json.loads(result.stdout)
    return made


def test_events_are_one_union_of_all_messages_and_public_facts() -> None:
    made = printed("events")
    messages = {row.type for row in CATALOGUE}
    assert set(made["discriminator"]["mapping"]) == messages | {f"{name}.v1" for name in PUBLIC}


def test_the_agents_file_as_json_schema_takes_the_file_of_the_page() -> None:
    schema = json.loads(CliRunner().invoke(app, ["schema", "agents"]).stdout)
    for example in re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL):
        jsonschema.validate(tomllib.loads(example), schema)
    agent = {"name": "a", "description": "b", "prompt": "x", "budget": {"seconds": "5m"}}
    jsonschema.validate({"agents": [agent]}, schema)
    with pytest.raises(jsonschema.ValidationError, match="5 parsecs"):
        jsonschema.validate({"agents": [agent | {"budget": {"seconds": "5 parsecs"}}]}, schema)
    with pytest.raises(jsonschema.ValidationError, match="prompts"):
        jsonschema.validate({"agents": [{"name": "a", "description": "b", "prompts": "c"}]}, schema)
