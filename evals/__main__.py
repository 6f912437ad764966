"""Runs the suite, judges it and shows the figures. Exit code 0: strict holds every bar."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Final

from evals.case import Case, real_requests
from evals.figures import FIGURES, as_json, broken, went_wrong
from evals.history import History
from evals.kinds import KINDS, case_of
from evals.running import run
from haltpoint.contracts.work.tasks import Mode
from haltpoint.runtime.config.errors import HaltpointError

CHAINS: Final = 1002
MODES: Final = (Mode.OFF, Mode.ADVISORY, Mode.STRICT)
NAMES: Final = list(KINDS)

ByMode = dict[Mode, list[History]]


def main() -> int | str:
    """Run, judge and show; the exit code, or why nothing can run."""
    wanted = _arguments()
    cases = real_requests() if wanted.real else _cases(wanted)
    work = [(case, mode) for case in cases[: wanted.chains] for mode in wanted.mode]
    by_mode: ByMode = {mode: [] for mode in wanted.mode}
    try:
        for chain in run(work, real=wanted.real):
            by_mode[chain.mode].append(chain)
    except HaltpointError as error:
        return str(error)
    if wanted.json:
        print(json.dumps({mode: as_json(by_mode[mode], real=wanted.real) for mode in by_mode}))
    else:
        _show(by_mode)
    return _complain(by_mode.get(Mode.STRICT, []))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m evals", description=__doc__)
    parser.add_argument("--mode", nargs="+", type=Mode, default=MODES)
    parser.add_argument("--kinds", nargs="+", choices=NAMES, default=NAMES, metavar="KIND")
    parser.add_argument("--chains", type=int, default=CHAINS, help="of a real model: requests")
    parser.add_argument("--seed", default=1, help="the same seed makes the same cases and models")
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    parser.add_argument("--real", action="store_true", help="requests to the model of the settings")
    return parser.parse_args()


def _cases(wanted: argparse.Namespace) -> list[Case]:
    """The kinds in turn; each mode gets the same cases."""
    cases = []
    for place in range(-(-wanted.chains // len(wanted.mode))):
        number, kind = divmod(place, len(wanted.kinds))
        cases.append(case_of(wanted.seed, wanted.kinds[kind], number))
    return cases


def _show(by_mode: ByMode) -> None:
    """For each kind how many chains went wrong, and what the last mode did about it; then all
    figures.
    """
    *_, last = by_mode.values()
    columns = [figure for figure in FIGURES if figure.by_kind]
    _row("chains that went wrong", ["chains", *by_mode, *(figure.by_kind for figure in columns)])
    for kind in dict.fromkeys(chain.case.kind for chain in last):
        own = [[one for one in chains if one.case.kind == kind] for chains in by_mode.values()]
        wrong = [sum(map(went_wrong, chains)) for chains in own]
        ends = [figure.shown(own[-1]) for figure in columns]
        _row(kind, [len(own[-1]), *wrong, *ends])
    _row("\nin short", list(by_mode))
    for figure in FIGURES:
        _row(figure.title, [figure.shown(chains) for chains in by_mode.values()])


def _row(name: str, cells: Sequence[object]) -> None:
    columns = "".join(f"{cell!s:>10}" for cell in cells)
    print(f"{name:52}{columns}")


def _complain(strict: Sequence[History]) -> int:
    """Say which bars broke, and by which cases, so that they can be run again."""
    faults = broken(strict)
    for chain in filter(went_wrong, strict):
        words = ", ".join(broken([chain]))
        faults.append(f"{chain.case.id}: {words}")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
