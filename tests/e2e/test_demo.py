"""The demo, as `make demo` runs it where nobody is at a terminal."""

import json
import os
import re
import signal
import subprocess
import zipfile
from pathlib import Path

import pytest

from haltpoint.cli.gateway import KEY_FILE
from haltpoint.cli.local.system import System, free_port, local_system
from haltpoint.client import Client
from haltpoint.contracts.people.humans import Choice, RequestKind
from haltpoint.examples.contacts.outbox import Outbox
from haltpoint.examples.contacts.tools import busy_file
from haltpoint.runtime.config.settings_sources import load
from tests.e2e.running import CHECKOUT, HALTPOINT, answers, finished
from tests.pictures.demo import bare, sentences
from tests.support import PATIENCE, wait_until
from tests.support.wheel import build


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k != "CI"} | {"TMPDIR": str(tmp_path)}


def test_it_answers_by_itself_and_nobody_gets_a_wrong_message(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """Run from the contents of the wheel, outside of the checkout; `make wheel` also installs
    it.
    """
    inside, elsewhere = tmp_path / "wheel", tmp_path / "elsewhere"
    elsewhere.mkdir()
    with zipfile.ZipFile(build("wheel", tmp_path / "dist")) as wheel:
        wheel.extractall(inside)
    with subprocess.Popen(
        [*HALTPOINT, "demo"],
        env={**environment, "PYTHONPATH": str(inside)},
        cwd=elsewhere,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as demo:
        assert demo.stdout
        first = demo.stdout.readline()
        rest = demo.stdout.read()
        assert demo.wait(PATIENCE) == 0, rest
    assert first.startswith("Haltpoint demo")
    assert "■ STOP  Which 'John' do you mean?" in rest
    assert "This is not a terminal, so the demo chooses: John Doe." in rest
    assert "never executed" in rest
    assert "wrong recipients" in rest
    assert [one for one in sentences() if one not in bare(rest)] == [], (
        "stale: run `python -m tests.pictures.demo`"
    )
    assert list(tmp_path.glob("haltpoint-demo-*")) == []


async def test_it_leaves_the_five_cases_on_the_page_until_ctrl_c(
    environment: dict[str, str], tmp_path: Path
) -> None:
    said = tmp_path / "said"
    with said.open("w") as output:
        demo = subprocess.Popen(  # noqa: ASYNC220 - it is read while it runs
            [*HALTPOINT, "demo", "--yes", "--page"],
            env=environment,
            cwd=CHECKOUT,
            stdout=output,
            stderr=output,
        )
        await wait_until(lambda: "Ctrl-C ends it" in said.read_text())
        page = re.search(r"The page: (http://\S+)", said.read_text())
        assert page
        assert await answers(f"{page[1]}/login")
        demo.send_signal(signal.SIGINT)
        assert demo.wait(PATIENCE) == 0


def test_it_runs_with_a_model_of_ones_own(environment: dict[str, str]) -> None:
    """Any server with OpenAI's API; here one that behaves well, as a process of its own."""
    port = free_port()
    with subprocess.Popen(
        [*HALTPOINT, "script-model", "contacts_good", "--port", str(port)],
        env=environment,
        cwd=CHECKOUT,
        stdout=subprocess.DEVNULL,
    ) as model:
        own = {
            "CI": "1",
            "HALTPOINT_MODEL__BASE_URL": f"http://127.0.0.1:{port}/v1",
            "HALTPOINT_MODEL__NAME": "mine",
        }
        done = finished([*HALTPOINT, "demo", "--json", "--own-model"], {**environment, **own})
        model.terminate()
    assert done.returncode == 0, done.stderr
    *chains, told = map(json.loads, done.stdout.splitlines())
    assert (told["wrong_recipients"], told["faults"]) == (0, [])
    assert {message["to"] for message in told["outbox"]} >= {"user_jan001", "user_abc123"}
    assert [chain["usage"]["turns"] > 0 for chain in chains] == [True] * 4


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_worker_killed_while_it_sends_a_message_sends_exactly_one(
    moment: str, tmp_path: Path
) -> None:
    """A person, who looks into the outbox, says whether it happened."""
    outbox = Outbox(tmp_path / "outbox.jsonl")
    settings = load(
        state_dir=str(tmp_path / "state"),
        tools="haltpoint.examples.contacts.tools",
        lease=2.0,
        heartbeat=0.5,
        gateway={"port": 0},
    ).model_copy(update={"redis_url": None})
    environment = {"CONTACTS_OUTBOX": str(outbox.path), "CONTACTS_LINGER": f"{moment}:60"}
    plan = {
        "steps": [
            {
                "id": "find",
                "required_tools": ["lookup_contacts"],
                "actions": [{"tool": "lookup_contacts", "arguments": {"query": "Jane"}}],
            },
            {
                "id": "send",
                "required_tools": ["send_message"],
                "dependencies": ["find"],
                "actions": [
                    {
                        "tool": "send_message",
                        "arguments": {
                            "recipient_id": {"$from": "find.data.contact_id"},
                            "content": "hello",
                        },
                    }
                ],
            },
        ]
    }
    async with (
        local_system(settings, environment=environment, output=tmp_path / "log") as system,
        _client(system) as client,
    ):
        run = await client.run(task={"goal": "Tell Jane hello", "plan": plan})
        await wait_until(lambda: busy_file(outbox).exists() and bool(busy_file(outbox).read_text()))
        os.kill(int(busy_file(outbox).read_text()), signal.SIGKILL)
        request = await run.expects_request(RequestKind.IN_DOUBT)
        assert len(outbox.read()) == (moment == "after")
        happened = Choice.HAPPENED if outbox.read() else Choice.NOT_HAPPENED
        await client.answer(request.id, decision=happened)
        result = await run.result()
    assert result.status == "completed"
    assert [(message.key, message.to) for message in outbox.read()] == [
        (f"{run.id}.send.1", "user_jan001")
    ]


def _client(system: System) -> Client:
    return Client(system.url, (system.settings.state_dir / KEY_FILE).read_text().strip())
