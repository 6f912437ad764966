"""Showing a chain while it runs: a picture that changes on a terminal, line after line into a
pipe.
"""

from collections import Counter
from collections.abc import Iterable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from haltpoint.cli.render.following import ENDS
from haltpoint.cli.render.lines import Line, Mark
from haltpoint.cli.render.story import elapsed, tell
from haltpoint.cli.wording import visible, wrapped

if TYPE_CHECKING:
    from collections.abc import Generator

    from haltpoint.contracts.views.chains import ChainView, ProgressView


class Teller(Protocol):
    """Who shows chains. `show` gets each newer view; `pause` frees the screen for a question to the
    person.
    """

    def show(self, chain: "ChainView") -> None:
        """Show what is new."""

    def progress(self, report: "ProgressView") -> None:
        """Show how far a running call is."""

    def pause(self) -> AbstractContextManager[None]:
        """Be silent and still for a while."""
        ...

    def close(self) -> None:
        """Leave the last state standing."""


def teller(console: Console) -> Teller:
    """The one that fits where the output goes."""
    return (
        Picture(console) if console.is_terminal and not console.is_dumb_terminal else Lines(console)
    )


class Lines:
    """Each line once, as soon as it is true, without control characters, with the time at which it
    happened.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._told: Counter[Line] = Counter()
        self._begun: str | None = None
        self._waits_for = ""

    def show(self, chain: "ChainView") -> None:
        """Print the lines that are new."""
        if self._begun != chain.id:
            self._begun, self._told = chain.id, Counter()
            self._console.print(Text(f"{_title(chain)}  [{chain.id}]"))
        for line in fresh(tell(chain), self._told):
            if line.passing or not line.text:
                continue
            self._told[line] += 1
            self._waits_for = ""
            self._print(chain, line)

    def _print(self, chain: "ChainView", line: Line) -> None:
        note = f"  ({line.note})" if line.note else ""
        indent = "  " * line.depth
        text = f"{elapsed(chain, line.at):>7}  {indent}{line.mark.value[0]} {line.text}{note}"
        if line.mark in (Mark.STOP, Mark.OPTION):  # a card is for people; else a line for grep
            text = "\n".join(wrapped(text, self._console.width, " " * (11 + len(indent))))
        self._console.print(Text(text), soft_wrap=True)

    def progress(self, report: "ProgressView") -> None:
        """What a thought or a call waits for, once; how far a call is would be a line a second."""
        if report.fraction == 0 and report.text and report.text != self._waits_for:
            self._waits_for = report.text
            self._console.print(Text(f"         · {visible(report.text)}"), soft_wrap=True)

    def pause(self) -> AbstractContextManager[None]:
        """Nothing moves here."""
        return nullcontext()

    def close(self) -> None:
        """Everything was said."""


class Picture:
    """The whole chain, drawn anew with each change; of a long one the last lines until it ends."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._chain: ChainView | None = None
        self._live: Live | None = None
        self._left: Counter[Line] = Counter()
        self._progress: dict[str, ProgressView] = {}

    def progress(self, report: "ProgressView") -> None:
        """Draw a bar until something has happened; of a thought there are words alone."""
        self._progress[report.action_id] = report

    def show(self, chain: "ChainView") -> None:
        """Draw this state from now on."""
        if self._chain is not None and self._chain.id != chain.id:
            self.close()
            self._left.clear()
        if self._chain is None or self._chain.updated_at != chain.updated_at:
            self._progress.clear()
        self._chain = chain
        if self._live is None:
            self._live = Live(self, console=self._console, refresh_per_second=12, transient=True)
            self._live.start()
        self._live.refresh()

    @contextmanager
    def pause(self) -> "Generator[None]":
        """Leave the state standing as it is; the next `show` continues below it with what is
        new.
        """
        self.close()
        yield

    def close(self) -> None:
        """Stop moving and leave the whole picture behind."""
        if self._live is None or self._chain is None:
            return
        self._live.stop()
        self._live = None
        self._console.print(picture(self._chain, self._left))
        self._left |= Counter(line for line in tell(self._chain) if not line.passing)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The last lines that fit, with a spinner while the chain is at work."""
        if self._chain is None:
            return
        body = console.render_lines(picture(self._chain, self._left), options, pad=False)
        height = max(4, console.height - 2)
        if len(body) > height:
            body = [*body[:1], *body[-(height - 1) :]]
        yield Group(
            *(Text.assemble(*((part.text, part.style or "") for part in row)) for row in body)
        )
        if self._chain.status not in ENDS:
            running = [
                action
                for step in self._chain.steps
                for action in step.actions
                if action.receipt is None
            ]
            thoughts = dict(self._progress)
            for action in running:
                report = thoughts.pop(action.id, None)
                if report is not None:
                    yield _bar(action.tool, report)
            words = [visible(report.text) for report in thoughts.values()]
            doing = ": ".join([_doing(self._chain), *words[-1:]])
            yield Spinner("dots", Text(doing, style="dim"), style="cyan")


def fresh(lines: Iterable[Line], told: Counter[Line]) -> list[Line]:
    """The lines that were not told yet; of equal ones those beyond the number that was."""
    left = Counter(told)
    new: list[Line] = []
    for line in lines:
        left[line] -= 1
        if left[line] < 0:
            new.append(line)
    return new


def picture(chain: "ChainView", without: Counter[Line] | None = None) -> RenderableType:
    """A chain as it stands, for any width from 40 columns on; or the lines that are not on the
    screen yet.
    """
    lines = tell(chain)
    if without:
        return Padding(Group(*_body(fresh(lines, without))), (0, 1))
    shown_until = None if chain.status in ENDS else datetime.now(UTC)
    head = Table.grid(padding=(0, 1), expand=True)
    head.add_column(ratio=1)
    head.add_column(justify="right", no_wrap=True)
    goal = Text(_title(chain), style="bold")
    head.add_row(goal, Text(elapsed(chain, shown_until), style="dim"))
    return Padding(Group(head, *_body(lines)), (0, 1))


def _title(chain: "ChainView") -> str:
    return visible(chain.goal) or "a literal plan"


def _body(lines: list[Line]) -> list[RenderableType]:
    """Rows, with each stop and its options in a box of their own."""
    parts: list[RenderableType] = []
    boxed: list[Line] = []
    for line in lines:
        if boxed and line.mark is not Mark.OPTION:
            parts.append(_box(boxed))
            boxed = []
        if line.mark is Mark.STOP or boxed:
            boxed.append(line)
        else:
            parts.append(row(line))
    return [*parts, _box(boxed)] if boxed else parts


def row(line: Line) -> RenderableType:
    """A line behind its sign, wrapped under itself."""
    sign, style = line.mark.value
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=1 + 2 * line.depth, justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    text = Text()
    heading = "bold" if line.depth == 0 and line.mark is not Mark.WORDS else ""
    text.append(line.text, style if line.mark in (Mark.NEVER, Mark.CHOICE) else heading)
    if line.struck:
        text.stylize("strike", len(text) - len(line.struck))
    if line.note:
        text.append(f"  {line.note}", "dim")
    grid.add_row(Text(sign, style=style), text)
    return grid


def _box(lines: list[Line]) -> RenderableType:
    question = lines[0]
    asked = Text(question.text.removeprefix("STOP").strip(), style="bold")
    body = Text("\n").join([asked, *(Text(option.text) for option in lines[1:])])
    title = Text.assemble(
        (" STOP ", "bold black on yellow"), (f" {question.note}: a person decides ", "yellow")
    )
    box = Panel(
        body, title=title, title_align="left", border_style="yellow", expand=False, padding=(0, 1)
    )
    return Padding(box, (0, 0, 0, 3))


def _bar(tool: str, report: "ProgressView") -> RenderableType:
    """How far a running call is, on one line of any width."""
    bar = ProgressBar(
        total=1.0,
        completed=report.fraction,
        width=16,
        complete_style="cyan",
        finished_style="green",
    )
    text = Text.assemble(
        f"{report.fraction:4.0%}  {visible(tool)}  ", (visible(report.text), "dim"), no_wrap=True
    )
    text.overflow = "ellipsis"
    grid = Table.grid(padding=(0, 1))
    grid.add_column(min_width=16)
    grid.add_column()
    grid.add_row(bar, text)
    return Padding(grid, (0, 0, 0, 3))


def _doing(chain: "ChainView") -> str:
    if chain.status.startswith("awaiting") or chain.status == "escalated":
        return "waits for a person"
    if chain.current and chain.current.tool:
        return f"{chain.current.step_id}: {chain.current.tool}"
    return {"accepted": "begins", "planning": "plans"}.get(chain.status, "thinks")
