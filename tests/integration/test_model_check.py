"""`haltpoint model check`: what it says of a server that does most of what a planner asks."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
from typer.testing import CliRunner

from haltpoint.cli.main import app
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint.testing.script import Script
from haltpoint.testing.script_model import ScriptedModel
from haltpoint_planner.servers import Server
from tests.support.listener import Listener


def note(text: str, **more: Any) -> dict[str, Any]:
    return {"name": "note", "arguments": {"text": text, **more}}


RULES = [
    {"when": {"goal": "^Say OK"}, "say": {"content": "OK"}},
    {"when": {"goal": "two calls"}, "say": {"calls": [note("apple"), note("pear")]}},
    {"when": {"results": ["note"]}, "say": {"content": "Noted."}},
    {"when": {"goal": "^Note"}, "say": {"calls": [note("apple", priority=None)]}},
    {"when": {"goal": "^Name"}, "say": {"content": {"fruit": "fig"}}},
    {"when": {"goal": "^Count"}, "say": {"content": "1 2 3"}},
]


async def checked(tmp_path: Path, *words: str, **variables: str) -> tuple[int, str]:
    environment = {"HALTPOINT_STATE_DIR": str(tmp_path), **variables}
    words = ("model", "check", *words)
    done = await asyncio.to_thread(CliRunner().invoke, app, words, env=environment)
    return done.exit_code, done.stdout or done.stderr


async def test_each_trial_is_told_with_the_settings_to_use(tmp_path: Path) -> None:
    async with ScriptedModel(Script.model_validate({"rules": RULES})) as model:
        code, text = await checked(tmp_path, "--url", model.base_url, "--name", "m", "--json")
        asked = [served.body for served in model.requests]
    document = json.loads(text)
    outcomes = {found["what"]: found["outcome"] for found in document["findings"]}
    assert (code, document["refused"]) == (0, [])
    assert {what for what, outcome in outcomes.items() if outcome == "no"} == {
        "leaves out an optional parameter",
        "says when a reply is cut",
    }
    assert document["settings"] == {
        "HALTPOINT_MODEL__BASE_URL": model.base_url,
        "HALTPOINT_MODEL__NAME": "m",
    }
    assert [body["stream"] for body in asked] == [True] * len(asked)


async def test_a_server_that_is_not_there_ends_it_with_the_reason(tmp_path: Path) -> None:
    code, text = await checked(tmp_path, "--url", "http://127.0.0.1:1/v1", "--name", "m")
    assert code == 1
    assert text.startswith("HP-302 ")
    assert len(text.splitlines()) == 1


async def test_an_address_that_is_none_is_named_with_the_option_that_gives_it(
    tmp_path: Path,
) -> None:
    code, text = await checked(tmp_path, "--url", "localhost:1/v1", "--name", "m")
    assert code == 2
    assert "the model cannot be checked: base_url: must begin with http:// or https://" in text
    assert "HALTPOINT_MODEL__BASE_URL or --url" in text


def test_a_page_of_html_is_no_reason() -> None:
    page = "<!DOCTYPE html><html><head><title>Not found</title>"
    refused = Server(ModelSettings(base_url="http://here/v1")).failure(404, [], page, 0.0)
    assert "HTTP 404 with a page of HTML." in str(refused)


async def test_a_goal_that_the_script_does_not_know_is_told_with_those_that_it_knows() -> None:
    async with (
        ScriptedModel(Script.read(Path("contacts_good"))) as model,
        httpx.AsyncClient() as to,
    ):
        asked = {"messages": [{"role": "user", "content": "Goal: Water the plants"}]}
        headers = {"x-haltpoint-thought": "plan"}
        reply = await to.post(f"{model.base_url}/chat/completions", json=asked, headers=headers)
    words = reply.json()["error"]["message"]
    assert "no rule of the script fits this plan; it answers goals that match (?i)^(?:tell" in words
    assert "Conversation(" not in words


async def test_the_key_of_the_settings_goes_to_their_address_alone(tmp_path: Path) -> None:
    with Listener(b"{}") as other:
        await checked(
            tmp_path,
            "--url",
            f"{other.url}/v1",
            HALTPOINT_MODEL__BASE_URL="http://127.0.0.1:1/v1",
            HALTPOINT_MODEL__API_KEY="sk-12345",
        )
    assert other.lines
    assert set(other.keys) == {None}
