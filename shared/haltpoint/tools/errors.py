"""How a tool says that it failed (CONTRACT E1), and that it was declared wrongly."""

from collections.abc import Sequence
from typing import Any, Self

from haltpoint.contracts.doors import door
from haltpoint.contracts.results import RECOVERABLE, ErrorInfo, ErrorType


class DeclarationError(TypeError):
    """A tool was declared wrongly. Raised while its module is imported; it names the tool, its
    place and the fix.
    """


class ToolError(Exception):
    """A failure with a name: the model reads the type, the message and the suggestion, and nothing
    else.

    `recoverable` follows the type unless it is given. `retry_after` is in seconds. `no_effect` says
    that nothing has happened outside: without it TIMEOUT and SERVER of a tool with effects are a
    doubt (E5). An `error_type` that is not in the closed set raises ValueError.
    """

    def __init__(
        self,
        error_type: ErrorType | str,
        message: str,
        *,
        suggestion: str | None = None,
        recoverable: bool | None = None,
        retry_after: float | None = None,
        invalid_fields: Sequence[str] = (),
        no_effect: bool = False,
    ) -> None:
        super().__init__(message)
        self.error_type = ErrorType(error_type)
        self.message = message
        self.suggestion = suggestion
        self.recoverable = self.error_type in RECOVERABLE if recoverable is None else recoverable
        self.retry_after = retry_after
        self.invalid_fields = tuple(invalid_fields)
        self.no_effect = no_effect

    @property
    def fault(self) -> ErrorInfo:
        """The error as a result holds it. Raises pydantic's ValidationError when a field has the
        wrong type.
        """
        names = set(ErrorInfo.__struct_fields__) - {"cause", "undecided"}
        fields = {name: getattr(self, name) for name in names}
        return door(ErrorInfo).validate_python({**fields, "no_effect": self.no_effect or None})

    @classmethod
    def not_found(cls, message: str, **more: Any) -> Self:
        """The thing asked for does not exist. Recoverable. `more` as in the constructor, here and
        below.
        """
        return cls("NOT_FOUND", message, **more)

    @classmethod
    def validation(cls, message: str, **more: Any) -> Self:
        """The arguments make no sense; name them in `invalid_fields`. Recoverable."""
        return cls("VALIDATION", message, **more)

    @classmethod
    def permission(cls, message: str, **more: Any) -> Self:
        """Not allowed to do that. Not recoverable."""
        return cls("PERMISSION", message, **more)

    @classmethod
    def rate_limit(cls, message: str, **more: Any) -> Self:
        """Too often; say when again with `retry_after`. Recoverable."""
        return cls("RATE_LIMIT", message, **more)

    @classmethod
    def timeout(cls, message: str, **more: Any) -> Self:
        """Something behind the tool took too long. Recoverable; without `no_effect` the effect may
        have happened.
        """
        return cls("TIMEOUT", message, **more)

    @classmethod
    def server(cls, message: str, **more: Any) -> Self:
        """Something behind the tool is broken. Recoverable; without `no_effect` the effect may have
        happened.
        """
        return cls("SERVER", message, **more)

    @classmethod
    def blocked(cls, message: str, **more: Any) -> Self:
        """A rule forbids it. Not recoverable."""
        return cls("BLOCKED", message, **more)
