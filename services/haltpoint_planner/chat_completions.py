"""OpenAI's chat completions over HTTP, streamed or not."""

import ipaddress
import json
import re
import time
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import urlsplit

import httpx

from haltpoint.contracts.base import chain_of
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint_planner.exchange import Reply
from haltpoint_planner.model import Body, PassingError, RefusedError
from haltpoint_planner.parsing.replies import MAX_REPLY, read_reply
from haltpoint_planner.servers import Server, errors_in, own_words
from haltpoint_planner.streamed import DONE, is_stream, whole

_OK: Final = 200
_KEY_REJECTED: Final = frozenset({401, 403})
_REFUSED: Final = frozenset({400, 413, 422, 501})
_PASSES: Final = frozenset({408, 409, 425, 429})
_FAILING: Final = 500
_STATUSES: Final = range(400, 600)
_NUMBER: Final = re.compile(r"\d{1,9}(\.\d{1,6})?")
_DONE_BYTES: Final = 16
"""More than the mark of the last event has: it may come in two parts."""
_PRIVATE: Final = (".localhost", ".local", ".internal", ".lan", ".home.arpa", ".svc")


class ChatCompletions:
    """The `Send` of one server."""

    def __init__(self, settings: ModelSettings, http: httpx.AsyncClient, server: Server) -> None:
        self._settings = settings
        self._http = http
        self._server = server

    async def send(self, body: Body, request: ThoughtRequest) -> Reply:
        """See `Send`."""
        if self._settings.base_url is None:
            raise HaltpointError(
                "HP-301",
                "the chain needs a model",
                "no HALTPOINT_MODEL__BASE_URL is set",
                "Set it to an OpenAI-compatible address that ends in /v1, or submit a literal plan",
            )
        # A server that sends its reply whole is silent until then.
        silence = self._settings.silence if "stream" in body else self._settings.timeout
        try:
            status, headers, text = await self._post(body, request, silence)
        except httpx.ReadTimeout as error:
            raise PassingError(self._server.too_slow(silence, "silence")) from error
        except (httpx.LocalProtocolError, UnicodeEncodeError) as error:  # the key is no header
            raise self._server.error("HP-303", str(error)) from error
        except (httpx.UnsupportedProtocol, httpx.InvalidURL, ValueError) as error:
            raise self._server.error("HP-302", str(error)) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            why = str(error) or type(error).__name__
            raise PassingError(self._server.error("HP-302", why)) from error
        return self._read(status, headers, text)

    async def _post(
        self, body: Body, request: ThoughtRequest, silence: float
    ) -> tuple[int, httpx.Headers, str]:
        timeout = httpx.Timeout(silence, connect=self._settings.connect_timeout, pool=None)
        url = f"{(self._settings.base_url or '').rstrip('/')}/chat/completions"
        content = json.dumps(body, ensure_ascii=True).encode()
        headers = self._headers(request)
        read = bytearray()
        async with self._http.stream(
            "POST", url, content=content, headers=headers, timeout=timeout
        ) as response:
            async for part in response.aiter_bytes():
                seen = len(read)
                read += part
                if len(read) > MAX_REPLY:
                    raise self._server.error("HP-306", f"it is longer than {MAX_REPLY} bytes")
                if DONE.search(read, max(0, seen - _DONE_BYTES)):
                    break
            return response.status_code, response.headers, read.decode(errors="replace")

    def _read(self, status: int, headers: httpx.Headers, text: str) -> Reply:
        if status == _OK and is_stream(text):
            answer = whole(text)
            text = json.dumps(answer) if answer else ""
        if status == _OK and not text:
            raise PassingError(self._server.error("HP-305", "its reply broke off"))
        words, code = _error_in(text)
        if status != _OK:
            raise self._failure(status, headers, words, text)
        reply = read_reply(text)
        if reply is not None:
            return reply
        if words:
            raise self._failure(code, headers, words, text)
        raise self._server.error("HP-306", f"it begins with {text[:60]!r}")

    def _failure(self, status: int, headers: httpx.Headers, words: str, text: str) -> Exception:
        """What a status means, of the reply or of the error in it, which need not have one."""
        why = f"HTTP {status} {words or text or 'without a reason'}" if status else words
        if status in _KEY_REJECTED:
            return self._server.error("HP-303", why)
        if status in _REFUSED:
            return RefusedError(self._server.error("HP-304", why), text)
        if not status or status in _PASSES or status >= _FAILING:
            return PassingError(self._server.error("HP-305", why), _retry_after(headers))
        return self._server.error("HP-304", why)

    def _headers(self, request: ThoughtRequest) -> dict[str, str]:
        """The key, and what is asked for, if its server may know that; no step for plans and
        answers.
        """
        headers = {"Content-Type": "application/json"}
        key = self._settings.api_key
        if key is not None:
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


def _is_private(host: str) -> bool:
    """Whether a host is on this machine or in its own network, as far as its name or address
    says.
    """
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        name = host.rstrip(".")
        return "." not in name or name.endswith(_PRIVATE)


def _retry_after(headers: httpx.Headers) -> float:
    """Seconds to wait, from a number or a date; 0 when the header is missing or makes no sense."""
    value = headers.get("retry-after", "").strip()
    milliseconds = headers.get("retry-after-ms", "").strip()
    if _NUMBER.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    if _NUMBER.fullmatch(value):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0.0


def _error_in(text: str) -> tuple[str, int]:
    """A server's own words about an error, and the status that it gives it, if any; a body that is
    none has no words.
    """
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return "", 0
    errors = list(errors_in(body))
    codes = [error.get("code") for error in errors if isinstance(error, dict)]
    status = next((code for code in codes if isinstance(code, int) and code in _STATUSES), 0)
    return own_words(body), status
