"""What `haltpoint eval` runs, and how it shows the results."""

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from haltpoint.cli.commands.eval_run import run, run_turns
from haltpoint.cli.commands.models import OwnModel
from haltpoint.cli.errors import Exit, usage
from haltpoint.contracts.work.tasks import Mode
from haltpoint.evals import turns
from haltpoint.evals.figures import Figures, broken_bars, figures
from haltpoint.evals.judge import Verdict, judge
from haltpoint.evals.requests import REQUESTS
from haltpoint.evals.suite import kinds as suite

if TYPE_CHECKING:
    from haltpoint.cli.shell import Shell
    from haltpoint.evals.case import Case
    from haltpoint.evals.history import History

CHAINS: Final = 1000
"""The number of chains when none is given."""

ROWS: Final = (
    ("chains", "chains"),
    ("clarification_success", "choices that reached the person"),
    ("calls_after_stop", "stops with a call behind them"),
    ("wrong_recipient", "effects on the wrong person"),
    ("completed_without_receipt", "steps done without their receipts"),
    ("conditions_ignored", "effects against a condition of the goal"),
    ("repeated_effects", "effects that were repeated"),
    ("deeds_wrong", "false reports of actions"),
    ("empty_answers", "empty answers"),
    ("strikes_from_words", "strikes for plain text"),
    ("second_cards", "calls asked about twice"),
    ("misrouted", "tasks with the wrong agent, and rounds over the bound"),
    ("without_question", "well-behaved chains without a needless question"),
    ("false_alarms", "well-behaved chains with a false alarm"),
    ("strikes_mean", "strikes per chain"),
    ("escalated", "chains escalated to a person"),
)
_RATES: Final = ("clarification_success", "calls_after_stop", "wrong_recipient", "without_question")
_SAID_EVERY: Final = 100  # chains, where there is no progress bar

_TURN_ROWS: Final = (
    ("tasks", "tasks"),
    ("done", "tasks that were done as meant"),
    ("turns", "turns per task"),
    ("tokens", "tokens per task"),
    ("seconds", "seconds per task"),
    ("violations", "violations"),
)

Judged = list[tuple["History", Verdict]]


