"""Showing a chain while it runs: each line once, as soon as it is true, and on a terminal what the
chain is doing below them.
"""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from haltpoint.cli.render.following import ENDS
from haltpoint.cli.render.lines import Line, Mark
from haltpoint.cli.render.story import elapsed, tell
from haltpoint.cli.wording import visible

if TYPE_CHECKING:
    from haltpoint.contracts.views.chains import ChainView, ProgressView

_TIME: Final = 8
"""Columns of the time at which something happened."""
_BELOW: Final = "\n" + " " * 12


class Teller:
    """Shows chains, one after the other. `pause` frees the screen for a question to the person."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._now = console.status("")
        self._chain = ""
        self._told: set[Line] = set()
        self._waits_for = ""

    def show(self, chain: "ChainView") -> None:
        """Print the lines that are new."""
        if self._chain != chain.id:
            self._chain, self._told = chain.id, set()
            self._console.print(heading(chain))
        told = [line for line in tell(chain) if line.mark is not Mark.PENDING]
        fresh = [line for line in told if line not in self._told]
        print_lines(self._console, chain, fresh)
        self._told.update(fresh)
        if chain.status in ENDS:
            self.close()
        else:
            self._say(_doing(chain))

    def progress(self, report: "ProgressView") -> None:
        """How far a call is, or what a thought waits for; in a pipe words alone, and once."""
        words = visible(report.text)
        done = f"{report.fraction:.0%} " if report.fraction else ""
        self._say(f"{done}{words}")
        is_news = words not in ("", self._waits_for) and not done
        if is_news and not self._console.is_terminal:
            self._waits_for = words
            blank = " " * _TIME
            self._console.print(Text(f"{blank} · {words}"), soft_wrap=True)

    def _say(self, words: str) -> None:
        self._now.update(Text(words, "dim"))
        if self._console.is_terminal:
            self._now.start()

    @contextmanager
    def pause(self) -> "Generator[None]":
        """Be silent and still for a while; the next `show` continues with what is new."""
        self.close()
        yield

    def close(self) -> None:
        """Leave the lines standing."""
        self._now.stop()


def heading(chain: "ChainView") -> Text:
    """What the chain is for, and its id."""
    goal = visible(chain.goal) or "a literal plan"
    return Text.assemble((goal, "bold"), f"  [{chain.id}]")


def print_lines(console: Console, chain: "ChainView", story: Iterable[Line]) -> None:
    """Lines with their times: on a terminal wrapped below themselves, each question in a box; in a
    pipe for grep.
    """
    for line in story:
        sign, style = line.mark.value
        time = elapsed(chain, line.at) if line.at else ""
        wide = 1 + 2 * line.depth
        if not console.is_terminal:
            text = Text(f"{time:>7} {sign:>{wide}} ")
            text.append(_words(line))
            console.print(text, soft_wrap=True)
            continue
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=_TIME - 1, justify="right", style="dim", no_wrap=True)
        grid.add_column(width=wide, justify="right", style=style, no_wrap=True)
        grid.add_column(overflow="fold")
        body = _card(line) if line.mark is Mark.STOP else _words(line)
        grid.add_row(time, sign, body)
        console.print(grid)


def plain(line: Line) -> Text:
    """A line behind its sign: no words of a model can look like a deed."""
    sign, _ = line.mark.value
    return Text(f"{sign} ").append(_words(line))


def _words(line: Line) -> Text:
    _, style = line.mark.value
    text = Text(visible(line.text))
    if line.mark in (Mark.NEVER, Mark.CHOICE):
        text.stylize(style)
    if line.struck:
        text.append(" ").append(visible(line.struck), "strike")
    if line.note:
        text.append(f"  ({visible(line.note)})", "dim")
    for more in line.more:
        text.append(_BELOW + visible(more))
    return text


def _card(line: Line) -> Panel:
    """A question in a box with all that a person has to know."""
    body = Text(visible(line.text).removeprefix("STOP  "), "bold")
    for more in line.more:
        body.append("\n").append(visible(more), "not bold")
    title = Text.assemble((" STOP ", "bold black on yellow"), f" {line.note}: a person decides ")
    return Panel(body, title=title, title_align="left", border_style="yellow", expand=False)


def _doing(chain: "ChainView") -> str:
    tool = chain.current.tool if chain.current else None
    status = chain.status.replace("_", " ")
    return f"{status} {tool or ''}"
