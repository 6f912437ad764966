"""A person's yes to one call: what it is bound to (CONTRACT G1). A record in Redis lets the call
run.
"""

import hashlib
import json
from typing import Any

from haltpoint.contracts.base import Contract
from haltpoint.contracts.people.answerers import ANYONE, Answerers


class Approval(Contract):
    """What an order and a receipt say of an approval; a record in Redis proves it, this does
    not.
    """

    digest: str
    """Of the call that a person approved: it holds for no other."""
    by: str = ""
    """Who gave it."""
    proposed: str | None = None
    """The arguments as JSON text before people edited them."""
    edited_by: str = ""
    """Who edited them last."""
    edited: bool = False
    """The last yes edited them."""
    preview: str | None = None
    """What `by` saw."""
    doubt: str | None = None
    """Why it is not known whether the call happened: that has used the approval up."""
    answerers: Answerers = ANYONE
    """The people that its rule names: a doubt about the call is for them, too (E5)."""


def digest_of(action_id: str, tool: str, arguments: Any, preview: str = "") -> str:
    """The same for the same call, however its JSON was written. An action's id begins with its
    chain's.

    `preview` is the digest of what the tool's preview returned (`digest_of_preview`), or empty.
    Raises ValueError for a value that is not JSON.
    """
    canonical = json.dumps(
        [action_id, tool, arguments, preview],
        sort_keys=True,
        separators=(",", ":"),
        allow_nan=False,
    )
    return hashlib.sha256(canonical.encode()).hexdigest()


def digest_of_preview(text: str) -> str:
    """Of the whole of a preview, also when a person is shown a part of it."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
