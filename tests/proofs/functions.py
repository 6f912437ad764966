"""A model of what the Redis functions do to one chain with a literal plan: immutable, small, and
easy to break.

Only what agreement depends on is kept: no bytes, no time-outs, no indexes, so that a search can
visit every state. What is decided about an action or a request are the rules of
`tests/support/function_rules.py`; each function takes a state and returns the state after it, with
the status that the caller would see. `tests/integration/test_proof_functions.py` drives the real
functions beside these and compares.

Whatever the functions themselves do not remember and a promise is about is counted in ghosts, which
no rule sees. So a promise is never checked with the mechanism that is to keep it.
"""

from enum import StrEnum
from typing import Final, NamedTuple

from tests.support import function_rules as rules
from tests.support.function_rules import ActionRow, Approval, Claim, Mutation, Receipt


class Promise(StrEnum):
    """What may not break, by the ids of the guarantees."""

    R1 = "R1: exactly one final state, which is always within reach, and nothing after it"
    R2 = "R2: a command is applied once"
    R3 = "R3: one receipt; a completed chain's repeatable actions ran"
    R4 = "R4: an action with other effects starts once, unless a person says that it did not happen"
    R5 = "R5: a destructive action starts only under its own approval of this very call, in time"
    R6 = "R6: an answer that was taken counts, and no receipt comes before it"
    R7 = (
        "R7: what was not sent before a stop is not sent after it, but for the call "
        "whose question is answered"
    )
    R8 = "R8: who lost the entry cannot change the chain"


class BrokenError(Exception):
    """A promise was broken on the way from one state to the next."""

    def __init__(self, promise: Promise, words: str) -> None:
        super().__init__(promise, words)
        self.promise = promise
        self.words = words


COPY: Final = 100
"""An entry's number is that of the attempt that dispatched it; that of a copy of it is larger by
this.
"""
REQUEUED: Final = 20
"""What is added to an entry's number when it is given back: more than there are attempts."""
FORGED: Final = 200
"""The entry of somebody who never saw a real one."""


class Ghost(NamedTuple):
    """What is counted about an action: starts, answers "not happened", and claims of this attempt;
    each yes of a person by its digest and moment, and the digests under which it was started.
    """

    runs: int = 0
    pardons: int = 0
    given: int = 0
    yes: frozenset[tuple[str, int]] = frozenset()
    used: frozenset[str] = frozenset()


class Item(NamedTuple):
    """An entry of the tools stream. `deliveries`: how often it was handed out; `approved`: the
    digest that it names; `begun`: it was given back, and says that a worker had started it.
    """

    action: int
    entry: int
    deliveries: int = 0
    approved: str = ""
    begun: bool = False


class Request(NamedTuple):
    """A request's hash: about which action, since which moment, open, answered, expired or
    withdrawn; the call's digest when a person is asked about one.
    """

    action: int
    kind: str
    since: int = 0
    status: str = "open"
    digest: str = ""


class Sent(NamedTuple):
    """A message on the events stream, by its natural id; `copy`: a second entry of the same."""

    name: str
    number: int = 0
    detail: str = ""
    attempt: int = 0
    copy: bool = False
    digest: str = ""


class Store(NamedTuple):
    """All that lies in Redis, and the ghosts. `chain` is a number that stands for a whole value; 0:
    there is none.
    """

    chain: int
    version: int
    final: bool
    events: frozenset[Sent]
    tools: frozenset[Item]
    actions: tuple[ActionRow, ...]
    ghosts: tuple[Ghost, ...]
    requests: tuple[Request, ...]
    letters: frozenset[Item] = frozenset()
    approvals: tuple[Approval | None, ...] = ()


class Operation(NamedTuple):
    """One operation of a commit: dispatch or again an action, ask about one, withdraw a request by
    its number.

    `digest` is that of the call that is asked about, or approved.
    """

    name: str
    number: int
    kind: str = ""
    since: int = 0
    digest: str = ""


class Change(NamedTuple):
    """A decision as the functions see it: the chain after it and the operations of the commit."""

    chain: int
    final: bool
    operations: tuple[Operation, ...]


def nothing_yet(repeatable: tuple[bool, ...]) -> Store:
    """Before anything was said about a chain with these actions."""
    rows = tuple(ActionRow(each) for each in repeatable)
    ghosts, unapproved = tuple(Ghost() for _ in rows), (None,) * len(rows)
    return Store(0, 0, False, frozenset(), frozenset(), rows, ghosts, (), approvals=unapproved)


