"""The ledger of a root chain (CONTRACT C14): what became of a call, known again by its
signature.
"""

from enum import StrEnum

from haltpoint.contracts.base import Contract

LONGEST_WORDS = 200
"""Characters of a person's words that an entry keeps."""


class Became(StrEnum):
    """What became of a call. `in_doubt`: from its start until its receipt, or because that says
    so. `failed`: its error, or a person, says that the same call would fail again.
    """

    DONE = "done"
    DENIED = "denied"
    IN_DOUBT = "in_doubt"
    FAILED = "failed"


class Entry(Contract):
    """What became of the last call of one signature."""

    tool: str
    action_id: str
    became: Became
    at: int = 0
    """Milliseconds since the epoch when it became so."""
    words: str = ""
    """What a person said with a no."""


Ledger = dict[str, Entry]
"""Entries by the signatures of their calls."""
