"""OpenAI's chat completions over HTTP, streamed or not. The only file that knows httpx.

What may pass is waited out (`model`): no connection, time-outs, 408, 429, 5xx and an error in place
of a reply. A parameter that a model's server refuses is left out from then on (`parameters`).
"""

import asyncio
import ipaddress
import json
import re
import time
from dataclasses import replace
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import msgspec

from haltpoint.contracts.base import chain_of
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint.runtime.observability import logs
from haltpoint_planner.exchange import Prompt, Reply
from haltpoint_planner.model import PassingError, patiently, seconds_left
from haltpoint_planner.parsing.parameters import OPTIONAL, Parameters
from haltpoint_planner.parsing.replies import MAX_REPLY, read_reply
from haltpoint_planner.streamed import DONE, is_stream, whole

_OK: Final = 200
_REFUSED: Final = frozenset({400, 422})
_SHOWN: Final = 300  # characters of a server's own words in an error
_DONE_BYTES: Final = 16  # more than the mark of the last event has: it may come in two parts
_PRIVATE: Final = (".localhost", ".local", ".internal", ".lan", ".home.arpa", ".svc")

_ERRORS: Final = {
    "HP-302": ("cannot be reached", "Start it, or correct {base_url}"),
    "HP-303": ("rejects the key", "Check {api_key}"),
    "HP-304": ("rejects the request", "Check the address and the model's name"),
    "HP-305": ("answered with an error", "Try again later, or use another model"),
    "HP-306": (
        "did not reply with a chat completion",
        "Check that {base_url} is an OpenAI-compatible address ending in /v1",
    ),
    "HP-307": ("got no request in time", "Give the task more time"),
}
"""What the model's server does, and what fixes it; with the names of the settings that say where it
is.
"""
_SETTINGS: Final = {"base_url": "HALTPOINT_MODEL__BASE_URL", "api_key": "HALTPOINT_MODEL__API_KEY"}

_log = logs.get(__name__)


