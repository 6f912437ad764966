"""The parameters of a chat completion that some servers refuse and others need, learned for each
model (C10).

One refusal takes away one parameter: a server that does not know `max_tokens` still gets
`tool_choice`. A limit of tokens that is too large beside a long prompt is taken away for this one
question only.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from haltpoint_planner.parsing.json_text import parse

OPTIONAL: Final = (
    "temperature",
    "max_tokens",
    "max_completion_tokens",
    "tool_choice",
    "response_format",
    "stream_options",
)
_NAMED: Final = re.compile(
    rf"(?<![\w-])(?:{'|'.join(OPTIONAL)}|(?:non-)?stream(?:ing)?)(?!\w)", re.IGNORECASE
)
_LONGER: Final = "max_completion_tokens"
_LIMITS: Final = frozenset({"max_tokens", _LONGER})
_VALUE: Final = re.compile(
    r"too (?:large|big|high|long)|exceed|at "
    r"(?:most|least)|m(?:ax|in)imum|(?:less|more|greater) than|range| [<>]=? ?\d",
    re.IGNORECASE,
)
"""Words that refuse a limit's value, and not the parameter."""

_ERROR_DEPTH: Final = 16
_INNER: Final = ("error", "message", "msg", "detail", "errors", "error_message")


@dataclass(frozen=True, slots=True)
class Parameters:
    """What one model's server takes: all but `without`, the limit of tokens under its own name,
    streamed or not; and what this one question does without (`once`).
    """

    without: frozenset[str] = frozenset()
    once: frozenset[str] = frozenset()
    limit: str = "max_tokens"
    streams: bool = False

    def put_into(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body as this server takes it."""
        told = {self.limit if name == "max_tokens" else name: value for name, value in body.items()}
        if self.streams:
            told |= {"stream": True, "stream_options": {"include_usage": True}}
        return {name: value for name, value in told.items() if name not in self.without | self.once}

    def after(self, refusal: str, sent: dict[str, Any]) -> Self | None:
        """What is left when the server has refused `sent` with this body; None when it names none
        of `OPTIONAL`.
        """
        for name in _named(refusal):
            if name in _LIMITS and not _LIMITS.isdisjoint(sent) and _VALUE.search(refusal):
                return replace(self, once=_LIMITS)
            if name == "max_tokens" and name in sent and _LONGER in refusal:
                return replace(self, limit=_LONGER)
            if name in OPTIONAL and name in sent:
                return replace(self, without=self.without | {name})
            if name not in OPTIONAL and not self.streams:
                return replace(self, streams=True)
        return None

    def bare(self) -> Self:
        """Without anything optional, for this one question."""
        return replace(self, once=frozenset(OPTIONAL))

    @property
    def learned(self) -> Self:
        """What holds for the next question, too."""
        return replace(self, once=frozenset())


def _named(refusal: str) -> Iterator[str]:
    """The parameters that a refusal names: first in `param` (OpenAI) or `loc` (FastAPI), then in
    its words.
    """
    found = parse(refusal, depth=_ERROR_DEPTH)
    parts = list(_parts(refusal if found is None else found.value))
    own = [str(part.get("param") or part.get("loc")) for part in parts if isinstance(part, dict)]
    for text in (*own, *(part for part in parts if isinstance(part, str))):
        yield from (name[0].lower() for name in _NAMED.finditer(text))


def _parts(error: Any) -> Iterator[Any]:
    """An error and those in it. What it quotes of the request (`input` of FastAPI's errors) names
    nothing.
    """
    yield error
    inner = (
        map(error.get, _INNER)
        if isinstance(error, dict)
        else error
        if isinstance(error, list)
        else ()
    )
    for part in inner:
        yield from _parts(part)
