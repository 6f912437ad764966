"""What is stored: every key of a chain and every field of it, with who writes it. Python and Lua read it from here.

A chain has three keys in its partition. The commit that ends it gives all three the same expiry; nothing else expires.

- `chain:<id>`, a hash of values of at most 64 bytes (one longer value triples what Redis takes for it). The fields of
  `Head` and one `s<i>` for each step are written by `submit` and `commit`. An action has one field, its id inside the
  chain (`<step>.<n>`): see `ActionRow`; `commit` writes it, and `claim`, `release`, `dead_letter` and `requeue` change
  it without a new version. A question has one, `r<n>`: its state and its deadline; `answer` and `fire_due` change it.
- `data:<id>`, a hash of what is written once: `Data`, an action's call, a thought, a question, and their outcomes.
- `log:<id>`, a list: each input with the time and its facts (`LogLine`), written by `commit`.

Ids inside a chain are stored without the chain's own id, also in the log.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Self

from haltpoint.contracts.base import chain_of, child_id, value
from haltpoint.contracts.people.humans import RequestStatus
from haltpoint.runtime.streams.topology import FORM, PREFIX

Fields = Mapping[bytes, bytes]
"""A hash of Redis."""


class Key(StrEnum):
    """The keys of a chain."""

    CHAIN = "chain"
    DATA = "data"
    LOG = "log"


class Head(StrEnum):
    """Fields of `chain:<id>` that are the chain's own; the others are of steps, actions and questions."""

    VERSION = f"ver{FORM}"
    """Its name has the form: what has another form has no version, and is not read by half (HP-022)."""

    STATUS = "status"
    DIGEST = "digest"
    TRACE = "trace"
    CREATED = "created"
    UPDATED = "updated"
    DEADLINE = "deadline"
    RESUME = "resume"
    ORIGIN = "origin"
    OPEN = "open"
    ASKED = "asked"
    TURNS = "turns"
    ACTIONS = "actions"
    TOKENS = "tokens"
    COST = "cost"
    THOUGHT = "thought"
    PLAN_ATTEMPTS = "plan_attempts"
    STRIKES = "strikes"
    OTHER_MODEL = "other_model"
    BELOW = "below"
    FEEDBACK = "feedback"


FEED_AGE: Final = 900_000
"""Milliseconds that entries stay in a partition's feed."""


class Data(StrEnum):
    """Fields of `data:<id>` that are the chain's own, each JSON."""

    TASK = "task"
    PLAN = "plan"
    END = "end"


class Part(StrEnum):
    """What follows the local id of an action or a question, and a dot, in `data:<id>`.

    CALL: tool and arguments, on lines of their own. RECEIPT: what a worker or a child reported, see `Receipt`; of an
    attempt that was run again it is under RECEIPT and the attempt's number. RESOLUTION: what a person made of it.
    ANSWER: when, token, answer and by whom, on lines of their own. APPROVAL: a person's yes to a call: its digest,
    until when (ms), `open` or `consumed`, and by whom on the next line. A thought and a question are under their id
    alone.
    """

    CALL = "call"
    RECEIPT = "receipt"
    RESOLUTION = "resolution"
    ANSWER = "answer"
    APPROVAL = "approval"


class ActionState(StrEnum):
    """How far an action's current entry is. `in_doubt`: a worker started it, and it may not run again.

    `child`: a chain of its own carries it out. `recorded`: it was written down, and no worker is asked.
    """

    SENT = "sent"
    STARTED = "started"
    IN_DOUBT = "in_doubt"
    CHILD = "child"
    RECORDED = "recorded"


class Kind(StrEnum):
    """A receipt, or the doubt that takes its place."""

    RECEIPT = "receipt"
    IN_DOUBT = "in_doubt"


@value
class ActionRow:
    """An action's field in `chain:<id>`. (entry, epoch) is the fence; `token` is that of the last claim."""

    entry: str
    epoch: int
    attempt: int
    repeatable: bool
    state: ActionState
    token: str = ""

    @classmethod
    def parse(cls, text: bytes) -> Self:
        """Raises ValueError for anything else."""
        entry, epoch, attempt, repeatable, state, token = text.decode().split(" ")
        return cls(entry, int(epoch), int(attempt), repeatable == "1", ActionState(state), token)


