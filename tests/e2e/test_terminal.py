"""A person at a terminal: the chain is drawn, the question is asked there and answered there."""

import os
import pty
import re
import select
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import ioctl
from termios import TIOCSWINSZ

from tests.e2e.running import CHECKOUT, HALTPOINT, Running
from tests.support import PATIENCE

ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07)")


class Terminal:
    """What is on a terminal, and a keyboard."""

    def __init__(self, descriptor: int, process: "subprocess.Popen[bytes]") -> None:
        self._descriptor = descriptor
        self.process = process
        self._bytes = b""

    @property
    def raw(self) -> str:
        """Everything that was written."""
        return self._bytes.decode(errors="replace")

    @property
    def text(self) -> str:
        """The same without escapes."""
        return ESCAPES.sub("", self.raw)

    def until(self, words: str, within: float = PATIENCE) -> None:
        """Read until these words have been written."""
        deadline = time.monotonic() + within
        while words not in self.text:
            assert time.monotonic() < deadline, self.text
            if not self._read(0.1):
                assert words in self.text, self.text
                return

    def type(self, words: str) -> None:
        self.press(f"{words}\n".encode())

    def press(self, keys: bytes) -> None:
        os.write(self._descriptor, keys)

    def wait(self) -> int:
        """Read to the end; the exit code."""
        while self._read(PATIENCE):
            pass
        return self.process.wait(PATIENCE)

    def _read(self, within: float) -> bool:
        ready, _, _ = select.select([self._descriptor], [], [], within)
        try:
            part = os.read(self._descriptor, 65536) if ready else None
        except OSError:  # Linux: the other end is closed
            part = b""
        self._bytes += part or b""
        return part is None or bool(part)


@contextmanager
def at_terminal(system: Running, *words: str, columns: int) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    hidden = {"NO_COLOR", "CI", "COLUMNS", "LINES"}
    environment = {k: v for k, v in system.environment.items() if k not in hidden} | {
        "TERM": "xterm-256color"
    }
    process = subprocess.Popen(
        [*HALTPOINT, *words],
        cwd=CHECKOUT,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        yield Terminal(ours, process)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_the_question_is_asked_and_answered_where_the_chain_is_watched(system: Running) -> None:
    columns = 50
    with at_terminal(system, "run", "Message John hello", "--watch", columns=columns) as terminal:
        terminal.until("Your choice (1-3, n none, a abort):")
        assert "STOP" in terminal.text
        assert "never executed" in terminal.text
        terminal.type("who?")
        terminal.type("2")
        assert terminal.wait() == 0
        end = terminal.text[terminal.text.rindex("Your choice") :]
    assert "→ John Smith" in end
    assert "✓ completed" in end
    drawn = [line for line in end.replace("\r", "\n").splitlines() if "Your choice" not in line]
    assert [line for line in drawn if len(line) > columns] == []


def test_ctrl_c_leaves_the_terminal_as_it_was(system: Running) -> None:
    with at_terminal(system, "chain", "watch", _waiting(system), columns=80) as terminal:
        terminal.until("Your choice")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.wait() == 130
        assert terminal.raw.count("\x1b[?25h") >= terminal.raw.count(
            "\x1b[?25l"
        )  # the cursor is back


def _waiting(system: Running) -> str:
    done = system.command("run", "Tell J hello", "--detach")
    return done.stdout.strip()
