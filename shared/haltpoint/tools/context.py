"""What a tool knows about its call: identity and deadline from the task, never from a model; and
the ways to answer.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, cast

from pydantic import ValidationError
from typing_extensions import TypeVar

from haltpoint.contracts.base import chain_of
from haltpoint.contracts.doors import door
from haltpoint.contracts.results import (
    Clarification,
    Confirmation,
    MalformedResultError,
    NextAction,
    Option,
    Target,
    ToolResult,
)

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

Deps = TypeVar("Deps", default=Any)
T = TypeVar("T")


Progress = Callable[[float, str], None]
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def _checked(kind: type[T], **asked: object) -> T:
    """A question of this kind. Raises MalformedResultError."""
    try:
        return door(kind).validate_python(asked)
    except ValidationError as error:
        words = "; ".join(problem["msg"] for problem in error.errors(include_input=False))
        raise MalformedResultError(f"its {kind.__name__.lower()}: {words}") from error


class Ctx(Generic[Deps]):
    """The context of one call. Everything has a default, so that a test can call a tool with
    `Ctx(deps=...)`.

    `deps` is what the module's `lifespan` yielded. `tenant`, `user`, `context` and `private` are
    the task's; `private` is in no prompt and no view, so a tool keeps it out of its result.
    `action_id` stays the same over every attempt. `confirmed` is true when a person approved this
    very call. In a test two functions take the place of the worker: `progress` gets a fraction and
    a text, `stopped` says whether the call is to end.
    """

    def __init__(
        self,
        *,
        deps: Deps = None,  # type: ignore[assignment]
        tool: str = "",
        action_id: str = "",
        key: str = "",
        attempt: int = 1,
        tenant: str | None = None,
        user: str | None = None,
        context: Mapping[str, Any] = _NOTHING,
        private: Mapping[str, Any] = _NOTHING,
        confirmed: bool = False,
        deadline_ms: int | None = None,
        progress: Progress | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> None:
        self._key = key
        self._progress = progress
        self._stopped = stopped
        self.deps = deps
        self.tool = tool
        self.action_id = action_id
        self.attempt = attempt
        self.tenant = tenant
        self.user = user
        self.context = context
        self.private = private
        self.confirmed = confirmed
        self._deadline_ms = deadline_ms

    @property
    def idempotency_key(self) -> str:
        """The action's id, or of an undo the one key under which an action is undone: hand it to a
        service that can recognise a repeat.
        """
        return self._key or self.action_id

    @property
    def chain_id(self) -> str:
        """The chain that this call belongs to."""
        return chain_of(self.action_id)

    @property
    def deadline(self) -> datetime | None:
        """When the result is of no use any more (aware, UTC)."""
        if self._deadline_ms is None:
            return None
        return datetime.fromtimestamp(self._deadline_ms / 1000, UTC)

    @property
    def cancelled(self) -> bool:
        """Whether the result is of no use any more: the chain was cancelled, the time is over, or
        another worker has the call. An async function gets asyncio.CancelledError then; one in a
        thread looks here and ends by itself.
        """
        return self._stopped is not None and self._stopped()

    @property
    def log(self) -> "FilteringBoundLogger":
        """A logger that knows the tool, the chain and the action."""
        import structlog  # here: most tools never log, and the import is slow

        logger = structlog.stdlib.get_logger("haltpoint.tools")
        return cast(
            "FilteringBoundLogger",
            logger.bind(tool=self.tool, chain=self.chain_id, action=self.action_id),
        )

    def progress(self, fraction: float, text: str = "") -> None:
        """Show people how far the call is: `fraction` from 0 to 1, and in words. It never blocks,
        and any thread may call it.

        At most one report a second is shown; no report is stored. Raises ValueError for a number
        below 0 or above 1.
        """
        if not 0 <= fraction <= 1:
            raise ValueError(f"a fraction is between 0 and 1, not {fraction}")
        if self._progress is not None:
            self._progress(float(fraction), text)

    def ok(
        self,
        data: T,
        *,
        complete: bool = False,
        warnings: Sequence[str] = (),
        instruction_for_ai: str | None = None,
    ) -> ToolResult[T]:
        """Success. `complete` ends the step (B2); `warnings` say what is missing from a partial
        result.
        """
        return ToolResult[Any](
            success=True,
            next_action=NextAction.COMPLETE if complete else NextAction.CONTINUE,
            data=data,
            warnings=tuple(warnings),
            instruction_for_ai=instruction_for_ai,
        )

    def clarify(self, type: str, question: str, options: Sequence[Option]) -> ToolResult[Any]:
        """Stop the chain and let a person choose. Option ids are ids of real entities.

        The chosen option's `value` becomes the data of this action's receipt, with the option
        itself under `selected`. Raises MalformedResultError without options, with an id twice, and
        for what is no option.
        """
        asked = _checked(Clarification, type=type, question=question, options=tuple(options))
        return ToolResult[Any](
            success=True, next_action=NextAction.CLARIFICATION_NEEDED, clarification=asked, data={}
        )

    def confirm(
        self, action: str, target: Target, message: str, preview: str | None = None
    ) -> ToolResult[Any]:
        """Stop the chain and let a person approve. Approved, the same call runs again with
        `confirmed` true.

        Raises MalformedResultError for what is no target: `Target(id=..., name=..., type=...)`.
        """
        asked = _checked(
            Confirmation, action=action, target=target, message=message, preview=preview
        )
        return ToolResult[Any](
            success=True, next_action=NextAction.CONFIRMATION_NEEDED, confirmation=asked, data={}
        )
