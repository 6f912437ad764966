"""The port to a model: what the planner needs of any provider. `chat_completions` is the one that
comes with it.

A failure that may pass is tried again, whoever the provider is: with back-off, as long as the
provider says, never beyond the thought's deadline.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol

import stamina

from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.observability import logs
from haltpoint_planner.exchange import Prompt, Reply

ATTEMPTS: Final = 5
LONGEST_WAIT: Final = 300.0
"""Seconds that a provider may ask to wait; a longer wait ends the attempts."""

_log = logs.get(__name__)


class Model(Protocol):
    """Whoever answers a prompt."""

    async def ask(self, name: str, prompt: Prompt, request: ThoughtRequest) -> Reply:
        """The reply of the model that is called `name`, before `request.deadline`.

        `Reply.usage` holds the tokens and the model's name. Raises HaltpointError HP-301 to HP-307
        when there is none, HP-310 when the model's provider cannot be used.
        """
        ...


@dataclass(eq=False)
class PassingError(Exception):
    """Something that may be better the next time. `after`: seconds that the provider asked to
    wait.
    """

    error: HaltpointError
    after: float | None = None


async def patiently(
    ask: Callable[[], Awaitable[Reply]], request: ThoughtRequest, pause: float
) -> Reply:
    """What `ask` returns at last; a PassingError of it is waited out, in `pause` seconds the first
    time, doubled each time up to a minute. Raises the HaltpointError of the last one, and what else
    `ask` raises.
    """

    def wait(error: Exception) -> bool | float:
        if not isinstance(error, PassingError):
            return False
        after = error.after or 0.0
        again = after <= min(LONGEST_WAIT, seconds_left(request))
        _log.warning(
            "the model request failed",
            reason=str(error.error),
            again=again,
            thought=request.thought_id,
        )
        return again if error.after is None else again and error.after

    try:
        async for attempt in stamina.retry_context(
            on=wait,
            attempts=ATTEMPTS,
            timeout=None,
            wait_initial=pause,
            wait_max=60.0,
            wait_jitter=pause,
        ):
            with attempt:
                return await ask()
    except PassingError as failure:
        raise failure.error from failure
    raise AssertionError("stamina either returns or raises")


def seconds_left(request: ThoughtRequest) -> float:
    """Seconds until the thought is of no use."""
    return request.deadline / 1000 - time.time()
