"""The port to a model: what the planner needs of any provider.

`Port` is the only one. What differs between providers is its `Send`: `chat_completions` speaks
OpenAI's API, `providers` any of pydantic-ai. Both take a question as the body of a chat completion
and know four outcomes: a reply, a `PassingError`, a `RefusedError`, or a HaltpointError for what no
second try changes.
"""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.work.thoughts import Usage
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint.runtime.observability import logs
from haltpoint_planner.exchange import Prompt, Reply
from haltpoint_planner.refusals import Part, named_in, parts_of, without
from haltpoint_planner.servers import Server

Body = dict[str, Any]
"""A question in the form of a chat completion."""

SIGNS_OF_A_TOKEN: Final = 4
"""Characters, for estimates."""

_SMALLEST: Final = 1_000
"""Tokens of a prompt that is not shortened any more."""
_USUAL: Final = 32_000
"""Tokens of a context of which nothing is known."""

_log = logs.get(__name__)


@dataclass(eq=False)
class PassingError(Exception):
    """There is no reply now, and there may be one later."""

    error: HaltpointError
    after: float = 0.0
    """Seconds that the provider asks to wait."""

    @property
    def code(self) -> str:
        """Of its error."""
        return self.error.code


@dataclass(eq=False)
class RefusedError(Exception):
    """The provider does not take the question as it is."""

    error: HaltpointError
    words: str
    """Its own, whole."""


@dataclass(eq=False)
class TooLongError(Exception):
    """The question is refused whatever is left out, and may be too long."""

    error: HaltpointError
    room: int
    """Tokens that a shorter prompt may have."""
    is_named: bool
    """The refusal names a limit."""


Send = Callable[[Body, ThoughtRequest], Awaitable[Reply]]
"""Asks once. Raises PassingError, RefusedError, and HaltpointError HP-302 to HP-306."""


class Port:
    """The models of one server, and what is learnt of each: which parts of a question it refuses,
    and how many tokens a prompt may have.
    """

    def __init__(self, settings: ModelSettings, server: Server, send: Send) -> None:
        self._settings = settings
        self._server = server
        self._send = send
        self._refused: dict[str, tuple[Part, ...]] = {}
        self._rooms: dict[str, int] = {}

    def room(self, name: str) -> int:
        """The tokens that a prompt for the model `name` may have."""
        return self._rooms.get(name) or self._room_in(self._settings.context or _USUAL)

    def _room_in(self, context: int) -> int:
        return max(context - self._settings.max_tokens, context // 2)

    def refused(self, name: str) -> list[str]:
        """What the server refuses of a question to the model `name`, as far as is known."""
        return [str(part) for part in self._refused.get(name, ())]

    async def ask(
        self, name: str, prompt: Prompt, request: ThoughtRequest, room: int | None = None
    ) -> Reply:
        """The reply of the model `name`. `Reply.usage` holds tokens and the model's name. `room`
        is that of a TooLongError, to which the prompt keeps: it is learnt if that helps.

        Raises PassingError when there may be one later, TooLongError when a shorter prompt may have
        one, and HaltpointError HP-301 to HP-310 where no reply comes.
        """
        left = seconds_left(request)
        if left <= 0:
            raise self._server.error("HP-307", "the deadline has passed", "Give the task more time")
        body = self._body(name, prompt, request)
        seconds = min(self._settings.timeout, left)
        try:
            async with asyncio.timeout(seconds):
                reply = await self._accepted(name, body, request)
        except TimeoutError as error:
            raise PassingError(self._server.too_slow(seconds, "timeout")) from error
        if room is not None:
            self._rooms[name] = room
        return replace(reply, usage=_usage(name, body, reply))

    def _body(self, name: str, prompt: Prompt, request: ThoughtRequest) -> Body:
        # A model that said the wrong thing would say it again: the second time it may vary.
        body: Body = {
            "model": name,
            "messages": list(prompt.messages),
            "temperature": 0 if request.attempt == 1 else 0.4,
            "max_tokens": self._settings.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if prompt.tools:
            body["tools"] = list(prompt.tools)
            body["tool_choice"] = "required" if prompt.force else "auto"
        if prompt.schema is not None:
            # A tool's own schema may use what strict servers refuse.
            form = {"name": request.kind.value, "strict": not prompt.tools, "schema": prompt.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    async def _accepted(self, name: str, body: Body, request: ThoughtRequest) -> Reply:
        """The reply to as much of the question as the server takes."""
        known = self._refused.get(name, ())
        try:
            return await self._send(without(body, known), request)
        except RefusedError as error:
            refusal = error
        reply = await self._with_less(name, body, refusal.words, request)
        if reply is None:
            raise self._too_long(body, refusal) or refusal.error
        return reply

    async def _with_less(
        self, name: str, body: Body, words: str, request: ThoughtRequest
    ) -> Reply | None:
        """It is asked with one part less, and another, until it takes the rest: then it is the last
        part that it refuses, which is left out of all questions from now on. One is learnt of each
        question. A server that does not take the barest question either refuses something else.
        """
        known = self._refused.get(name, ())
        parts = parts_of(body, known)
        named = named_in(words, parts)
        ordered = named + [part for part in parts if part not in named]
        for number, part in enumerate(ordered):
            if number == len(named):
                barest = await self._reply_to(without(body, (*known, *ordered)), request)
                if barest is None:
                    return None
            left_out = ordered[: number + 1]
            reply = await self._reply_to(without(body, (*known, *left_out)), request)
            if reply is not None:
                self._learn(name, part)
                return reply
        return None

    async def _reply_to(self, body: Body, request: ThoughtRequest) -> Reply | None:
        with suppress(RefusedError):
            return await self._send(body, request)
        return None

    def _learn(self, name: str, part: Part) -> None:
        self._refused[name] = (*self._refused.get(name, ()), part)
        _log.warning("the model's server refuses a part of a question", model=name, part=str(part))

    def _too_long(self, body: Body, refusal: RefusedError) -> TooLongError | None:
        """That a shorter prompt may do, while there is something to shorten."""
        limit = _limit_in(refusal.words)
        room = tokens_of(body) * 3 // 4
        if limit is not None:
            room = min(room, self._room_in(limit))
        if room < _SMALLEST:
            return None
        return TooLongError(refusal.error, room, limit is not None)


def seconds_left(request: ThoughtRequest) -> float:
    """Seconds until the thought is of no use."""
    return request.deadline / 1000 - time.time()


def tokens_of(value: object) -> int:
    """About so many tokens has a text, or a value as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return len(text) // SIGNS_OF_A_TOKEN


def _usage(name: str, body: Body, reply: Reply) -> Usage:
    """What the question took; an estimate where the server does not say it."""
    usage = msgspec.structs.replace(reply.usage, model=name)
    if usage.input_tokens or usage.output_tokens:
        return usage
    calls = [[call.name, call.arguments] for call in reply.calls]
    said = tokens_of(reply.message or [reply.content, calls])
    asked = tokens_of([body["messages"], body.get("tools")])
    return msgspec.structs.replace(usage, input_tokens=asked, output_tokens=said, estimated=True)


def _limit_in(words: str) -> int | None:
    """The limit that a refusal names: of the numbers in it the one below the largest, which is what
    was asked for.
    """
    numbers = {int(number) for number in re.findall(r"\d{3,7}", words.replace(",", ""))}
    large = sorted(number for number in numbers if number >= _SMALLEST)
    return large[-2:][0] if large else None
