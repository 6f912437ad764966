"""A step's run as one field of its chain's hash: a JSON array of integers, as short as can be.

Redis keeps a hash small in memory only while every value has at most 64 bytes, so trailing zeros are left out. The
order of the numbers is the order of the fields of `StepRun` and never changes; what is under way comes last, each
action as its distance from the last one.
"""

from functools import lru_cache
from typing import Any, Final

from msgspec import structs

from haltpoint.chain.model.state import StepRun, StepStatus

_STATUSES: Final = tuple(StepStatus)
_NUMBERS: Final = {status: number for number, status in enumerate(_STATUSES)}


def encode_step(run: StepRun) -> str:
    """The field of a run, as `[3,1,1,1,1]`; a pending step that has done nothing is `[]`."""
    return _encoded(structs.astuple(run))


@lru_cache(maxsize=4096)
def _encoded(values: tuple[Any, ...]) -> str:
    run = StepRun(*values)
    numbers = [
        _NUMBERS[run.status],
        run.turn,
        run.attempt,
        run.proposals,
        run.actions,
        run.taken,
        run.in_turn,
        run.receipts,
        run.last_ok,
        int(run.thinking),
        int(run.struck),
        run.strikes,
        int(run.unkept),
        run.here + 2 * run.freed,
        *(1 + run.actions - number for number in run.pending),
    ]
    while numbers and not numbers[-1]:
        numbers.pop()
    return f"[{','.join(map(str, numbers))}]"


def decode_step(field: bytes) -> StepRun:
    """The run of a field. Raises ValueError when it is none."""
    numbers = [int(number) for number in field.strip(b"[]").split(b",") if number]
    status, turn, attempt, proposals, actions, taken, in_turn, receipts, last_ok, thinking, *rest = numbers + [0] * (
        14 - len(numbers)
    )
    struck, strikes, unkept, marks, *distances = rest
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
        bool(thinking),
        bool(struck),
        strikes,
        bool(unkept),
        bool(marks & 1),
        bool(marks & 2),
        tuple(actions + 1 - distance for distance in distances),
    )
