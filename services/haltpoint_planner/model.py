"""The model's server: OpenAI-compatible chat completions over HTTP. The only file that knows httpx.

What may pass is waited out: no connection, time-outs, 408, 429 and 5xx, with back-off, as long as Retry-After says, and
never beyond the thought's deadline. Some servers refuse parameters that others need; what is optional is left out then.
"""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import stamina

from haltpoint.contracts.base import chain_of
from haltpoint.contracts.events import ThoughtRequest
from haltpoint.contracts.thoughts import ThoughtKind
from haltpoint.runtime import logs
from haltpoint.runtime.errors import HaltpointError
from haltpoint.runtime.settings import ModelSettings
from haltpoint_planner.prompts import Prompt
from haltpoint_planner.replies import MAX_REPLY, Reply, read_reply

ATTEMPTS: Final = 5
LONGEST_WAIT: Final = 300.0
"""Seconds that a Retry-After may ask for; who wants more gets nothing more."""

_OPTIONAL: Final = ("temperature", "max_tokens", "tool_choice", "response_format")
_OK: Final = 200
_REFUSED: Final = frozenset({400, 422})
_SHOWN: Final = 300  # characters of a server's own words in an error

_log = logs.get(__name__)


class _PassingError(Exception):
    """Something that may be better the next time. `after`: seconds that the server asked to wait."""

    def __init__(self, error: HaltpointError, after: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.after = after


class Model:
    """One model at one server. `pause`: seconds before the first retry, doubled each time up to a minute."""

    def __init__(self, settings: ModelSettings, http: httpx.AsyncClient, *, pause: float = 0.5) -> None:
        self._settings = settings
        self._http = http
        self._pause = pause
        self._plainly = False  # whether the server has refused optional parameters

    def chosen(self, request: ThoughtRequest) -> str:
        """The model that is asked: another one where a person wants a retry and there is one (D3)."""
        another = self._settings.retry_name if request.other_model else None
        return another or self._settings.name or "default"

    async def ask(self, prompt: Prompt, request: ThoughtRequest) -> Reply:
        """The model's reply. Raises HaltpointError HP-301 to HP-307 when it cannot be had."""
        if self._settings.base_url is None:
            raise HaltpointError(
                "HP-301",
                "the chain needs a model",
                "no HALTPOINT_MODEL__BASE_URL is set",
                "Set it to an OpenAI-compatible address that ends in /v1, or submit a literal plan",
            )
        try:
            async for attempt in stamina.retry_context(
                on=lambda error: self._wait(error, request),
                attempts=ATTEMPTS,
                timeout=None,
                wait_initial=self._pause,
                wait_max=60.0,
                wait_jitter=self._pause,
            ):
                with attempt:
                    return await self._once(prompt, request)
        except _PassingError as failure:
            raise failure.error from failure
        raise AssertionError("stamina either returns or raises")

    def _wait(self, error: Exception, request: ThoughtRequest) -> bool | float:
        """Whether to ask again, and after how many seconds."""
        if not isinstance(error, _PassingError):
            return False
        after = error.after or 0.0
        again = after <= min(LONGEST_WAIT, _left(request))
        _log.warning("the model was not to be had", reason=str(error), again=again, thought=request.thought_id)
        return again if error.after is None else again and error.after

    async def _once(self, prompt: Prompt, request: ThoughtRequest) -> Reply:
        left = _left(request)
        if left <= 0:
            raise HaltpointError(
                "HP-307", f"{self._where} was not asked in time", "the deadline has passed", "Give the task more time"
            )
        body = self._body(prompt, request)
        status, headers, text = await self._post(body, request, min(self._settings.timeout, left))
        if status in _REFUSED and not self._plainly and any(name in body for name in _OPTIONAL):
            plain = {name: value for name, value in body.items() if name not in _OPTIONAL}
            status, headers, text = await self._post(plain, request, min(self._settings.timeout, max(left, 1.0)))
            if status == _OK:
                _log.warning("the model's server refuses some parameters; they are left out from now on")
                self._plainly = True
        reply = self._judge(status, headers, text)
        return replace(reply, usage=reply.usage.model_copy(update={"model": self.chosen(request)}))

    def _body(self, prompt: Prompt, request: ThoughtRequest) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.chosen(request), "messages": list(prompt.messages)}
        if prompt.tools:
            body["tools"] = list(prompt.tools)
        if self._plainly:
            return body
        if prompt.tools:
            body["tool_choice"] = "required" if prompt.force else "auto"
        if prompt.schema is not None:
            strict = request.kind in (
                ThoughtKind.INTENT,
                ThoughtKind.PLAN,
            )  # a tool's own schema may use what strict servers refuse
            form = {"name": request.kind.value, "strict": strict, "schema": prompt.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        # A model that said the wrong thing would say it again: the second time it may vary.
        return body | {"temperature": 0 if request.attempt == 1 else 0.4, "max_tokens": self._settings.max_tokens}

    async def _post(
        self, body: Mapping[str, Any], request: ThoughtRequest, seconds: float
    ) -> tuple[int, httpx.Headers, str]:
        try:
            async with self._http.stream(
                "POST",
                f"{(self._settings.base_url or '').rstrip('/')}/chat/completions",
                content=json.dumps(body, ensure_ascii=True).encode(),
                headers={**self._headers(), **_who_asks(request)},
                timeout=seconds,
            ) as response:
                read = bytearray()
                async for part in response.aiter_bytes():
                    read += part
                    if len(read) > MAX_REPLY:
                        raise self._unreadable(f"it is longer than {MAX_REPLY} bytes")
                return response.status_code, response.headers, read.decode(errors="replace")
        except httpx.TimeoutException as error:
            raise _PassingError(self._away(f"no answer within {seconds:g} s")) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise _PassingError(self._away(str(error) or type(error).__name__)) from error
        except (httpx.InvalidURL, ValueError) as error:
            raise self._away(str(error)) from error

    def _judge(self, status: int, headers: httpx.Headers, text: str) -> Reply:
        if status == _OK:
            reply = read_reply(text)
            if reply is None:
                raise self._unreadable(f"it begins with {text[:60]!r}")
            return reply
        words = f"HTTP {status} {self._without_key(_message_in(text))}".strip()
        if status in (401, 403):
            raise HaltpointError("HP-303", f"{self._where} refuses us", words, "Check HALTPOINT_MODEL__API_KEY")
        if status in (408, 409, 425, 429) or status >= 500:
            fix = "Try again later, or use another model"
            error = HaltpointError("HP-305", f"{self._where} does not answer", words, fix)
            raise _PassingError(error, _retry_after(headers))
        fix = f"Check the address and the model's name ({self._settings.name or 'none is set'})"
        raise HaltpointError("HP-304", f"{self._where} refuses the question", words, fix)

    def _headers(self) -> dict[str, str]:
        key = self._settings.api_key
        headers = {"Content-Type": "application/json"}
        return headers if key is None else headers | {"Authorization": f"Bearer {key.get_secret_value()}"}

    @property
    def _where(self) -> str:
        parts = urlsplit(self._settings.base_url or "")
        return f"the model's server {parts.netloc.rpartition('@')[2]}"

    def _away(self, why: str) -> HaltpointError:
        fix = "Start it, or correct HALTPOINT_MODEL__BASE_URL"
        return HaltpointError("HP-302", f"{self._where} cannot be reached", self._without_key(why), fix)

    def _unreadable(self, why: str) -> HaltpointError:
        fix = "Check that HALTPOINT_MODEL__BASE_URL is an OpenAI-compatible address ending in /v1"
        return HaltpointError("HP-306", f"the answer of {self._where} is no chat completion", why, fix)

    def _without_key(self, text: str) -> str:
        key = self._settings.api_key
        return text if key is None or not key.get_secret_value() else text.replace(key.get_secret_value(), "***")


def _who_asks(request: ThoughtRequest) -> dict[str, str]:
    """The headers that say what is asked for; no step for plans and answers."""
    step = {} if request.step_id is None else {"X-Haltpoint-Step": request.step_id}
    return {
        "X-Haltpoint-Thought": request.kind.value,
        "X-Haltpoint-Chain": chain_of(request.thought_id),
        **step,
        "X-Haltpoint-Turn": str(request.turn),
        "X-Haltpoint-Attempt": str(request.attempt),
    }


def _left(request: ThoughtRequest) -> float:
    """Seconds until the thought is of no use."""
    return request.deadline / 1000 - time.time()


def _retry_after(headers: httpx.Headers) -> float | None:
    """Seconds to wait, from a number or a date; None when the header is missing or makes no sense."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", value):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def _message_in(text: str) -> str:
    """A server's own words about an error, from the usual places or from the start of the body."""
    try:
        error = json.loads(text).get("error")
        found = error.get("message") if isinstance(error, dict) else error
    except (ValueError, AttributeError, RecursionError):
        found = None
    return " ".join(str(found or text).split())[:_SHOWN]
