"""The port to a model: what the planner needs of any provider.

`Port` is the only one. What differs between providers is its `Send`: `chat_completions` speaks
OpenAI's API, `providers` any of pydantic-ai. Both take a question as the body of a chat completion
and know five outcomes: a reply, a `PassingError`, a `RefusedError`, a `TooLongError`, or another
HaltpointError for what no second try changes.
"""

import asyncio
import json
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.work.thoughts import Usage
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint.runtime.observability import logs
from haltpoint_planner.exchange import Finish, Prompt, Reply
from haltpoint_planner.refusals import (
    Parts,
    Refused,
    form_of_words,
    lacking,
    parts_of,
    with_names_of,
    without,
)
from haltpoint_planner.servers import PassingError, RefusedError, Server, TooLongError

Make = Callable[[int], Prompt]
"""Makes the prompt for so many tokens. Raises HaltpointError when it does not fit."""

SIGNS_OF_A_TOKEN: Final = 4
"""Characters, for estimates."""

_USUAL: Final = 32_000
"""Tokens of a context of which nothing is known."""

_log = logs.get(__name__)


Send = Callable[[JsonObject, ThoughtRequest], Awaitable[Reply]]
"""Asks once. Raises PassingError, RefusedError, TooLongError, and HaltpointError HP-302 to
HP-306."""


@dataclass
class Port:
    """The models of one server, and what is learnt of each: which parts of a question it refuses,
    and how many tokens a prompt may have.
    """

    settings: ModelSettings
    server: Server
    send: Send
    refused: dict[str, Refused] = field(default_factory=partial(defaultdict, Refused))
    """By model, what its server refuses of a question."""
    lost: dict[str, int] = field(default_factory=dict)
    """By thought, the tokens of its replies that broke off: they count with the one that does
    not.
    """

    def room(self, name: str) -> int:
        """The tokens that a prompt for the model `name` may have."""
        return self.refused[name].room or self._room_in(self.settings.context or _USUAL)

    def _room_in(self, context: int) -> int:
        return max(context - self.settings.max_tokens, context // 2)

    async def ask(self, name: str, make: Make, request: ThoughtRequest) -> Reply:
        """The reply of the model `name` to as much of the question as its server takes, and to a
        shorter prompt when the first one is too long. `Reply.usage` holds tokens and the model's
        name.

        Raises PassingError when there may be one later, and HaltpointError HP-301 to HP-312 where
        no reply comes.
        """
        refused = self.refused[name]
        left_out = refused.tried or refused.parts
        room = self.room(name)
        prompt = make(room)
        first: RefusedError | None = None
        while True:
            question = partial(self._body, name, request, prompt)
            body = question(left_out)
            try:
                reply = await self._sent(body, request)
            except TooLongError as refusal:
                room = self._shorter(body, room, refusal)
                prompt = make(room)
            except RefusedError as refusal:
                first = first or refusal
                parts = parts_of(prompt, refusal.words)
                left_out = refused.climb(question, left_out, parts)
                if not left_out:
                    raise first from None
                _log.warning("asked with a part less", model=name, part=str(left_out[-1]))
            else:
                refused.learn(left_out)
                refused.room = min(room, self.room(name))
                return with_names_of(prompt, reply)

    def _shorter(self, body: JsonObject, room: int, refusal: TooLongError) -> int:
        """The tokens of a shorter prompt than the one that was made for `room` and refused. Raises
        the refusal if the prompt did not become shorter before.
        """
        asked = tokens_of(body)
        limit = _limit_in(refusal.words, asked // 2, 2 * room)
        shorter = min(asked * 3 // 4, self._room_in(limit))
        if shorter >= room:
            raise refusal
        return shorter

    async def _sent(self, body: JsonObject, request: ThoughtRequest) -> Reply:
        left = request.deadline / 1000 - time.time()
        seconds = max(0, min(self.settings.timeout, left))
        try:
            async with asyncio.timeout(seconds):
                reply = await self.send(body, request)
        except TimeoutError as error:
            raise self.server.too_slow(seconds, "timeout") from error
        usage = _usage(body, reply, self.lost.pop(request.thought_id, 0))
        if reply.finish is Finish.BROKEN:
            self.lost[request.thought_id] = usage.input_tokens + usage.output_tokens
            raise PassingError(self.server.error("HP-305", "it broke its reply off"))
        return replace(reply, usage=usage)

    def _body(
        self, name: str, request: ThoughtRequest, whole: Prompt, left_out: Parts
    ) -> JsonObject:
        """The question without these parts."""
        prompt = without(whole, left_out)
        # A model that said the wrong thing would say it again: the second time it may vary.
        body: JsonObject = {
            "model": name,
            "messages": list(prompt.messages),
            "temperature": 0 if request.attempt == 1 else 0.4,
            "max_tokens": self.settings.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if prompt.tools:
            body["tools"] = [{"type": "function", "function": tool} for tool in prompt.tools]
            body["tool_choice"] = "required" if prompt.force else "auto"
        schema = form_of_words(prompt)
        if schema is not None:
            # A tool's own schema may use what strict servers refuse.
            form = {"name": request.kind.value, "strict": not whole.tools, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return lacking(body, left_out)


def tokens_of(value: object) -> int:
    """About so many tokens has a value as JSON."""
    return len(json.dumps(value, ensure_ascii=False)) // SIGNS_OF_A_TOKEN


def _usage(body: JsonObject, reply: Reply, lost: int) -> Usage:
    """What the question took, with what was lost before; an estimate of what the server does not
    say.
    """
    told = reply.usage
    asked = told.input_tokens or tokens_of([body["messages"], body.get("tools")])
    said = told.output_tokens or tokens_of(reply.message or reply.content)
    estimated = not (told.input_tokens and told.output_tokens)
    return Usage(asked + lost, said, body["model"], estimated=estimated)


def _limit_in(words: str, least: int, other: int) -> int:
    """The limit that a refusal names: of its numbers the one below the largest, which is what was
    asked for; the other one where it names none. Those below `least` are codes and the like.
    """
    named = map(int, re.findall(r"\d{4,7}", words.replace(",", "")))
    numbers = {number for number in named if number >= least}
    return min(sorted(numbers)[-2:], default=other)
