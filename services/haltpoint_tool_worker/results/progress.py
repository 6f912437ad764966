"""How far running calls are: shown to those who watch the chain, and kept nowhere."""

import time
from asyncio import AbstractEventLoop
from functools import partial
from typing import Final

from haltpoint.contracts.views.chains import ProgressView
from haltpoint.runtime.store.receipts import ReceiptStore
from haltpoint_tool_worker.results.redaction import clean
from haltpoint_tool_worker.running.job import Job

_PAUSE: Final = 1.0
"""Seconds between two reports of one action; what comes earlier is dropped."""
_TEXT: Final = 200


def report(
    receipt_store: ReceiptStore, loop: AbstractEventLoop, job: Job, fraction: float, text: str
) -> None:
    """Show how far the action of a job is, by a fraction and a text. From any thread; `loop` is the
    worker's.
    """
    now = time.monotonic()
    if now - job.told_at >= _PAUSE and not loop.is_closed():
        job.told_at = now
        shown = ProgressView(job.request.action_id, round(fraction, 4), clean(text, _TEXT))
        loop.call_soon_threadsafe(partial(receipt_store.show_progress, shown))
