"""What the Redis functions decide about an action and a request, in plain Python: each rule once,
on frozen rows.

`tests/proofs/functions.py` is one chain of them, as small as a search of all its states needs it:
there a `Mutation` may take a mechanism away from the rules. Random commands compare it with the
real functions.
"""

from enum import StrEnum
from typing import NamedTuple


class Mutation(StrEnum):
    """A mechanism that can be taken away."""

    CLAIM = "who takes over does not claim"
    HOLDER = "claim does not look who holds the entry"
    FENCE = "complete compares neither holder nor epoch"
    DEDUPE = "complete does not look whether there is a receipt, or still an entry"
    ATOMICITY = "commit writes the chain first and all else afterwards"
    BINDING = "nobody looks whether an entry is the current one"
    EFFECTS = "every tool counts as repeatable"
    VERSION = "commit does not compare versions"
    STARTED = "an entry that is given back counts as not begun"
    BEGUN = "an entry that is given back looks as if nobody had read it"
    GATE = "a worker asks for no approval, and claims without one"
    DIGEST = "claim takes an approval of whatever"
    CONSUMPTION = "an approval lets any action with the same call run, not only its own"
    EXPIRY = "claim does not look how old an approval is"
    STARTER = "complete does not look whose claim started a call in doubt"
    ANSWERED = "complete does not look whether a person has answered about a doubt"
    STOP = "the gate lets every step pass while a question is open"


class Receipt(StrEnum):
    """What a worker may report. Doubt takes the place of a receipt."""

    OK = "ok"
    ASKS = "asks"
    CONFIRMS = "confirms"
    FAILED = "failed"
    IN_DOUBT = "in_doubt"


class ActionRow(NamedTuple):
    """The hash of an action. `attempt` and `entry` are 0 before the first dispatch."""

    repeatable: bool
    attempt: int = 0
    entry: int = 0
    epoch: int = 0
    owner: str = ""
    verdict: str = ""
    started: bool = False
    receipt: Receipt | None = None
    resolution: bool = False

    def bound(self, entry: int, without: Mutation | None = None) -> bool:
        """Whether the entry is the one that counts."""
        return self.entry == entry or without is Mutation.BINDING

    def over(self, without: Mutation | None = None) -> bool:
        """Whether nothing may be run or recorded any more under this attempt."""
        return self.receipt is not None and without is not Mutation.DEDUPE

    def may_run_again(self, without: Mutation | None = None) -> bool:
        """What the functions and workers take the action for."""
        return self.repeatable or without is Mutation.EFFECTS

    def in_doubt(self, without: Mutation | None = None) -> bool:
        """Whether its effects may be there and cannot be repeated."""
        return self.started and not self.may_run_again(without)


class Approval(NamedTuple):
    """The record of a person's yes to a call. A digest is `<action>/<what else it is over>`."""

    digest: str
    deadline: int
    consumed: bool = False


def consume(
    record: Approval | None, digest: str, now: int, without: Mutation | None = None
) -> tuple[str | None, Approval | None]:
    """Why a call of this digest may not start, or None; and the record after it."""
    if record is None:
        return "unapproved", None
    alike = record.digest == digest or without is Mutation.DIGEST
    if without is Mutation.CONSUMPTION:
        alike = record.digest.partition("/")[2] == digest.partition("/")[2]
    if not alike:
        return "changed", record
    if not record.consumed and record.deadline <= now and without is not Mutation.EXPIRY:
        return "late", record
    return None, record._replace(consumed=True)


class Claim(NamedTuple):
    """What hp3_claim is asked: `start` it, or only look; `digest` when a person has to have
    approved it.

    `has_lease`: the entry is pending for the worker that claims.
    """

    entry: int
    token: str
    has_lease: bool
    start: bool = True
    digest: str = ""


def dispatched(row: ActionRow, entry: int, *, again: bool) -> ActionRow:
    """The next attempt under a new entry. A first dispatch clears no receipt: what it finds there
    is nobody's.
    """
    if again:
        return ActionRow(row.repeatable, row.attempt + 1, entry)
    return ActionRow(
        row.repeatable, row.attempt + 1, entry, receipt=row.receipt, resolution=row.resolution
    )


def renewed(row: ActionRow, entry: int, without: Mutation | None = None) -> ActionRow:
    """The same attempt under a new entry, as if nobody had read it; that it was started stays."""
    return row._replace(
        entry=entry, epoch=0, owner="", started=row.started and without is not Mutation.STARTED
    )


