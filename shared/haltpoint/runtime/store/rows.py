"""The rows: every key of a chain and every field of it, with its writers, for Python and Lua.

A chain has three keys in its partition. The commit that ends it gives all three the same expiry;
nothing else expires.

- `chain:<id>`, a hash of values of at most 64 bytes (a longer value triples what Redis takes for
  it). The fields of `Head` and one `s<i>` for each step are written by `submit` and `commit`. An
  action has one field, its id inside the chain (`<step>.<n>`): see `ActionRow`; `commit` writes it,
  and `claim`, `release`, `dead_letter` and `requeue` change it without a new version. A question
  has one, `r<n>`: its state and its deadline; `answer` and `fire_due` change it.
- `data:<id>`, a hash of texts that are written once: `Data`, an action's call, a thought, a
  question, and their outcomes. Only the rest of a thought that waits for its model changes, and a
  doubt gives way to a late result.
- `log:<id>`, a list: each input with the time and its facts (`LogLine`), written by `commit`.

Ids inside a chain are stored without the chain's own id; in the log a letter stands for it.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Self

from msgspec import Struct, json

from haltpoint.contracts.base import child_id, value
from haltpoint.contracts.people.humans import RequestStatus, Way
from haltpoint.runtime.streams.topology import FORM

Fields = Mapping[str, str]
"""A hash of Redis. What is no UTF-8 has replacement characters."""


class Key(StrEnum):
    """The keys of a chain."""

    CHAIN = "chain"
    DATA = "data"
    LOG = "log"


class Head(StrEnum):
    """Fields of `chain:<id>` that are the chain's own; the others are of steps, actions and
    questions.
    """

    VERSION = f"ver{FORM}"
    """Its name has the form: what has another form has no version, and is not read by half
    (HP-022).
    """

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
    SPENT = "spent"
    """Turns, actions, tokens and cost."""
    THOUGHT = "thought"
    FEEDBACK = "feedback"


FEED_AGE: Final = 900_000
"""Milliseconds that entries stay in a partition's feed."""


class Data(StrEnum):
    """Fields of `data:<id>` that are the chain's own, each JSON."""

    TASK = "task"
    PLAN = "plan"
    END = "end"


class Part(StrEnum):
    """The end of a field of `data:<id>` about an action or a question, behind its local id and a
    dot.

    A thought and a question are under their id alone.
    """

    CALL = "call"
    """Tool and arguments, a line each."""
    RECEIPT = "receipt"
    """The report of a worker or a child, see `Receipt`; of an attempt that was run again it has the
    attempt's number behind it.
    """
    RESOLUTION = "resolution"
    """A person's outcome in its place."""
    ANSWER = "answer"
    """Time, digest of the decision, answer, way and author, a line each."""
    VOTES = "votes"
    """The answers of people who decide together, so far: `StoredAnswer` in a list as JSON."""
    CLAIM = "claim"
    """Until when a person has taken a question (ms), and who, a line each."""
    APPROVAL = "approval"
    """A person's yes to a call: its digest, its end by the clock that never goes back (ms), `open`
    or `consumed`; the author on the next line.
    """
    OWN = "own"
    """The provider's own message of a thought, which later prompts send back to it."""
    REST = "rest"
    """Of a thought that the model cannot have now: `ThoughtRest` as JSON, and on the next line its
    question. It goes when the thought is recorded.
    """


class ActionState(StrEnum):
    """How far an action's current entry is."""

    SENT = "sent"
    STARTED = "started"
    IN_DOUBT = "in_doubt"
    """A worker started it, and it may not run again."""
    CHILD = "child"
    """Another chain carries it out."""
    RECORDED = "recorded"
    """It was written down, and no worker is asked."""


class Kind(StrEnum):
    """A receipt, or the doubt that takes its place."""

    RECEIPT = "receipt"
    IN_DOUBT = "in_doubt"


