"""A process that is to outlive its parent by no more than a moment."""

import os
import signal
import threading
from collections.abc import Callable
from typing import Final

_POLITE: Final = 5
"""Seconds for what is under way."""


def end_with(gone: Callable[[], object]) -> None:
    """Leave when this call returns, as the parent is gone then; politely at first, then at once."""
    threading.Thread(target=_leave_after, args=(gone,), daemon=True).start()


def _leave_after(gone: Callable[[], object]) -> None:
    gone()
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(_POLITE)
    os._exit(1)
