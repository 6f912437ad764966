"""Processes for one call each, which end with their worker, however that ends.

They are forked in milliseconds by a nursery: a process that is forked itself when a worker begins,
before there are modules of tool authors, connections or calls that two could share.
"""

import asyncio
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from functools import partial
from typing import Final, NoReturn, Self

from haltpoint.runtime.service.parent import end_with

Body = Callable[[bytes], int]
"""What a process does with what it is told; its exit code."""

_MOST: Final = 64 * 1024
"""Bytes of what a process is told."""


class Nursery:
    """Forks processes until it is left. Made in the main thread; it ends with ours."""

    def __init__(self, body: Body) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if not os.fork():
            self._ours.close()
            _serve(theirs, body)
        theirs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ours.close()

    async def do(self, told: bytes) -> int:
        """Have a process of its own do it; the exit code. Who is cancelled ends the process."""
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                socket.send_fds(self._ours, [told], [theirs.fileno()])
            ours.settimeout(0)
            code = await asyncio.get_running_loop().sock_recv(ours, 16)
        return int(code or 1)


def _serve(requests: socket.socket, body: Body) -> NoReturn:
    signal.set_wakeup_fd(-1)
    _on_signals(signal.SIG_IGN)
    while True:
        told, (*fds,), _, _ = socket.recv_fds(requests, _MOST, 1)
        if not fds:  # the worker has ended
            os._exit(0)
        with socket.socket(fileno=fds[0]) as worker:
            if not (pid := os.fork()):
                _be(body, told, worker)
            threading.Thread(target=_tell, args=(worker.dup(), pid), daemon=True).start()


def _tell(worker: socket.socket, pid: int) -> None:
    """Tell the worker how a process has ended."""
    _, status = os.waitpid(pid, 0)
    with worker:
        worker.send(str(os.waitstatus_to_exitcode(status)).encode())


def _be(body: Body, told: bytes, worker: socket.socket) -> NoReturn:
    _on_signals(signal.SIG_DFL)
    end_with(partial(worker.recv, 1))
    code = 1
    try:
        code = body(told)
    except BaseException:  # noqa: BLE001 - below us is the stack of the worker that was forked
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(code)


def _on_signals(action: signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, action)
