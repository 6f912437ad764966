"""`haltpoint up` that cannot come up says why, once, and ends."""

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from haltpoint.cli.gateway import ADDRESS_FILE
from haltpoint.cli.system import free_port
from haltpoint.runtime.connection import connect
from haltpoint.runtime.embedded import running
from haltpoint.runtime.service import alive
from haltpoint.runtime.topology import Topology
from tests.e2e.running import CHECKOUT, HALTPOINT
from tests.support import PATIENCE, wait_until


def up(tmp_path: Path, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {
        **os.environ,
        "HALTPOINT_STATE_DIR": str(tmp_path / "state"),
        "HALTPOINT_GATEWAY__PORT": str(free_port()),
        "HALTPOINT_TOOLS": "tests.e2e.tools",
        **variables,
    }
    return subprocess.run(
        [*HALTPOINT, "up", *words],
        env=environment,
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("words", [(), ("--workers", "2")])
def test_a_port_in_use_is_one_error_and_nothing_is_started(tmp_path: Path, words: tuple[str, ...]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = up(tmp_path, *words, HALTPOINT_GATEWAY__PORT=port)
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if "HP-" in line]
    assert errors == [f"HP-003 127.0.0.1:{port} cannot be listened on: Address already in use."]
    assert "starts again" not in done.stderr
    assert done.stdout == ""


def test_services_that_would_share_a_port_are_refused(tmp_path: Path) -> None:
    done = up(tmp_path, HALTPOINT_HEALTH_PORT=str(free_port()))
    assert done.returncode == 1
    assert "HP-003 3 services cannot share the port" in done.stderr


def test_a_service_that_can_never_start_ends_it(tmp_path: Path) -> None:
    done = up(tmp_path, HALTPOINT_TOOLS="there.is.no.such.module")
    assert done.returncode == 1
    assert "HP-043 tool-worker cannot start" in done.stderr
    assert "HP-030" in done.stderr + done.stdout


def test_settings_that_cannot_be_used_are_shown_where_the_error_sends_one(tmp_path: Path) -> None:
    refused = up(tmp_path, HALTPOINT_SLOTS="many")
    assert refused.returncode == 2
    assert "haltpoint config show --origin" in refused.stderr
    shown = subprocess.run(
        [*HALTPOINT, "config", "show", "--json"],
        env={**os.environ, "HALTPOINT_SLOTS": "many"},
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert shown.returncode == 2
    assert json.loads(shown.stdout)["slots"] == {
        "value": "many",
        "variable": "HALTPOINT_SLOTS",
        "origin": "environment",
    }
    assert "slots = many (from environment; HALTPOINT_SLOTS)" in shown.stderr


async def test_more_workers_are_started_when_asked_for(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "HALTPOINT_STATE_DIR": str(tmp_path / "state"),
        "HALTPOINT_GATEWAY__PORT": str(free_port()),
        "HALTPOINT_TOOLS": "tests.e2e.tools",
    }
    with (tmp_path / "log").open("wb") as log:
        up = subprocess.Popen(  # noqa: ASYNC220 - it is a child of this test, not of its loop
            [*HALTPOINT, "up", "--workers", "2"], env=environment, cwd=CHECKOUT, stdout=log, stderr=log
        )
    try:
        await wait_until((tmp_path / "state" / ADDRESS_FILE).exists)
        async with connect(running(tmp_path / "state" / "data") or "") as redis:
            names = sorted(one["name"] for one in await alive(redis, Topology(4)))
        assert names == ["executor", "gateway", "planner", "tool-worker", "tool-worker"]
    finally:
        up.terminate()
        code = up.wait(PATIENCE)
    assert code == 0, (tmp_path / "log").read_text()