def perform(
    shell: "Shell", *, modes: tuple[Mode, ...], kinds: str | None, chains: int | None, seed: int, real: OwnModel | None
) -> int:
    """Run, judge and show. Raises HaltpointError."""
    if real and kinds is not None:
        raise usage("--kinds and --model-url do not go together", "a real model has no kind", "Leave --kinds out")
    cases = list(REQUESTS[:chains]) if real else _cases(kinds, -(-(chains or CHAINS) // len(modes)), seed)
    shell.note(f"{len(cases) * len(modes)} chains: a server, four services and a model are starting ...")
    begun = time.monotonic()
    with _progress(shell, len(cases) * len(modes), real) as done:
        histories = run(cases, modes, real, done)
    seconds = time.monotonic() - begun
    judged = [(history, judge(history)) for history in histories]
    by_mode = {mode: [one for one in judged if one[0].mode is mode] for mode in modes}
    measured = {
        mode: figures([verdict for _, verdict in ones], scripted=real is None) for mode, ones in by_mode.items()
    }
    broken = broken_bars([verdict for _, verdict in by_mode.get(Mode.STRICT, [])])
    if shell.json:
        extra = {mode: {"seconds": _mean_time(ones)} for mode, ones in by_mode.items()} if real else {}
        shell.emit({mode.value: {**one.as_json(), **extra.get(mode, {})} for mode, one in measured.items()})
    else:
        shell.out.print(_by_case(by_mode) if real else _by_kind(by_mode))
        shell.out.print(_by_figure(measured, {mode: _mean_time(ones) for mode, ones in by_mode.items()}))
    shell.note(f"{len(histories)} chains in {seconds:.0f} s")
    for words in broken:
        shell.err.print(Text(f"strict: {words}", style="bold red"))
    if broken:  # which cases they were, so that they can be run again
        for history, verdict in by_mode[Mode.STRICT]:
            for words in broken_bars([verdict]):
                shell.err.print(Text(f"  {history.case.id} ({history.case.goal}): {words}", style="red"))
    return Exit.FAILED if broken else Exit.OK


def perform_turns(shell: "Shell") -> int:
    """One action in a turn against several, on the set `turns`. Raises HaltpointError."""
    shell.note(f"{len(turns.TASKS)} tasks, {' and '.join(map(str, turns.SETTINGS))} actions in a turn ...")
    measured = {setting: turns.figures(run_turns(setting)) for setting in turns.SETTINGS}
    if shell.json:
        shell.emit({str(setting): one.as_json() for setting, one in measured.items()})
        return Exit.OK
    table = numbers("Actions in a turn, set turns", "", map(str, measured))
    for name, words in _TURN_ROWS:
        table.add_row(words, *(f"{getattr(one, name):g}" for one in measured.values()))
    shell.out.print(table)
    return Exit.OK


def _cases(given: str | None, count: int, seed: int) -> list["Case"]:
    """So many cases of the given kinds in turn; each mode gets the same ones."""
    kinds = [name.strip() for name in given.split(",")] if given else list(suite.KINDS)
    if unknown := sorted(set(kinds) - set(suite.KINDS)):
        raise usage(f"there is no kind {', '.join(unknown)}", "kinds are fixed", f"There are {', '.join(suite.KINDS)}")
    return [suite.build(seed, kinds[number % len(kinds)], number // len(kinds)) for number in range(count)]


@contextmanager
def _progress(shell: "Shell", total: int, real: OwnModel | None) -> Generator[Callable[["History"], None]]:
    """Progress on stderr: a bar at a terminal, else a line now and then; of a real model one for each chain."""
    count = 0

    def said(history: "History") -> None:
        nonlocal count
        count += 1
        if real:
            shell.note(f"{count} of {total}: {history.mode}, {history.seconds:.0f} s: {history.case.goal}")
        elif count % _SAID_EVERY == 0:
            shell.note(f"{count} of {total}")

    if shell.quiet or not shell.err.is_terminal:
        yield said
        return
    with Progress(console=shell.err, transient=True) as bar:
        task = bar.add_task("chains", total=total)
        yield lambda _: bar.advance(task)


def numbers(title: str, first: str, columns: Iterable[str]) -> Table:
    """A table of numbers, each row behind its name."""
    table = Table(box=None, padding=(0, 1, 0, 0), title=title, title_justify="left")
    table.add_column(first, no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right")
    return table


def _by_kind(by_mode: dict[Mode, Judged]) -> Table:
    """For each kind of model: how many of its chains went wrong under each mode, and what strict did about it."""
    of_strict = ("reached", "strikes", "escalated") if Mode.STRICT in by_mode else ()
    table = numbers("Chains that went wrong, by kind of model", "kind", ("chains", *by_mode, *of_strict))
    names = dict.fromkeys(history.case.kind for ones in by_mode.values() for history, _ in ones)
    for name in names:
        mine = {
            mode: [verdict for history, verdict in ones if history.case.kind == name] for mode, ones in by_mode.items()
        }
        wrong = [sum(bool(broken_bars([one])) for one in ones) for ones in mine.values()]
        cells = [Text(str(number), style="bold red" if number else "green") for number in wrong]
        if strict := mine.get(Mode.STRICT):
            strikes = sum(one.strikes for one in strict) / len(strict)
            reached = sum(one.reached for one in strict)
            cells += [Text(str(reached)), Text(f"{strikes:.1f}"), Text(str(sum(one.escalated for one in strict)))]
        table.add_row(name, str(len(next(iter(mine.values())))), *cells)
    return table


def _by_case(by_mode: dict[Mode, Judged]) -> Table:
    """For each request to a real model: how it went under each mode."""
    table = Table(box=None, padding=(0, 2), title="How each request ended", title_justify="left")
    table.add_column("request", overflow="fold")
    for mode in by_mode:
        table.add_column(mode.value)
    for row in zip(*by_mode.values(), strict=True):
        table.add_row(row[0][0].case.goal, *(Text(_came_of(verdict)) for _, verdict in row))
    return table


def _came_of(verdict: Verdict) -> str:
    """One chain in a word or two."""
    faults = {
        "wrong recipient": verdict.wrong,
        "no receipt": verdict.unreceipted,
        "ran after a stop": verdict.after_stop,
        "no end": verdict.unfinished,
    }
    good = "done" if verdict.reached else "to a person" if verdict.escalated else "not done"
    return ", ".join(word for word, is_so in faults.items() if is_so) or good


def _by_figure(measured: dict[Mode, Figures], times: dict[Mode, float]) -> Table:
    table = numbers("\nIn short", "", measured)
    for name, words in ROWS:
        table.add_row(words, *(_cell(name, getattr(one, name)) for one in measured.values()))
    table.add_row("seconds per chain", *(f"{seconds:.2f}" for seconds in times.values()))
    return table


def _cell(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f} %" if name in _RATES else f"{value:g}"


def _mean_time(ones: Judged) -> float:
    return round(sum(history.seconds for history, _ in ones) / max(1, len(ones)), 3)
