"""What the README prints is what happens: its fenced blocks are taken from the page and run as they
stand.

Only ports are others, so that tests may run side by side, and REQUEST is what the command before
has said.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pytest

from haltpoint.cli.gateway import ADDRESS_FILE
from haltpoint.cli.local.system import free_port
from haltpoint.examples.contacts.outbox import Outbox
from haltpoint.tools.declaration import tool_of
from tests.e2e.running import CHECKOUT, finished
from tests.support import PATIENCE
from tests.support.processes import until

README = (CHECKOUT / "README.md").read_text()


SARAH = 'haltpoint run "Tell Sarah I\'m running late"'
TOLD = ("»", "◆", "◇")
"""The signs of the lines of an answer."""


def illustrations() -> list[list[str]]:
    """What the page prints of answers: the words and deeds of each."""
    assert SARAH in README
    blocks = re.findall(r"^(?:    .+\n)+", README.partition("## Words and deeds")[2], re.MULTILINE)
    return [[line.strip() for line in block.splitlines()] for block in blocks[:2]]


def told_in(output: str) -> list[str]:
    """The lines of an answer, without the times before them."""
    lines = [re.sub(r"^ *[\d.]+ s *", "", line).strip() for line in output.splitlines()]
    return [line for line in lines if line.startswith(TOLD)]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("COV_", "COVERAGE_"))
        },
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HALTPOINT_STATE_DIR": str(tmp_path / "state"),
        "HALTPOINT_GATEWAY__PORT": str(free_port()),
        "CONTACTS_OUTBOX": str(tmp_path / "outbox.jsonl"),
    }


@contextmanager
def terminal(
    commands: str, environment: dict[str, str], log: Path
) -> Iterator["subprocess.Popen[bytes]"]:
    """A shell with these commands; at the end everything in it gets what Ctrl-C sends."""
    with log.open("wb") as output:
        shell = subprocess.Popen(
            ["bash", "-c", commands],
            env=environment,
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield shell
    finally:
        os.killpg(shell.pid, signal.SIGTERM)
        shell.wait(PATIENCE)


def test_the_quick_start_runs_as_it_is_printed(environment: dict[str, str], tmp_path: Path) -> None:
    serve, ask = blocks("sh")
    port = str(free_port())
    assert serve.count(":18080/") == 1
    serve = serve.replace(":18080/", f":{port}/").replace(
        "contacts_good &", f"contacts_good --port {port} &"
    )

    def command(line: str) -> str:
        done = finished(["bash", "-c", line], environment)
        codes.append(done.returncode)
        return done.stdout + done.stderr

    codes: list[int] = []
    log = tmp_path / "log"
    with terminal(serve, environment, log) as shell:
        address = tmp_path / "state" / ADDRESS_FILE
        until(lambda: address.exists() or shell.poll() is not None)
        assert shell.poll() is None, log.read_text()
        run, inbox, answer = ask.splitlines()
        told = command(run)
        (request,) = set(re.findall(r"haltpoint answer (\S+) \.\.\.", told))
        assert request in command(inbox)
        watch = re.search(
            r"haltpoint chain watch (\w+)", command(answer.replace("REQUEST", request))
        )
        assert watch is not None
        done, failed = illustrations()
        words, deeds, _ = done
        assert [words, deeds] == told_in(command(watch[0]))[:2]
        assert failed == told_in(command(SARAH))
    assert codes == [3, 0, 0, 0, 0], log.read_text()
    (message,) = Outbox(tmp_path / "outbox.jsonl").read()
    assert message.to == "user_abc123"


def test_the_fifteen_lines_declare_two_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = blocks("python")
    (tmp_path / "fifteen_lines.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    module = import_module("fifteen_lines")
    lookup, send = tool_of(module.lookup_contacts), tool_of(module.send_message)
    assert lookup is not None
    assert send is not None
    assert lookup.spec.may_clarify
    assert send.spec.provenance == {"recipient_id": ("lookup_contacts.contact_id",)}


def test_every_block_is_run_or_known_to_be_an_illustration() -> None:
    languages = re.findall(r"^```(\w*)$", README, re.MULTILINE)[::2]
    assert sorted(languages) == ["python", "sh", "sh"], (
        "a new block needs a test, or a mark that it is an illustration"
    )
