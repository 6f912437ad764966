"""How far running calls are: shown to those who watch the chain, and kept nowhere."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from haltpoint.contracts.views import ProgressView
from haltpoint.runtime.store.receipts import ReceiptStore
from haltpoint_tool_worker.results.redaction import clean

_PAUSE: Final = 1.0
"""Seconds between two reports of one action; what comes earlier is dropped."""
_TEXT: Final = 200


def progress_of(receipt_store: ReceiptStore, action: str) -> Callable[[float, str], None]:
    """What an action and all calls in it report by: a fraction and a text, from any thread. Made in the event loop."""
    loop, last = asyncio.get_running_loop(), 0.0

    def report(fraction: float, text: str) -> None:
        nonlocal last
        if (now := time.monotonic()) - last >= _PAUSE and not loop.is_closed():
            last = now
            told = ProgressView(action, round(fraction, 4), clean(text, _TEXT))
            loop.call_soon_threadsafe(partial(receipt_store.show_progress, told))

    return report
