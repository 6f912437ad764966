"""A chain as it is stored: the fields of its head, a field for each step, its plan and its end.

Redis keeps a hash small in memory only while every value has at most 64 bytes (see `rows`), so the
values of the head and of the steps are short. Ids inside a chain are kept without the chain's own
id; None is an empty field.
"""

from collections.abc import Collection, Iterable
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec import field
from msgspec.structs import astuple, replace

from haltpoint.chain.model.state import (
    NO_STRIKES,
    NOT_HEARD,
    NOTHING_BELOW,
    Chain,
    Dropped,
    End,
    Failure,
    FromBelow,
    OpenProposal,
    People,
    Rest,
    StepRun,
    StrikeRow,
    goal_of,
)
from haltpoint.chain.model.statuses import ChainStatus, PlanOrigin, StepStatus
from haltpoint.contracts.base import Strict, action_id
from haltpoint.contracts.people.approvals import Approval
from haltpoint.contracts.results import Spent
from haltpoint.contracts.work.bounds import ChainBounds, LeftOut
from haltpoint.contracts.work.ledger import Ledger
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import Correction, Proposal
from haltpoint.runtime.store.rows import Data, Fields, Head, local
from haltpoint.runtime.streams.wire import encode


class StoredPlan(Strict):
    """What is stored with the plan, as it changes as rarely: fields of a chain, with their meanings
    there.
    """

    plan: Plan | None = None
    """None: it is the task's own, which begins when there are steps, or there is none yet."""
    refused: dict[int, dict[int, Correction]] = field(default_factory=dict)
    """The calls of open proposals that are refused, by step and place."""
    row: StrikeRow = NO_STRIKES
    attempts: int = 0
    people: People = NOT_HEARD
    bounds: ChainBounds | None = None
    left_out: tuple[LeftOut, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    ledger: Ledger = field(default_factory=dict)
    below: FromBelow = NOTHING_BELOW
    failing: Failure | None = None
    resting: dict[str, Rest] = field(default_factory=dict)
    approvals: dict[str, Approval] = field(default_factory=dict)


BESIDE_PLAN: Final = StoredPlan.__struct_fields__[2:]
"""The attributes of a chain that are stored with its plan."""
_beside_plan: Final = attrgetter(*BESIDE_PLAN)


def _text(text: str | None) -> str:
    return text or ""


def _place(thought: str | None) -> str:
    return local(thought or "")


def _write_spent(spent: Spent) -> str:
    return f"{spent.turns} {spent.actions} {spent.tokens} {spent.cost!r}"


def read_spent(text: str) -> Spent:
    """What a chain has used itself, from its field."""
    turns, actions, tokens, cost = text.split()
    return Spent(int(turns), int(actions), int(tokens), float(cost))


_FIELDS: Final[tuple[Any, ...]] = (
    (Head.STATUS, "status", _text, ChainStatus),
    (Head.RESUME, "resume", _text, ChainStatus),
    (Head.CREATED, "created_at", str, int),
    (Head.UPDATED, "updated_at", str, int),
    (Head.DEADLINE, "deadline", str, int),
    (Head.ORIGIN, "origin", _text, PlanOrigin),
    (Head.ASKED, "asked", str, int),
    (Head.SPENT, "spent", _write_spent, read_spent),
    (Head.THOUGHT, "thought", _place, str),
)
"""Field of the hash, attribute of the chain, and how each is made of the other."""

_values: Final = attrgetter(*(attribute for _, attribute, _, _ in _FIELDS))


def changed_head(old: Chain, new: Chain, touched: Collection[int]) -> list[str]:
    """The fields of the head that differ, as name, value, name, value ...

    `touched` are the indexes of the steps that may differ.
    """
    changed: list[str] = []
    for field_of, value, before in zip(_FIELDS, _values(new), _values(old), strict=True):
        if value != before:
            name, _, write, _ = field_of
            changed += (name, write(value))
    if new.requests is not old.requests:
        numbers = " ".join(local(request.request_id)[1:] for request in new.requests)
        changed += (Head.OPEN, numbers)
    if len(new.runs) != len(old.runs):
        touched = range(len(new.runs))
    for index in sorted(touched):
        changed += (f"s{index}", encode_step(new.runs[index]))
    return changed


def changed_data(old: Chain, new: Chain) -> dict[Data, str]:
    """The fields of the data that differ, with their new text."""
    changed: dict[Data, str] = {}
    if new.task is not old.task:
        changed[Data.TASK] = encode(new.task).decode()
    stored = _stored(new)
    if stored != _stored(old):
        changed[Data.PLAN] = encode(StoredPlan(*stored)).decode()
    if new.end != old.end:
        changed[Data.END] = encode(new.end).decode()
    return changed


def _stored(chain: Chain) -> tuple[Any, ...]:
    """The values of a `StoredPlan`. A literal plan is in the task already."""
    plan = None if chain.origin is PlanOrigin.LITERAL else chain.plan
    refused = {index: kept.refused for index, kept in chain.proposals.items() if kept.refused}
    return (plan, refused, *_beside_plan(chain))


def decode_chain(chain_id: str, head: Fields, data: Fields) -> Chain:
    """The chain of these fields, without requests, actions and the graph of its plan; of proposals
    there are the calls that are refused.

    Raises ValueError or KeyError when they are not a chain's.
    """
    values: dict[str, Any] = {}
    for name, attribute, _, read in _FIELDS:
        text = head.get(name)
        if text:
            values[attribute] = read(text)
    if "thought" in values:
        values["thought"] = f"{chain_id}.{values['thought']}"
    status = values.pop("status")
    task = msgspec.json.decode(data[Data.TASK], type=Task)
    stored = stored_plan(data.get(Data.PLAN))
    values |= zip(BESIDE_PLAN, _beside_plan(stored), strict=True)
    values["proposals"] = {
        index: OpenProposal(Proposal(), refused) for index, refused in stored.refused.items()
    }
    runs = decode_steps(head)
    plan = stored.plan or (task.plan if runs else None)
    end = end_of(data.get(Data.END, "{}"))
    return Chain(chain_id, task, status=status, plan=plan, runs=runs, end=end, **values)


def end_of(text: str) -> End:
    """How a chain ended, from its field."""
    return msgspec.json.decode(text, type=End)


def stored_plan(text: str | None) -> StoredPlan:
    """What is stored with a chain's plan, from its field."""
    return msgspec.json.decode(text or "{}", type=StoredPlan)


def as_worked_on(text: str | None, task: Task) -> tuple[Task, Plan | None]:
    """The task with the goal that counts, and the plan that its chain carries out, once it has
    begun.
    """
    stored = stored_plan(text)
    chain = Chain("", task, people=stored.people)
    return replace(task, goal=goal_of(chain)), stored.plan or task.plan


def action_ids(chain_id: str, plan: Plan, runs: Iterable[StepRun]) -> list[str]:
    """The ids of all actions of a chain, by how many each step has begun.

    A commit may have come between the reads of the plan and of the runs: then there are fewer runs.
    """
    names: list[str] = []
    for step, run in zip(plan.steps, runs, strict=False):  # no step has begun before the chain has
        names += [action_id(chain_id, step.id, number) for number in range(1, run.actions + 1)]
    return names


_STATUSES: Final = tuple(StepStatus)
_NUMBERS: Final = {status: number for number, status in enumerate(_STATUSES)}

_COUNTS: Final = (
    *("actions", "taken", "in_turn", "receipts", "last_ok"),
    *("turn", "attempt", "proposals", "strikes", "listed"),
)
"""The numbers of a step behind its status, in an order that never changes: the rare ones last."""
_counts: Final = attrgetter(*_COUNTS)

_MARKS: Final = ("thinking", "struck", "here", "freed", "dropped")
"""Each is yes or no: the bits of the last number."""
_marks: Final = attrgetter(*_MARKS)


def encode_step(run: StepRun) -> str:
    """A step's run as one field: `3,1,1,1 0`; a pending step that has done nothing is `0`.

    Integers with commas, without zeros at the end. Behind a blank each comes what is under way: an
    action as its distance from the last one.
    """
    return _encoded(astuple(run))


@lru_cache(maxsize=4096)
def _encoded(values: tuple[Any, ...]) -> str:
    run = StepRun(*values)
    marks = sum(is_set << place for place, is_set in enumerate(_marks(run)))
    numbers = [_NUMBERS[run.status], *_counts(run), marks]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    counted = ",".join(map(str, numbers))
    under_way = [str(run.actions - number) for number in run.pending]
    return " ".join([counted, *under_way])


def decode_step(text: str) -> StepRun:
    """The run of a field. Raises ValueError or IndexError when it is none."""
    written, *under_way = text.split(" ")
    numbers = list(map(int, written.split(",")))
    missing = len(_COUNTS) + 2 - len(numbers)
    numbers += [0] * missing
    status, *numbers, marks = numbers
    counts: dict[str, Any] = dict(zip(_COUNTS, numbers, strict=True))
    run = StepRun(_STATUSES[status], **counts)
    if marks:
        for place, name in enumerate(_MARKS):
            setattr(run, name, bool(marks >> place & 1))
    run.pending = tuple(run.actions - int(distance) for distance in under_way)
    return run


def decode_steps(head: Fields) -> tuple[StepRun, ...]:
    """The runs of all steps, in their order."""
    runs: list[StepRun] = []
    while (text := head.get(f"s{len(runs)}")) is not None:
        runs.append(decode_step(text))
    return tuple(runs)