def claim(
    row: ActionRow | None,
    record: Approval | None,
    asked: Claim,
    *,
    final: bool,
    now: int = 0,
    without: Mutation | None = None,
) -> tuple[str, ActionRow | None, Approval | None]:
    """hp3_claim: the status, and the row and the approval after it; no row when the entry is
    finished instead.
    """
    if final or (row is not None and row.over(without)):
        return "done", None, record
    if row is None or not row.bound(asked.entry, without):
        return "stale", None, record
    if not asked.has_lease and without is not Mutation.HOLDER:
        return "lost", row, record
    if row.owner == asked.token:
        return row.verdict, row, record
    doubtful = row.in_doubt(without)
    if asked.start and asked.digest and not doubtful:
        refused, record = consume(record, asked.digest, now, without)
        if refused:
            return refused, row, record
    verdict, started = (
        "in_doubt" if doubtful else "go",
        row.started or (asked.start and not doubtful),
    )
    owner = row.owner if doubtful else asked.token
    after = row._replace(epoch=row.epoch + 1, owner=owner, verdict=verdict, started=started)
    return verdict, after, record


def complete(
    row: ActionRow | None,
    entry: int,
    epoch: int,
    *,
    has_lease: bool,
    without: Mutation | None = None,
) -> str:
    """hp3_complete: recorded, again (the entry is finished, no more), or stale (nothing is
    done).
    """
    if row is not None and row.over(without):
        return "again"
    if row is None or not row.bound(entry, without):
        return "stale"
    fenced = row.epoch != epoch and without is not Mutation.FENCE
    lost = not has_lease and without not in (Mutation.FENCE, Mutation.DEDUPE)
    return "stale" if fenced or lost else "recorded"


def settles(row: ActionRow, token: str, *, asked: bool, without: Mutation | None = None) -> bool:
    """Whether hp3_complete records a result of who does not hold the entry any more. `asked`: a
    question about the doubt is open.
    """
    is_starter = row.owner == token or without is Mutation.STARTER
    is_open = row.receipt is None or (row.receipt is Receipt.IN_DOUBT and asked)
    return row.in_doubt(without) and is_starter and is_open


def may_requeue(row: ActionRow | None, entry: int, *, final: bool) -> bool:
    """hp3_requeue of an action's entry that became a dead letter: somebody waits for this very
    one.
    """
    return row is not None and row.entry == entry and not row.over() and not final


def given_up(row: ActionRow | None, entry: int, without: Mutation | None = None) -> Receipt | None:
    """What hp3_dead_letter records for an action whose entry it takes; None: it was another's, or
    is over.
    """
    if row is None or row.entry != entry or row.receipt is not None:
        return None
    return Receipt.IN_DOUBT if row.in_doubt(without) else Receipt.FAILED


class Reserved(NamedTuple):
    """The record of an effect that happens once: whose `n`-th reservation it is, and the one that
    it repeats.
    """

    owner: str
    n: int
    done: bool = False
    before: "Reserved | None" = None


def reserve(
    record: Reserved | None, action: str, judged: int, n: int, *, keep: bool
) -> tuple[Reserved | None, bool]:
    """hp3_reserve_effect: the record after it, and whether the action has it. `judged` 0: none was
    seen; `n` is new.
    """
    before = None if record is None else record.before
    if record is not None and record.owner != action:
        if record.n != judged:
            return record, False
        if not keep and before is not None:
            return before._replace(n=n), False
        before = record._replace(before=None) if keep else None
    return Reserved(action, n, before=before), True


def settle(
    record: Reserved | None, action: str, own: int, n: int, *, done: bool
) -> tuple[Reserved | None, bool]:
    """hp3_settle_effect: the effect is done, or free; another's stays. `own` 0: whichever
    reservation it is.
    """
    if record is None or record.owner != action or own not in (0, record.n):
        return record, False
    if done:
        return record._replace(done=True, before=None), True
    return None if record.before is None else record.before._replace(n=n), True


def answer(status: str, *, late: bool, final: bool) -> str:
    """hp3_answer to a request in this status: taken, answered, expired or stale."""
    if status == "answered":
        return "answered"
    if status == "expired" or (status == "open" and late):
        return "expired"
    return "stale" if status != "open" or final else "taken"
