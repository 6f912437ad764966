"""The figures of figures.yaml over many judged chains, and which promises of strict mode did not
hold.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from evals import judge
from evals.history import History

Histories = Sequence[History]


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row; figures.yaml explains the fields."""

    name: str
    title: str
    count: str
    of: str = ""
    bar: str = ""
    least: float | None = None
    percent: bool = False
    scripted: bool = False
    by_kind: str = ""

    def value(self, histories: Histories) -> float | None:
        """The figure; None: there was nothing to be measured."""
        total = _sum(self.count, histories)
        if not self.of:
            return total
        whole = _sum(self.of, histories)
        return round(total / whole, 3) if whole else None

    def shown(self, histories: Histories) -> str:
        """The figure for people."""
        value = self.value(histories)
        if value is None:
            return "-"
        return f"{value:.1%}" if self.percent else f"{value:g}"

    def is_broken(self, histories: Histories) -> bool:
        """Whether its bar does not hold."""
        value = self.value(histories)
        if value is None or not self.bar:
            return False
        if self.least is None:
            return value > 0
        return value < self.least


FIGURES: Final = msgspec.yaml.decode(
    Path(__file__).with_suffix(".yaml").read_bytes(), type=list[Figure]
)


def broken(histories: Histories) -> list[str]:
    """Which of the promises of strict mode did not hold, in words; none: all held."""
    return [figure.bar for figure in FIGURES if figure.is_broken(histories)]


def went_wrong(history: History) -> bool:
    """Whether one chain alone breaks a promise that allows no exception."""
    strict = [figure for figure in FIGURES if figure.least in (None, 1.0)]
    return any(figure.is_broken([history]) for figure in strict)


def as_json(histories: Histories, *, real: bool) -> dict[str, float | None]:
    """All figures by their names."""
    return {
        figure.name: None if real and figure.scripted else figure.value(histories)
        for figure in FIGURES
    }


def _sum(name: str, histories: Histories) -> float:
    counts = map(getattr(judge, name), histories)
    return float(sum(counts))
