"""Breadth first through all states of a scenario; the first broken promise, with the shortest way
to it.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from tests.proofs.functions import BrokenError, Promise

State = TypeVar("State")


class Searched(Protocol[State]):
    """The machine of a scenario."""

    def start(self) -> State:
        """Before anything happened."""
        ...

    def steps(self, state: State) -> Iterator[tuple[str, bool, State]]:
        """Name, whether it is progress, and the state after. Raises BrokenError when a promise
        breaks on the way.
        """
        ...

    def judge(self, state: State) -> None:
        """Raise BrokenError when a promise does not hold in this state."""
        ...

    def is_open(self, state: State) -> bool:
        """Whether an end has to be within reach."""
        ...

    def is_final(self, state: State) -> bool:
        """Whether this is an end."""
        ...

    @property
    def chains(self) -> int:
        """How many values chains had so far."""
        ...


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken promise and the steps that lead to it."""

    promise: Promise
    words: str
    path: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.promise.value}\n{self.words}\n  " + "\n  ".join(self.path)


@dataclass(frozen=True, slots=True)
class Result:
    """What a search saw. `endings` counts the states in which the chain is final."""

    states: int
    steps: int
    chains: int
    endings: int
    violation: Violation | None


class _Seen(Generic[State]):
    """All states found so far, by number, with the step that led to each and the progress steps
    into it.
    """

    def __init__(self, machine: Searched[State], first: State) -> None:
        self.machine = machine
        self.numbers = {first: 0}
        self.came: list[tuple[int, str]] = [(-1, "")]
        self.progress: list[list[int]] = [[]]
        self.open = bytearray([0])  # 1: accepted and not final yet
        self.final: list[int] = []

    def add(self, state: State, before: int, name: str) -> int:
        number = self.numbers.setdefault(state, len(self.came))
        if number == len(self.came):
            self.came.append((before, name))
            self.progress.append([])
            self.open.append(self.machine.is_open(state))
            if self.machine.is_final(state):
                self.final.append(number)
        return number

    def path(self, number: int) -> tuple[str, ...]:
        names = []
        while number > 0:
            number, name = self.came[number]
            names.append(name)
        return tuple(reversed(names))

    def stuck(self) -> int | None:
        """The first accepted state from which no progress leads to an end."""
        hopeful, queue = bytearray(len(self.came)), deque(self.final)
        for number in self.final:
            hopeful[number] = 1
        while queue:
            for before in self.progress[queue.popleft()]:
                if not hopeful[before]:
                    hopeful[before] = 1
                    queue.append(before)
        return next(
            (
                number
                for number in range(len(self.came))
                if self.open[number] and not hopeful[number]
            ),
            None,
        )


def search(machine: Searched[State]) -> Result:
    """Visit every state that the scenario's luck allows, up to the first violation."""
    first = machine.start()
    seen = _Seen(machine, first)
    queue = deque([first])
    steps = 0
    violation = None
    while queue and violation is None:
        state = queue.popleft()
        number = seen.numbers[state]
        name = ""
        try:
            for name, progress, after in machine.steps(state):
                steps += 1
                known = len(seen.came)
                then = seen.add(after, number, name)
                if progress:
                    seen.progress[then].append(number)
                if then == known:
                    machine.judge(after)
                    queue.append(after)
        except BrokenError as broken:
            violation = Violation(broken.promise, broken.words, (*seen.path(number), f"{name} ..."))
    if violation is None and (stuck := seen.stuck()) is not None:
        violation = Violation(Promise.R1, "from here on no way leads to an end", seen.path(stuck))
    return Result(len(seen.came), steps, machine.chains, len(seen.final), violation)
