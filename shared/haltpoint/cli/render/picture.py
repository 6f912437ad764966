"""Showing a chain while it runs: each line once, as soon as it is true, and on a terminal what the
chain is doing below them.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from haltpoint.cli.render.following import ENDS
from haltpoint.cli.render.story import Line, Mark, elapsed, tell
from haltpoint.cli.wording import visible

if TYPE_CHECKING:
    from haltpoint.contracts.views.chains import ChainView, ProgressView

_TIME: Final = 7
"""Columns of the time at which something happened."""
_COLOURED: Final = (Mark.NEVER, Mark.CHOICE)
"""Lines that have the colour of their sign."""


class Teller:
    """Shows a chain. `close` frees the screen, for a question to the person or for good."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._now = console.status("")
        self._chain = ""
        self._told: set[Line] = set()
        self._waits_for = ""

    def show(self, chain: "ChainView") -> None:
        """Print the lines that are new."""
        if self._chain != chain.id:
            self._chain = chain.id
            self._console.print(heading(chain))
        lines = [line for line in tell(chain) if line.mark is not Mark.PENDING]
        fresh = [line for line in lines if line not in self._told]
        print_lines(self._console, chain, fresh)
        self._told.update(fresh)
        if chain.status in ENDS:
            self.close()
        else:
            tool = chain.current.tool if chain.current else None
            self._say(f"{chain.status.replace('_', ' ')} {tool or ''}")

    def progress(self, report: "ProgressView") -> None:
        """How far a call is, or what a thought waits for; in a pipe words alone, and once."""
        words = visible(report.text)
        done = f"{report.fraction:.0%} " if report.fraction else ""
        self._say(f"{done}{words}")
        is_news = words not in ("", self._waits_for) and not done
        if is_news and not self._console.is_terminal:
            self._waits_for = words
            self._console.print(Text(f"{'':>{_TIME}}  · {words}"))

    def close(self) -> None:
        """Leave the lines standing."""
        self._now.stop()

    def _say(self, words: str) -> None:
        self._now.update(Text(words, "dim"))
        if self._console.is_terminal:
            self._now.start()


def heading(chain: "ChainView") -> Text:
    """What the chain is for, and its id."""
    goal = visible(chain.goal) or "a literal plan"
    return Text.assemble((goal, "bold"), f"  [{chain.id}]")


def print_lines(console: Console, chain: "ChainView", story: Iterable[Line]) -> None:
    """Lines with their times; on a terminal each question in a box."""
    for line in story:
        sign, style = line.mark.value
        time = elapsed(chain, line.at) if line.at else ""
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=_TIME, justify="right", style="dim", no_wrap=True)
        grid.add_column(width=1 + 2 * line.depth, justify="right", style=style, no_wrap=True)
        grid.add_column(overflow="fold")
        is_box = line.mark is Mark.STOP and console.is_terminal
        grid.add_row(time, sign, _card(line) if is_box else _words(line))
        console.print(grid)


def plain(line: Line) -> Text:
    """A line behind its sign: no words of a model can look like a deed."""
    sign, _ = line.mark.value
    return Text(f"{sign} ").append(_words(line))


def _words(line: Line) -> Text:
    _, style = line.mark.value
    text = Text(visible(line.text))
    if line.mark in _COLOURED:
        text.stylize(style)
    if line.struck:
        text.append(" ").append(visible(line.struck), "strike")
    if line.note:
        text.append(f"  ({visible(line.note)})", "dim")
    return Text("\n").join((text, *map(Text, map(visible, line.more))))


def _card(line: Line) -> Panel:
    """A question in a box with all that a person has to know."""
    asked = line.text.removeprefix("STOP  ")
    question = Text(visible(asked), "bold")
    body = Text("\n").join((question, *map(Text, map(visible, line.more))))
    title = Text.assemble((" STOP ", "bold black on yellow"), f" {line.note}: a person decides ")
    return Panel(body, title=title, title_align="left", border_style="yellow", expand=False)
