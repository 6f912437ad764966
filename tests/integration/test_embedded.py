"""The embedded server's promises, each with real processes."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from haltpoint.runtime.service import embedded
from haltpoint.runtime.service.embedded import (
    EmbeddedServer,
    EmbeddedServerError,
    find_binary,
    running,
)
from tests.support.processes import gone, until

OWNER = """
import signal, sys, threading
from pathlib import Path
from haltpoint.runtime.service.embedded import EmbeddedServer
signal.signal(signal.SIGINT, lambda *_: print("interrupted", flush=True))
server = EmbeddedServer(Path(sys.argv[1]), grace=0.5)
starter = threading.Thread(target=server.start)  # it ends before its server does
starter.start(); starter.join()
print(server.pid, flush=True)
while True:
    signal.pause()
"""


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process of its own that owns a server; `owner.stdout` has the server's pid as its first
    line.
    """
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield process
        process.kill()


def server_pid(owner: subprocess.Popen[str]) -> int:
    assert owner.stdout
    return int(owner.stdout.readline())


def test_it_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "new" / "data") as server, Redis.from_url(server.url) as client:
        client.set("kept", "1")
        server.stop()
        server.start()
        assert client.get("kept") == b"1", "after a clean restart, at the same address"
        client.set("kept", "2")
        server.kill()
        assert server.pid is None
        server.start()
        assert client.get("kept") == b"2", "after a crash"
    assert running(server.data_dir) is None
    with EmbeddedServer(tmp_path / "new" / "data") as server, Redis.from_url(server.url) as client:
        assert client.get("kept") == b"2", "for the next owner"


def test_its_folder_may_have_any_name(tmp_path: Path) -> None:
    data = tmp_path / "a#b?c=d 100% %20 ü:@+" / "data"
    with EmbeddedServer(data) as server, Redis.from_url(server.url) as client:
        assert client.ping()
        assert running(data) == server.url


def test_only_this_user_can_open_it_and_no_port_is_open(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server, Redis.from_url(server.url) as client:
        path = Path(server.url.removeprefix("unix://"))
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert client.config_get("port") == {"port": "0"}
    assert not path.exists()


def test_it_dies_with_an_owner_that_is_killed_and_frees_its_data(
    owner: subprocess.Popen[str], tmp_path: Path
) -> None:
    pid = server_pid(owner)
    url = running(tmp_path)
    assert url
    with Redis.from_url(url) as client:
        client.set("kept", "1")
    owner.kill()
    with EmbeddedServer(tmp_path) as server, Redis.from_url(server.url) as client:
        assert gone(pid), "never two servers on the same data"
        assert client.get("kept") == b"1"


def test_it_dies_even_when_it_hangs(owner: subprocess.Popen[str]) -> None:
    pid = server_pid(owner)
    os.kill(pid, signal.SIGSTOP)
    owner.kill()
    until(lambda: gone(pid))


def test_it_survives_the_ctrl_c_of_its_owner(owner: subprocess.Popen[str], tmp_path: Path) -> None:
    pid = server_pid(owner)
    os.killpg(owner.pid, signal.SIGINT)
    assert owner.stdout
    assert owner.stdout.readline() == "interrupted\n"
    assert running(tmp_path)
    assert not gone(pid)


def test_a_second_start_is_refused_with_the_owner_named(
    owner: subprocess.Popen[str], tmp_path: Path
) -> None:
    server_pid(owner)
    with pytest.raises(
        EmbeddedServerError, match=rf"is in use by the embedded server of process {owner.pid}"
    ):
        EmbeddedServer(tmp_path).start()
    assert running(tmp_path), "the first is left alone"


def test_without_the_package_the_path_is_searched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert find_binary().name in ("valkey-server", "redis-server")
    monkeypatch.setattr(embedded, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EmbeddedServerError, match="put valkey-server or redis-server on the PATH"):
        find_binary()
    (tmp_path / "redis-server").write_text("#!/bin/sh\n")
    (tmp_path / "redis-server").chmod(0o700)
    assert find_binary() == tmp_path / "redis-server"