class ChatCompletions:
    """The models of one server: the configured one, or that of a `section` of the agents file.
    `pause`: seconds before the first retry, doubled each time up to a minute.
    """

    def __init__(
        self,
        settings: ModelSettings,
        http: httpx.AsyncClient,
        *,
        section: str | None = None,
        pause: float = 0.5,
    ) -> None:
        self._settings = settings
        own = {
            "base_url": f"base_url of [models.{section}]",
            "api_key": f"the key of [models.{section}]",
        }
        self._named = _SETTINGS if section is None else own
        self._http = http
        self._pause = pause
        self._parameters: dict[str, Parameters] = {}  # by the model's name

    async def ask(self, name: str, prompt: Prompt, request: ThoughtRequest) -> Reply:
        """The reply of the model `name`. Raises HaltpointError HP-301 to HP-307 when it cannot be
        had.
        """
        if self._settings.base_url is None:
            raise HaltpointError(
                "HP-301",
                "the chain needs a model",
                "no HALTPOINT_MODEL__BASE_URL is set",
                "Set it to an OpenAI-compatible address that ends in /v1, or submit a literal plan",
            )
        return await patiently(partial(self._once, name, prompt, request), request, self._pause)

    async def _once(self, name: str, prompt: Prompt, request: ThoughtRequest) -> Reply:
        left = seconds_left(request)
        if left <= 0:
            raise self._error("HP-307", "the deadline has passed")
        seconds = min(self._settings.timeout, left)
        try:
            async with asyncio.timeout(seconds):
                status, headers, text = await self._asked(
                    name, self._body(name, prompt, request), request
                )
        except TimeoutError as error:
            raise PassingError(self._error("HP-302", f"no answer within {seconds:g} s")) from error
        reply = self._judge(name, status, headers, text)
        return replace(reply, usage=msgspec.structs.replace(reply.usage, model=name))

    async def _asked(
        self, name: str, body: dict[str, Any], request: ThoughtRequest
    ) -> tuple[int, httpx.Headers, str]:
        """What the server says at last: a refused parameter is taken away, and it is asked
        again.
        """
        parameters = known = self._parameters.get(name, Parameters())
        while True:
            sent = parameters.put_into(body)
            answer = status, _, text = await self._post(sent, request)
            if status == _OK and parameters.learned != known and parameters != parameters.bare():
                _log.warning(
                    "the model's server refuses some parameters; they are changed from now on",
                    model=name,
                )
                self._parameters[name] = parameters.learned
            if status not in _REFUSED or not any(optional in sent for optional in OPTIONAL):
                return answer
            # A refusal that names none takes all of them away, for this one question.
            parameters = parameters.after(text, sent) or parameters.bare()

    def _body(self, name: str, prompt: Prompt, request: ThoughtRequest) -> dict[str, Any]:
        body: dict[str, Any] = {"model": name, "messages": list(prompt.messages)}
        if prompt.tools:
            body["tools"] = list(prompt.tools)
            body["tool_choice"] = "required" if prompt.force else "auto"
        if prompt.schema is not None:
            # A tool's own schema may use what strict servers refuse.
            form = {"name": request.kind.value, "strict": not prompt.tools, "schema": prompt.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        # A model that said the wrong thing would say it again: the second time it may vary.
        return body | {
            "temperature": 0 if request.attempt == 1 else 0.4,
            "max_tokens": self._settings.max_tokens,
        }

    async def _post(
        self, body: dict[str, Any], request: ThoughtRequest
    ) -> tuple[int, httpx.Headers, str]:
        try:
            async with self._http.stream(
                "POST",
                f"{(self._settings.base_url or '').rstrip('/')}/chat/completions",
                content=json.dumps(body, ensure_ascii=True).encode(),
                headers=self._headers(request),
                timeout=None,  # the whole call has one
            ) as response:
                read = bytearray()
                async for part in response.aiter_bytes():
                    seen = len(read)
                    read += part
                    if len(read) > MAX_REPLY:
                        raise self._error("HP-306", f"it is longer than {MAX_REPLY} bytes")
                    if DONE.search(read, max(0, seen - _DONE_BYTES)):
                        break
                return response.status_code, response.headers, read.decode(errors="replace")
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise PassingError(self._error("HP-302", str(error) or type(error).__name__)) from error
        except (httpx.InvalidURL, ValueError) as error:
            raise self._error("HP-302", str(error)) from error

    def _judge(self, name: str, status: int, headers: httpx.Headers, text: str) -> Reply:
        if status == _OK:
            if is_stream(text):  # one that breaks off may be whole the next time
                text = json.dumps(whole(text) or {"error": "its stream broke off"})
            if (reply := read_reply(text)) is not None:
                return reply
            if (words := _error_in(text)) is not None:
                raise PassingError(self._error("HP-305", words))
            raise self._error("HP-306", f"it begins with {text[:60]!r}")
        message = _error_in(text) or _in_short(text)
        words = f"HTTP {status} {message}".strip()
        if status in (401, 403):
            raise self._error("HP-303", words)
        if status in (408, 409, 425, 429) or status >= 500:
            error = self._error("HP-305", message or "it gave no reason", f"answered HTTP {status}")
            raise PassingError(error, _retry_after(headers))
        raise self._error("HP-304", f"{words} (the model is {name})")

    def _headers(self, request: ThoughtRequest) -> dict[str, str]:
        """The key, and what is asked for, if its server may know that; no step for plans and
        answers.
        """
        headers = {"Content-Type": "application/json"}
        if (key := self._settings.api_key) is not None:
            headers["Authorization"] = f"Bearer {key.get_secret_value()}"
        wanted = self._settings.headers
        host = urlsplit(self._settings.base_url or "").hostname or ""
        if wanted == "always" or (wanted == "auto" and _is_private(host)):
            headers["X-Haltpoint-Thought"] = request.kind.value
            headers["X-Haltpoint-Chain"] = chain_of(request.thought_id)
            headers["X-Haltpoint-Turn"] = str(request.turn)
            headers["X-Haltpoint-Attempt"] = str(request.attempt)
            if request.step_id is not None:
                headers["X-Haltpoint-Step"] = request.step_id
        return headers

    def _error(self, code: str, why: str, what: str = "") -> HaltpointError:
        """An error of the model's server, whose words may repeat the key. `what` it does, if that
        is known better.
        """
        does, fix = _ERRORS[code]
        host = urlsplit(self._settings.base_url or "").netloc.rpartition("@")[2]
        key = self._settings.api_key
        if key is not None and key.get_secret_value():
            why = why.replace(key.get_secret_value(), "***")
        return HaltpointError(
            code, f"the model's server {host} {what or does}", why, fix.format(**self._named)
        )


def _is_private(host: str) -> bool:
    """Whether a host is on this machine or in its own network, as far as its name or address
    says.
    """
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        name = host.rstrip(".")
        return "." not in name or name.endswith(_PRIVATE)


def _retry_after(headers: httpx.Headers) -> float | None:
    """Seconds to wait, from a number or a date; None when the header is missing or makes no
    sense.
    """
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", value):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def _error_in(text: str) -> str | None:
    """A server's own words about an error, from the usual places; None when there are none."""
    try:
        error = json.loads(text).get("error")
    except (ValueError, AttributeError, RecursionError):
        return None
    found = error.get("message") if isinstance(error, dict) else error
    return _in_short(str(found or error)) if error else None


def _in_short(words: str) -> str:
    return " ".join(words.split())[:_SHOWN]