def with_row(store: Store, action: int, row: ActionRow) -> Store:
    """The same but for one action's hash."""
    rows = store.actions
    return store._replace(actions=(*rows[:action], row, *rows[action + 1 :]))


def with_ghost(store: Store, action: int, ghost: Ghost) -> Store:
    """The same but for what is counted about one action."""
    ghosts = store.ghosts
    return store._replace(ghosts=(*ghosts[:action], ghost, *ghosts[action + 1 :]))


def with_approval(store: Store, action: int, record: Approval | None) -> Store:
    """The same but for the record of an approval."""
    records = store.approvals
    return store._replace(approvals=(*records[:action], record, *records[action + 1 :]))


def submit(store: Store, chain: int) -> tuple[Store, str]:
    """hp3_submit: the chain and its first message, once."""
    if store.chain:
        return store, "again"
    return store._replace(chain=chain, events=store.events | {Sent("submitted")}), "created"


def commit(
    store: Store, expected: int, change: Change | None, entry: Sent, without: Mutation | None
) -> tuple[Store, str]:
    """hp3_commit for one chain: all of `change` (None: nothing changed) and the acknowledgement, or
    nothing.
    """
    if store.version != expected and without is not Mutation.VERSION:
        return store, "conflict"
    store = store._replace(events=store.events - {entry})
    return (store if change is None else outputs(head(store, change), change)), "ok"


def head(store: Store, change: Change) -> Store:
    """The chain's own part of a commit."""
    return store._replace(chain=change.chain, version=store.version + 1, final=change.final)


def outputs(store: Store, change: Change) -> Store:
    """What a commit sends."""
    for name, number, kind, since, digest in change.operations:
        if name in ("dispatch", "again"):
            attempt = store.actions[number].attempt + 1
            again = name == "again"
            store = with_row(
                store, number, rules.dispatched(store.actions[number], attempt, again=again)
            )
            if again:
                store = with_ghost(store, number, store.ghosts[number]._replace(given=0))
            store = store._replace(tools=store.tools | {Item(number, attempt, approved=digest)})
        elif name == "ask":
            store = store._replace(
                requests=(*store.requests, Request(number, kind, since, digest=digest))
            )
        elif name == "withdraw":
            store = _resolve(store, number, "withdrawn")
    return store


def _resolve(store: Store, number: int, status: str) -> Store:
    requests = list(store.requests)
    if requests[number - 1].status == "open":
        requests[number - 1] = requests[number - 1]._replace(status=status)
    return store._replace(requests=tuple(requests))


def claim(
    store: Store,
    item: Item,
    token: str,
    without: Mutation | None,
    *,
    start: bool = True,
    digest: str = "",
    moment: int = 0,
) -> tuple[Store, str, int]:
    """hp3_claim; `token` is new for each claim. `item` is as it was when this worker got it."""
    row, has_lease = store.actions[item.action], item in store.tools
    asked = Claim(item.entry, token, has_lease, start, digest)
    record = store.approvals[item.action]
    status, after, record = rules.claim(
        row, record, asked, final=store.final, now=moment, without=without
    )
    if after is None:
        return finish(store, item), status, 0
    if after.epoch > row.epoch:
        if not has_lease:
            raise BrokenError(
                Promise.R8, f"action {item.action} was claimed by a worker that had lost its entry"
            )
        ghost = store.ghosts[item.action]
        store = with_ghost(
            with_row(store, item.action, after), item.action, ghost._replace(given=ghost.given + 1)
        )
        store = with_approval(store, item.action, record)
    return store, status, 0 if status == "lost" else after.epoch


def complete(
    store: Store,
    item: Item,
    epoch: int,
    receipt: Receipt,
    without: Mutation | None,
    digest: str = "",
    token: str = "",
) -> tuple[Store, str]:
    """hp3_complete for one action; `digest` is that of the call about which a person is asked,
    `token` that of the worker's claim.
    """
    row, given = store.actions[item.action], store.ghosts[item.action].given
    has_lease = item in store.tools
    status = rules.complete(row, item.entry, epoch, has_lease=has_lease, without=without)
    if status != "recorded" and receipt is not Receipt.IN_DOUBT:
        number = _asked(store, item.action, without)
        if rules.settles(row, token, asked=number > 0, without=without):
            return _settle(store, item, number, receipt, digest), "recorded"
    if status != "recorded":
        return (finish(store, item) if status == "again" else store), status
    if row.receipt is not None:
        raise BrokenError(Promise.R3, f"action {item.action} got a second receipt")
    if item.entry >= COPY:
        raise BrokenError(
            Promise.R8,
            f"action {item.action} got its receipt from an entry that was never dispatched",
        )
    if epoch != given:
        raise BrokenError(
            Promise.R8, f"a worker of epoch {epoch} wrote the receipt, the last claim was {given}"
        )
    return _record(finish(store, item), item.action, receipt, digest), "recorded"


