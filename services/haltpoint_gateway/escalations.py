"""An escalated case is shown to a function first, which may decide it in a person's place (CONTRACT
D5).

    def settle(case: RequestView) -> Answer | None: ...      # or async

None passes the case to people; so does a handler that fails, takes too long, or says what does not
fit.
"""

from collections.abc import Callable
from typing import Any, Final

from haltpoint.contracts.people.humans import Answer
from haltpoint.contracts.views.chains import RequestView
from haltpoint.runtime.config import dotted_path
from haltpoint.runtime.observability import logs

PATIENCE: Final = 30.0
"""Seconds that a handler has."""

_log = logs.get(__name__)


class EscalationHandler:
    """The function at a dotted path, `module:function`. Its answers are recorded as those of
    `name`.
    """

    def __init__(
        self, path: str, function: Callable[[RequestView], Any], *, patience: float = PATIENCE
    ) -> None:
        self.name = f"handler:{path.partition(':')[2]}"
        self._function = function
        self._patience = patience

    @classmethod
    def load(cls, path: str) -> "EscalationHandler":
        """Import it; the working directory counts as a place for modules. Raises HaltpointError
        HP-035.
        """
        return cls(path, dotted_path.function(path, "HP-035", "escalation handler"))

    async def decide(self, case: RequestView) -> Answer | None:
        """What the handler says; None when it passes. Never raises but for the cancellation of its
        caller.
        """
        try:
            answer = await dotted_path.call(self._function, self._patience, case)
            if answer is None or isinstance(answer, Answer):
                return answer
            raise TypeError(f"it gave a {type(answer).__name__}, which is no Answer")
        except Exception as error:  # noqa: BLE001 - whatever it raises, people are asked
            _log.error(
                "the escalation handler failed; a person is asked",
                handler=self.name,
                exc_info=error,
            )
            return None
