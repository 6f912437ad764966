"""A network between servers that can be cut: what those on the other side say, and hear, waits
until it is whole again. Clients are on both sides.
"""

import re
import socket
import threading
from contextlib import suppress
from typing import Final

SERVERS: Final = re.compile(rb"REPLCONF|sentinel-")
"""How replicas and Sentinels begin; clients say neither."""
BUS: Final = re.compile(rb"RCmb")
"""How each message between nodes of a cluster begins."""

NOBODY: Final = re.compile(rb"(?!)")


def bus_of(node: str) -> "re.Pattern[bytes]":
    """How each message of this node begins."""
    return re.compile(rb"RCmb.{36}" + node.encode(), re.DOTALL)


class Gate:
    """A port before that of a server. `others` tells the connections of those that a cut keeps
    away.
    """

    def __init__(self, behind: int, others: "re.Pattern[bytes]") -> None:
        self.others = others
        self.whole = threading.Event()
        self.whole.set()
        self._behind = behind
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Let nobody in any more."""
        self.whole.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                _Link(self, caller, self._behind)


class _Link:
    """One connection through a gate."""

    def __init__(self, gate: Gate, caller: socket.socket, behind: int) -> None:
        self._gate = gate
        self._is_other = False
        try:
            server = socket.create_connection(("127.0.0.1", behind))
        except OSError:
            caller.close()
            return
        for ends in ((caller, server), (server, caller)):
            threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(65536):
                if self._gate.others.search(piece):
                    self._is_other = True
                if self._is_other:
                    self._gate.whole.wait()
                sink.sendall(piece)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
