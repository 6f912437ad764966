"""A step's run as one field of its chain's hash: integers with commas, as short as can be.

Redis keeps a hash small in memory only while every value has at most 64 bytes, so trailing zeros are left out. The
order of the numbers never changes; what most steps have comes first, and what is yes or no is one number. Behind
a blank each comes what is under way: an action as its distance from the last one.
"""

from functools import lru_cache
from typing import Any, Final

from msgspec import structs

from haltpoint.chain.model.state import StepRun
from haltpoint.chain.model.statuses import StepStatus

_STATUSES: Final = tuple(StepStatus)
_NUMBERS: Final = {status: number for number, status in enumerate(_STATUSES)}


def encode_step(run: StepRun) -> str:
    """The field of a run, as `3,1,1,1 0`; a pending step that has done nothing is `0`."""
    return _encoded(structs.astuple(run))


@lru_cache(maxsize=4096)
def _encoded(values: tuple[Any, ...]) -> str:
    run = StepRun(*values)
    numbers = [
        _NUMBERS[run.status],
        run.actions,
        run.taken,
        run.in_turn,
        run.receipts,
        run.last_ok,
        run.turn,
        run.attempt,
        run.proposals,
        run.strikes,
        run.thinking | run.struck << 1 | run.unkept << 2 | run.here << 3 | run.freed << 4 | _said(run),
    ]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return " ".join((",".join(map(str, numbers)), *(str(run.actions - number) for number in run.pending)))


def _said(run: StepRun) -> int:
    return run.corrected << 5 | run.insisted << 6


def decode_step(field: bytes) -> StepRun:
    """The run of a field. Raises ValueError when it is none."""
    written, *distances = field.split(b" ")
    numbers = [int(number) for number in written.split(b",")]
    numbers += [0] * (11 - len(numbers))
    status, actions, taken, in_turn, receipts, last_ok, turn, attempt, proposals, strikes, marks = numbers
    return StepRun(
        _STATUSES[status],
        turn,
        attempt,
        proposals,
        actions,
        taken,
        in_turn,
        receipts,
        last_ok,
        thinking=bool(marks & 1),
        struck=bool(marks & 2),
        strikes=strikes,
        unkept=bool(marks & 4),
        here=bool(marks & 8),
        freed=bool(marks & 16),
        corrected=bool(marks & 32),
        insisted=bool(marks & 64),
        pending=tuple(actions - int(distance) for distance in distances),
    )
