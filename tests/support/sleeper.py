"""A worker process that may stop itself between taking a call and starting it (SIGSTOP), like a
frozen machine.

It stops once, at the first passage of the place: "before claim", "after claim", or "after look",
where a call that needs no claim has been admitted. The test lets it continue with SIGCONT.
"""

import os
import signal
from pathlib import Path
from typing import Any

from haltpoint.contracts.catalogue import Party
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.service import process
from haltpoint.runtime.store.receipts import Claimed, ReceiptStore
from haltpoint_tool_worker.admission.admit import Admission
from haltpoint_tool_worker.app import run


def main(settings: str, place: str, held: float) -> int:
    """Be a worker that stops at `place`, with the seconds of processor time that native code may
    hold it.
    """
    stop_at(place)
    process.HELD = held  # type: ignore[misc]
    return process.main(Party.WORKER, run, Settings.model_validate_json(settings))


def stop_at(place: str) -> None:
    """Stop this process at `place`; "" for nowhere."""
    claim, admit = ReceiptStore.claim, Admission.admit
    left = [place]

    def passing(here: str) -> None:
        if left == [here]:
            left.clear()
            os.kill(os.getpid(), signal.SIGSTOP)

    async def claim_and_pass(self: ReceiptStore, *args: Any, **more: Any) -> Claimed:
        passing("before claim")
        claimed = await claim(self, *args, **more)
        passing("after claim")
        return claimed

    async def admit_and_pass(self: Admission, *args: Any) -> Any:
        call = await admit(self, *args)
        passing("after look")
        return call

    ReceiptStore.claim = claim_and_pass  # type: ignore[method-assign]
    Admission.admit = admit_and_pass  # type: ignore[method-assign, assignment]


def is_stopped(pid: int) -> bool:
    """Whether the process sleeps in its SIGSTOP."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
