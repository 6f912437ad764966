"""Showing a chain while it runs: each line of its story once, as soon as it is true, and on a
terminal what the chain is doing below them.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from haltpoint.chain.model.canonical import spelt_out
from haltpoint.cli.render.following import ENDS
from haltpoint.contracts.views.story import SIGNS, StoryLine, Tone
from haltpoint.runtime.views.story import elapsed
from haltpoint.runtime.views.wording import spaced

if TYPE_CHECKING:
    from haltpoint.contracts.views.chains import ChainView, ProgressView

_TIME: Final = 7
"""Columns of the time at which something happened."""
_STYLES: Final[Mapping[Tone, str]] = {
    "pending": "dim",
    "running": "cyan",
    "done": "green",
    "failed": "red",
    "stop": "bold yellow",
    "choice": "bold green",
    "never": "magenta",
    "corrected": "yellow",
    "broken": "yellow",
    "words": "",
    "deed": "green",
    "not_done": "yellow",
    "missing": "bold yellow",
}
_COLOURED: Final = ("never", "choice")
"""Lines that have the colour of their sign."""
_BELOW: Final = ("call", "question", "model")
"""Lines that are a part of a step."""


class Teller:
    """Shows a chain. `close` frees the screen, for a question to the person or for good."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._now = console.status("")
        self._chain = ""
        self._told: set[StoryLine] = set()
        self._waits_for = ""

    def show(self, chain: "ChainView") -> None:
        """Print the lines that are new."""
        if self._chain != chain.id:
            self._chain = chain.id
            title = heading(chain)
            self._console.print(title)
        happened = [line for line in chain.story if line.at or line.tone != "pending"]
        fresh = [line for line in happened if line not in self._told]
        print_lines(self._console, chain, fresh)
        self._told.update(fresh)
        if chain.status in ENDS:
            self.close()
        else:
            tool = chain.current and chain.current.tool
            status = spaced(chain.status)
            self._say(f"{status} {tool or ''}")

    def progress(self, report: "ProgressView") -> None:
        """How far a call is, or what a thought waits for; in a pipe words alone, and once."""
        words = spelt_out(report.text)
        done = f"{report.fraction:.0%} " if report.fraction else ""
        self._say(f"{done}{words}")
        is_news = words not in ("", self._waits_for) and not done
        if is_news and not self._console.is_terminal:
            self._waits_for = words
            indent = " " * _TIME
            self._console.print(Text(f"{indent}  · {words}"))

    def close(self) -> None:
        """Leave the lines standing."""
        self._now.stop()

    def _say(self, words: str) -> None:
        text = Text(words, "dim")
        self._now.update(text)
        if self._console.is_terminal:
            self._now.start()


def heading(chain: "ChainView") -> Text:
    """What the chain is for, and its id."""
    return Text.assemble((spelt_out(chain.goal), "bold"), f"  [{chain.id}]")


def print_story(console: Console, chain: "ChainView") -> None:
    """All of it."""
    title = heading(chain)
    console.print(title)
    print_lines(console, chain, chain.story)


def print_lines(console: Console, chain: "ChainView", story: Iterable[StoryLine]) -> None:
    """Lines with their times; on a terminal each question in a box."""
    for line in story:
        time = elapsed(chain, line.at) if line.at else ""
        width = 3 if line.about in _BELOW else 1
        style = _STYLES[line.tone]
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=_TIME, justify="right", style="dim", no_wrap=True)
        grid.add_column(width=width, justify="right", style=style, no_wrap=True)
        grid.add_column(overflow="fold")
        is_box = line.tone == "stop" and console.is_terminal
        shown = _card(line) if is_box else _words(line)
        grid.add_row(time, SIGNS[line.tone], shown)
        console.print(grid)


def plain(line: StoryLine) -> Text:
    """A line behind its sign: no words of a model can look like a deed."""
    return Text(f"{SIGNS[line.tone]} ").append(_words(line))


def _words(line: StoryLine) -> Text:
    stop = "STOP  " if line.tone == "stop" else ""
    text = Text(stop + spelt_out(line.text))
    if line.tone in _COLOURED:
        text.stylize(_STYLES[line.tone])
    if line.struck:
        text.append(" ").append(spelt_out(line.struck), "strike")
    if line.note:
        text.append(f"  ({spelt_out(line.note)})", "dim")
    return Text("\n").join((text, *_lines(line.more)))


def _card(line: StoryLine) -> Panel:
    """A question in a box with all that a person has to know."""
    question = Text(spelt_out(line.text), "bold")
    body = Text("\n").join((question, *_lines(line.more)))
    title = Text.assemble((" STOP ", "bold black on yellow"), f" {line.note}: a person decides ")
    return Panel(body, title=title, title_align="left", border_style="yellow", expand=False)


def _lines(texts: Iterable[str]) -> Iterable[Text]:
    return map(Text, map(spelt_out, texts))