@value
class Receipt:
    """What is known of an action, as JSON text: the outcome, and the data of its result if there are any."""

    kind: Kind
    outcome: str
    data: str

    @classmethod
    def parse(cls, text: bytes) -> Self:
        """Raises ValueError for anything else."""
        kind, outcome, data = text.decode(errors="replace").split("\n", 2)
        return cls(Kind(kind), outcome, data)


@value
class StoredAction:
    """All that is stored of one action. `earlier` are the receipts of earlier attempts, by attempt."""

    id: str
    row: ActionRow
    tool: str
    arguments: str
    receipt: Receipt | None
    resolution: Receipt | None
    earlier: Mapping[int, Receipt]

    @property
    def counts(self) -> Receipt | None:
        """The outcome that counts: a person's, else the worker's, else its doubt."""
        return self.resolution or self.receipt

    @property
    def child(self) -> str:
        """The chain that carries it out; empty when that is no chain."""
        return child_id(self.id) if self.row.state is ActionState.CHILD else ""


@value
class StoredRequest:
    """All that is stored of one question; `answer` is JSON text."""

    id: str
    status: RequestStatus
    question: bytes
    at: int = 0
    answer: str = ""
    by: str = ""

    @property
    def chain_id(self) -> str:
        """The chain that asks."""
        return chain_of(self.id)


@value
class StoredThought:
    """A reply of the model: the type of its message, its payload as JSON text, and the model's own words."""

    type: str
    data: str
    raw: str


def local(any_id: str) -> str:
    """The id of an action, request or thought inside its chain."""
    return any_id.partition(".")[2]


def action_parts(name: str) -> tuple[str, str, str]:
    """The fields of `data:<id>` about the action of this local id."""
    return f"{name}.{Part.CALL}", f"{name}.{Part.RECEIPT}", f"{name}.{Part.RESOLUTION}"


def request_parts(name: str) -> tuple[str, str]:
    """The fields of `data:<id>` about the question of this local id."""
    return name, f"{name}.{Part.ANSWER}"


def action_of(name: str, head: Fields, data: Fields) -> StoredAction | None:
    """An action by its id, out of its chain's two hashes; None when it is not there."""
    place = local(name)
    row, call = head.get(place.encode()), data.get(f"{place}.{Part.CALL}".encode())
    if row is None or call is None:
        return None
    found = ActionRow.parse(row)
    tool, arguments = call.decode(errors="replace").split("\n", 1)
    earlier = {number: _receipt(data, f"{place}.{Part.RECEIPT}.{number}") for number in range(1, found.attempt + 1)}
    return StoredAction(
        name,
        found,
        tool,
        arguments,
        _receipt(data, f"{place}.{Part.RECEIPT}"),
        _receipt(data, f"{place}.{Part.RESOLUTION}"),
        {number: receipt for number, receipt in earlier.items() if receipt is not None},
    )


def request_of(name: str, head: Fields, data: Fields) -> StoredRequest | None:
    """A question by its id, out of its chain's two hashes; None when it is not there."""
    place = local(name)
    state, question = head.get(place.encode()), data.get(place.encode())
    if state is None or question is None:
        return None
    status = RequestStatus(state.decode().partition(" ")[0])
    answered = data.get(f"{place}.{Part.ANSWER}".encode())
    if answered is None:
        return StoredRequest(name, status, question)
    at, _, answer, by = answered.decode(errors="replace").split("\n", 3)
    return StoredRequest(name, status, question, int(at), answer, by)


def _receipt(data: Fields, field: str) -> Receipt | None:
    text = data.get(field.encode())
    return None if text is None else Receipt.parse(text)


def thought_of(text: bytes) -> StoredThought:
    """A thought out of its field."""
    return StoredThought(*text.decode(errors="replace").split("\n", 2))


def lua_names() -> str:
    """The same names for the functions: PREFIX, KEY.CHAIN, HEAD.VERSION, ..."""
    tables: Final[tuple[tuple[str, type[StrEnum]], ...]] = (
        ("KEY", Key),
        ("HEAD", Head),
        ("DATA", Data),
        ("PART", Part),
        ("STATE", ActionState),
        ("KIND", Kind),
    )
    rows = ((name, ", ".join(f"{one.name} = '{one.value}'" for one in names)) for name, names in tables)
    return "\n".join([f"local PREFIX = '{PREFIX}'", *(f"local {name} = {{ {row} }}" for name, row in rows)])
