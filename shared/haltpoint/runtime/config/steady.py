"""The time of day as this process counts it on from its start: a jump of the machine's clock is no
time that has passed.
"""

import time
from typing import Final

_START: Final = time.time() - time.monotonic()


def now() -> float:
    """Seconds since the epoch."""
    return _START + time.monotonic()