def _asked(store: Store, action: int, without: Mutation | None) -> int:
    """The number of the open question about a doubt; 0: there is none."""
    ways = ("open", "answered") if without is Mutation.ANSWERED else ("open",)
    for number, request in enumerate(store.requests, 1):
        if (request.action, request.kind) == (action, "in_doubt") and request.status in ways:
            return number
    return 0


def _settle(store: Store, item: Item, number: int, receipt: Receipt, digest: str) -> Store:
    """A late result in place of the doubt, about which nobody is asked any more."""
    store = finish(store, item)
    if number:
        store = _resolve(store, number, "withdrawn")
    return _record(store, item.action, receipt, digest)


def _record(store: Store, action: int, receipt: Receipt, digest: str = "") -> Store:
    row = store.actions[action]
    store = with_row(store, action, row._replace(receipt=receipt))
    if receipt is Receipt.IN_DOUBT:  # it uses up every yes
        ghost = store.ghosts[action]._replace(yes=frozenset(), used=frozenset())
        store = with_ghost(with_approval(store, action, None), action, ghost)
    if store.final:
        return store
    told = Sent("completed", action, receipt.value, row.attempt, digest=digest)
    return store._replace(events=store.events | {told})


def dead_letter(store: Store, item: Item, without: Mutation | None) -> Store:
    """hp3_dead_letter for an action: its bytes are kept, its chain hears of it. Nothing, when the
    entry is gone.
    """
    before, store = store, finish(store, item)
    if store.tools == before.tools:
        return store
    receipt = rules.given_up(store.actions[item.action], item.entry, without)
    return store if receipt is None else _record(store, item.action, receipt)


def put_aside(store: Store, item: Item) -> Store:
    """hp3_dead_letter of what another release can read: its chain hears nothing, and waits."""
    return finish(store, item)._replace(letters=store.letters | {item._replace(deliveries=0)})


def requeue(store: Store, letter: Item, without: Mutation | None) -> tuple[Store, str]:
    """hp3_requeue of an action's entry that was put aside."""
    row = store.actions[letter.action]
    if not rules.may_requeue(row, letter.entry, final=store.final):
        return store, "done"
    begun = row.in_doubt(without) and without is not Mutation.BEGUN
    fresh = letter._replace(entry=letter.entry + REQUEUED, begun=begun)
    store = with_row(store, letter.action, rules.renewed(row, fresh.entry, without))
    store = with_ghost(store, letter.action, store.ghosts[letter.action]._replace(given=0))
    return store._replace(tools=store.tools | {fresh}, letters=store.letters - {letter}), "requeued"


def answer(store: Store, number: int, choice: str, moment: int) -> tuple[Store, str]:
    """hp3_answer: once, and not after the moment in which it was asked. A yes holds for the moment
    in which it came.
    """
    request = store.requests[number - 1]
    status = rules.answer(request.status, late=request.since < moment, final=store.final)
    if status == "taken":
        store = _resolve(store, number, "answered")
        if choice == "approve":
            store = with_approval(store, request.action, Approval(request.digest, moment + 1))
        store = store._replace(events=store.events | {Sent("answered", number, choice)})
    return store, status


def expire(store: Store, moment: int) -> tuple[Store, tuple[int, ...]]:
    """What hp3_fire_due does to a chain's open requests: those of earlier moments expire; their
    numbers.
    """
    expired: list[int] = []
    for number, request in enumerate(store.requests, 1):
        if request.since < moment and request.status in ("open", "expired"):
            store = _resolve(store, number, "expired")
            expired.append(number)
    return store, tuple(expired)


def finish(store: Store, item: Item) -> Store:
    """XACK and XDEL: the entry is gone, however often it was handed out."""
    gone = frozenset(
        each for each in store.tools if (each.action, each.entry) == (item.action, item.entry)
    )
    return store._replace(tools=store.tools - gone)
