"""The receipts that a chain makes known to those below it and to the one above (CONTRACT C13, I1)."""

from collections.abc import Iterable
from typing import Final

from haltpoint.chain.model.state import Action
from haltpoint.chain.model.work import Work
from haltpoint.contracts.work.known import KnownReceipt

Receipts = tuple[KnownReceipt, ...]

MOST_KNOWN: Final = 64 * 1024
"""Bytes of the arguments and data of the receipts that are made known, the newest: a report is one message."""


def for_below(work: Work) -> Receipts:
    """All that the chain knows."""
    known = (*work.task.handed.known, *work.known, *_own(work))
    return _newest(known)


def for_above(work: Work) -> Receipts:
    """What it did not know from above. Of a skill the result says all."""
    is_agents = work.task.handed.assigned is not None
    return _newest((*work.known, *_own(work))) if is_agents else ()


def hear(work: Work, known: Receipts) -> None:
    """Keep what a chain below has made known."""
    if known:
        work.known = _newest((*work.known, *known))


def _own(work: Work) -> Iterable[KnownReceipt]:
    return (_known(action) for action in work.actions.values() if _is_known(action))


def _is_known(action: Action) -> bool:
    """Whether values may come from its receipt: those of a tool's success, and what a person said or chose."""
    has_words = action.satisfies or action.by_a_person
    return has_words and not action.in_models_words and len(action.data) > len("{}")


def _known(action: Action) -> KnownReceipt:
    by = action.told.by if action.by_a_person else None
    return KnownReceipt(action.id, action.tool, action.ran, action.data, by)


def _newest(receipts: Receipts) -> Receipts:
    """The last of these receipts that there is room for, in their order."""
    room, kept = MOST_KNOWN, list[KnownReceipt]()
    for receipt in reversed(receipts):
        size = len(receipt.arguments) + len(receipt.data)
        if size <= room:
            room -= size
            kept.append(receipt)
    return tuple(reversed(kept))