@value
class ActionRow:
    """An action's field in `chain:<id>`. (entry, epoch) is the fence; `token` is that of the last
    claim, in doubt that of the claim which started it.
    """

    entry: str
    epoch: int
    attempt: int
    repeatable: bool
    state: ActionState
    token: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError for anything else."""
        entry, epoch, attempt, repeatable, state, token = text.split(" ")
        return cls(entry, int(epoch), int(attempt), repeatable == "1", ActionState(state), token)


@value
class Receipt:
    """The outcome of an action, and the data of its result if there are any, as JSON text."""

    kind: Kind
    outcome: str
    data: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError for anything else."""
        kind, outcome, data = text.split("\n", 2)
        return cls(Kind(kind), outcome, data)

    @property
    def text(self) -> str:
        """As it is stored."""
        return f"{self.kind.value}\n{self.outcome}\n{self.data}"


@value
class StoredAction:
    """All that is stored of one action. `earlier`: what a worker said of the last attempt, where a
    child or another attempt reports in its place.
    """

    id: str
    row: ActionRow
    tool: str
    arguments: str
    receipt: Receipt | None
    resolution: Receipt | None
    earlier: Receipt | None = None

    @property
    def counts(self) -> Receipt | None:
        """The outcome that counts: a person's, else the worker's, else its doubt."""
        return self.resolution or self.receipt

    @property
    def child(self) -> str:
        """The chain that carries it out; empty when that is no chain."""
        return child_id(self.id) if self.row.state is ActionState.CHILD else ""


class StoredAnswer(Struct, frozen=True, array_like=True):
    """What a person has answered: when (ms), the digest of the decision, the answer as JSON text,
    by which way, and who.
    """

    at: str
    decision: str
    answer: str
    way: Way
    by: str


@value
class StoredClaim:
    """A person has taken a question until `until` (ms)."""

    until: str
    by: str


@value
class StoredRequest:
    """All that is stored of one question."""

    id: str
    status: RequestStatus
    question: str
    answer: StoredAnswer | None = None
    votes: tuple[StoredAnswer, ...] = ()
    claim: StoredClaim | None = None


@value
class StoredThought:
    """A reply of the model: the type of its message, its payload as JSON text, and the model's own
    words.
    """

    type: str
    data: str
    raw: str


def local(any_id: str) -> str:
    """The id of an action, request or thought inside its chain."""
    return any_id.partition(".")[2]


_ACTION_PARTS: Final = tuple(f".{part}" for part in (Part.CALL, Part.RECEIPT, Part.RESOLUTION))


def action_parts(name: str) -> list[str]:
    """The fields of `data:<id>` about the action of this local id."""
    return [name + part for part in _ACTION_PARTS]


def action_of(name: str, head: Fields, data: Fields) -> StoredAction | None:
    """An action by its id, out of its chain's two hashes; None when it is not there."""
    place = local(name)
    row = head.get(place)
    call, *outcomes = map(data.get, action_parts(place))
    if row is None or call is None:
        return None
    action = ActionRow.parse(row)
    tool, arguments = call.split("\n", 1)
    receipt, resolution = map(_receipt, outcomes)
    earlier = _receipt(data.get(f"{place}{_ACTION_PARTS[1]}.{action.attempt}"))
    return StoredAction(name, action, tool, arguments, receipt, resolution, earlier)


def request_of(name: str, head: Fields, data: Fields) -> StoredRequest | None:
    """A question by its id, out of its chain's two hashes; None when it is not there."""
    place = local(name)
    state = head.get(place)
    question = data.get(place)
    if state is None or question is None:
        return None
    word, _, _ = state.partition(" ")
    answered = data.get(f"{place}.{Part.ANSWER}")
    claimed = data.get(f"{place}.{Part.CLAIM}")
    votes = data.get(f"{place}.{Part.VOTES}", "[]")
    return StoredRequest(
        name,
        RequestStatus(word),
        question,
        None if answered is None else _answer(answered),
        json.decode(votes, type=tuple[StoredAnswer, ...]),
        None if claimed is None else StoredClaim(*claimed.split("\n", 1)),
    )


def _answer(text: str) -> StoredAnswer:
    at, decision, answer, way, by = text.split("\n", 4)
    return StoredAnswer(at, decision, answer, Way(way), by)


def _receipt(text: str | None) -> Receipt | None:
    return None if text is None else Receipt.parse(text)


def thought_of(text: str) -> StoredThought:
    """A thought out of its field."""
    return StoredThought(*text.split("\n", 2))
