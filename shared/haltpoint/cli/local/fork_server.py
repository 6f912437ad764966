"""The process from which children are forked: it has imported what they need, so that each of them
starts at once.

    python -m haltpoint.cli.local.fork_server CONTROL PROGRAM MODULE ...

CONTROL is a socket of the keeper, MODULEs are imported first. Each line on the socket is a child to
start: a list of its name and the words of its command line, as JSON. The answer is a line `{"pid":
17}`, and when the child has ended another one, `{"pid": 17, "code": 0}` (a negative code is the
signal that killed it). A child calls PROGRAM (`module:function`) with those words in `sys.argv`.

There are no threads and no event loop here, and nothing is connected: a fork copies imported
modules and nothing else. On other systems than Linux system libraries may have threads of their
own, so there a child starts as a new program.
"""

import gc
import json
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path


def main() -> None:
    """Serve until the keeper closes its end; in a child: be the program."""
    control, (program, *modules) = socket.socket(fileno=int(sys.argv[1])), sys.argv[2:]
    module, _, function = program.partition(":")
    if sys.platform == "linux":
        gc.disable()  # imports leave no garbage, and a tenth of their time is the search for it
        for name in (module, *modules):
            import_module(name)
        # A collection in a child would write to, and so copy, all that it shares with us.
        gc.freeze()
        gc.enable()
    child = _serve(control)
    if child is None:
        return
    name, *words = child
    if sys.platform != "linux":
        start = f"import {module}; {module}.{function}()"
        os.execv(sys.executable, (sys.executable, "-c", start, *words))  # noqa: S606 - the words are the keeper's
    sys.argv = ["haltpoint", *words]
    with suppress(OSError):
        Path("/proc/self/comm").write_text(f"hp-{name}")  # for ps and top
    getattr(import_module(module), function)()


def _serve(control: socket.socket) -> list[str] | None:
    """Fork a child for each line. Returns None here, at the end, and in each child its line."""
    woken, wakes = socket.socketpair()
    os.set_blocking(wakes.fileno(), False)
    signal.set_wakeup_fd(wakes.fileno())
    signal.signal(signal.SIGCHLD, _wake)
    rest = b""
    with suppress(ConnectionError):
        while True:
            ready, _, _ = select.select((control, woken), (), ())
            if woken in ready:
                woken.recv(4096)
                for pid, code in _ended():
                    control.sendall(json.dumps({"pid": pid, "code": code}).encode() + b"\n")
            if control in ready:
                received = control.recv(65536)
                if not received:
                    return None
                *lines, rest = (rest + received).split(b"\n")
                for line in lines:
                    pid = os.fork()
                    if pid == 0:
                        signal.set_wakeup_fd(-1)
                        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                        for each in (control, woken, wakes):
                            each.close()
                        os.setsid()
                        child: list[str] = json.loads(line)
                        return child
                    control.sendall(json.dumps({"pid": pid}).encode() + b"\n")
    return None


def _wake(number: int, frame: object) -> None:
    """The signal itself does nothing: its number on the socket ends the wait."""


def _ended() -> list[tuple[int, int]]:
    """The children that have ended since the last look, each with its code."""
    found: list[tuple[int, int]] = []
    with suppress(ChildProcessError):  # there are none
        while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
            found.append((ended[0], os.waitstatus_to_exitcode(ended[1])))
    return found


if __name__ == "__main__":
    main()
