"""A reader of the tutorial, who types the commands of its pages one after the other into the two
terminals that it asks for.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from typer.testing import CliRunner

from haltpoint.cli.gateway import ADDRESS_FILE
from haltpoint.cli.local.system import free_port
from haltpoint.cli.main import app
from haltpoint.runtime.service.embedded import EmbeddedServer
from tests.e2e.running import CHECKOUT, finished
from tests.support import PATIENCE
from tests.support.processes import until

PAGES = sorted((CHECKOUT / "docs/tutorial").glob("[1-8]-*.md"))
WAITING = 3
"""The exit code of a command whose chain waits for a person."""
SERVES = re.compile(r"haltpoint up --tools")
HAPPENS = {
    "1": ["list_products", "✓ call completed", "◇ Nothing was sent, changed or deleted."],
    "2": ["Which 'mug'?", "1  blue mug", "2  red mug", "Open: 1 question."],
    "3": [
        'no known source: order_product(product_id="mug-red"',
        '◆ Done: Ordered 2 of "red mug" as "o-1"  (order.1',
    ],
    "4": ["Cancels o-1: 2 of red mug, now open.", '"o-1", 2 of "red mug"'],
    "5": ["runs again at", '◆ Done: Shipped "o-1"  (call.1)'],
    "6": ["service", "sales", '1 of "teapot"', "Cancels o-2: 1 of teapot, now open."],
    "7": ["4 passed"],
    "8": ["✓ call completed"],
}
"""What the commands of each page print, among other lines."""


class Desk:
    """Two terminals: one serves, in the other commands are typed."""

    def __init__(self, folder: Path, server: EmbeddedServer) -> None:
        self.folder = folder
        self.port = free_port()
        self.gateway = free_port()
        self.server = server
        self.processes: list[subprocess.Popen[bytes]] = []
        self.served: subprocess.Popen[bytes] | None = None
        self.question = ""
        self.said = ""
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("COV")},
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HALTPOINT_STATE_DIR": str(folder / "state"),
            "HALTPOINT_GATEWAY__PORT": str(self.gateway),
            "SHOP_DATABASE": str(folder / "shop.db"),
        }

    def type(self, line: str) -> None:
        """One line of a page, with the ports of this test and the ids that were printed."""
        line = line.replace(":18080/", f":{self.port}/").replace(
            "shop/model.json &", f"shop/model.json --port {self.port} &"
        )
        line = line.replace("redis://127.0.0.1:6379/0", self.server.url)
        line = line.replace("REQUEST", self.question).replace(
            "CHAIN", self.question.rpartition(".")[0]
        )
        if line.startswith("# "):
            self.stop_serving()
        elif line.startswith("export "):
            self.export(line)
        elif line.endswith("&"):
            self.processes.append(self.start(line.removesuffix("&")))
        elif SERVES.match(line):
            self.serve(line)
        else:
            self.run(line)

    def export(self, line: str) -> None:
        """A variable of the shell."""
        name, _, value = line.removeprefix("export ").partition("=")
        printed = re.fullmatch(r"\$\((.*)\)", value)
        if printed:
            value = self.finished(printed[1]).stdout.strip()
        if name != "PATH":
            self.environment[name] = value

    def start(self, line: str) -> "subprocess.Popen[bytes]":
        """A command that does not end by itself."""
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                ["bash", "-c", f"exec {line}"],
                cwd=CHECKOUT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def serve(self, line: str) -> None:
        """`haltpoint up`, in place of the one before."""
        self.stop_serving()
        address = self.folder / "state" / ADDRESS_FILE
        self.served = served = self.start(line)
        until(lambda: address.exists() or served.poll() is not None)
        assert served.poll() is None, (self.folder / "log").read_text()

    def stop_serving(self) -> None:
        """Ctrl-C in the terminal that serves."""
        if self.served is not None:
            self.stop(self.served)
            (self.folder / "state" / ADDRESS_FILE).unlink(missing_ok=True)
            self.served = None

    def finished(self, line: str) -> "subprocess.CompletedProcess[str]":
        """A command that has run to its end; one of ours in this process, which is quicker."""
        program, *words = shlex.split(line)
        if program != "haltpoint":
            return finished([program, *words], self.environment)
        done = CliRunner().invoke(app, words, env=self.environment, prog_name=program)
        return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)

    def finished_when_served(self, line: str) -> "subprocess.CompletedProcess[str]":
        """The same as soon as the gateway answers."""
        deadline = time.monotonic() + PATIENCE
        while True:
            done = self.finished(line)
            if "HP-050" not in done.stderr or time.monotonic() > deadline:
                return done
            time.sleep(0.2)  # between two looks at a process

    def run(self, line: str) -> None:
        """A command: it works, or its chain waits for a person."""
        done = self.finished_when_served(line)
        said = done.stdout + done.stderr
        self.said += said
        assert done.returncode in (0, WAITING) or "doctor" in line, f"{line}\n{said}"
        for request in re.findall(r"haltpoint answer (\S+\.r\d+) \.\.\.", said):
            self.question = request
        if line.startswith("haltpoint answer"):
            watch = re.search(r"haltpoint chain watch \S+", said)
            assert watch
            self.said += self.finished(watch[0]).stdout

    def stop(self, process: "subprocess.Popen[bytes]") -> None:
        """What Ctrl-C does."""
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(PATIENCE)


def lines_of(page: Path) -> list[str]:
    """What a page says to type."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@contextmanager
def desk(folder: Path) -> Iterator[Desk]:
    """The terminals of a reader, and a server beside; all ends with them."""
    with EmbeddedServer(folder / "redis") as server:
        desk = Desk(folder, server)
        try:
            yield desk
        finally:
            for process in (*desk.processes, *filter(None, [desk.served])):
                desk.stop(process)


def follow(pages: Sequence[Path], folder: Path) -> None:
    """Do what these pages say, from the first on, and find what they print."""
    with desk(folder) as typed:
        for page in pages:
            typed.said = ""
            for line in lines_of(page):
                typed.type(line)
            missing = [words for words in HAPPENS[page.name[0]] if words not in typed.said]
            assert missing == [], f"{page.name}\n{typed.said}"
