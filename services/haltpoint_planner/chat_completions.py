"""OpenAI's chat completions over HTTP, streamed or not."""

import ipaddress
import json
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from haltpoint.contracts.base import JsonObject, chain_of
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint_planner.exchange import Reply
from haltpoint_planner.parsing.completions import (
    DONE,
    EVENTS,
    MAX_REPLY,
    objects_in,
    read_reply,
)
from haltpoint_planner.parsing.streams import errors_in
from haltpoint_planner.servers import PassingError, Server

_OK: Final = 200
_OF_A_REPLY: Final = frozenset({_OK, 400})
"""Groq says with 400 what a model said that it could not read."""
_STATUSES: Final = range(400, 600)
_NUMBER: Final = re.compile(r"\d{1,9}(\.\d{1,6})?")
_RETRY: Final = re.compile(
    r"(?i)(?:retryDelay\W+|retry in |try again in )(\d{1,6}(?:\.\d{1,6})?) ?s"
)
_PATH: Final = "/chat/completions"
_DONE_BYTES: Final = 16
"""More than the mark of the last event has: it may come in two parts."""
_PRIVATE: Final = (".localhost", ".local", ".internal", ".lan", ".home.arpa", ".svc")


@dataclass
class ChatCompletions:
    """The `Send` of one server."""

    settings: ModelSettings
    http: httpx.AsyncClient
    server: Server

    async def send(self, body: JsonObject, request: ThoughtRequest) -> Reply:
        """See `Send`."""
        if self.settings.base_url is None:
            raise HaltpointError(
                "HP-301",
                "the chain needs a model",
                "no HALTPOINT_MODEL__BASE_URL is set",
                "Set it to an OpenAI-compatible address that ends in /v1, or submit a literal plan",
            )
        # A server that sends its reply whole is silent until then.
        silence = self.settings.silence if "stream" in body else self.settings.timeout
        address, mark, query = self.settings.base_url.partition("?")
        url = address.rstrip("/").removesuffix(_PATH) + _PATH + mark + query
        try:
            response, text = await self._post(url, body, self._headers(request), silence)
        except httpx.ReadTimeout as error:
            raise self.server.too_slow(silence, "silence") from error
        except (httpx.LocalProtocolError, UnicodeEncodeError) as error:  # the key is no header
            raise self.server.error("HP-303", str(error)) from error
        except (httpx.UnsupportedProtocol, httpx.InvalidURL, ValueError) as error:
            why = "its address must be complete, such as http://localhost:11434/v1"
            raise self.server.error("HP-302", why) from error
        except (httpx.TransportError, httpx.DecodingError, AttributeError) as error:
            # AttributeError is anyio's, of a connection that was closed while it was opened
            why = str(error) or type(error).__name__
            why = why.replace("All connection attempts failed", "nothing listens there")
            raise PassingError(self.server.error("HP-302", why)) from error
        reply = read_reply(text) if response.status_code in _OF_A_REPLY else None
        if reply is None:
            raise self._failure(response, text)
        return reply

    async def _post(
        self, url: str, body: JsonObject, headers: dict[str, str], silence: float
    ) -> tuple[httpx.Response, str]:
        timeout = httpx.Timeout(silence, connect=self.settings.connect_timeout, pool=None)
        content = json.dumps(body, ensure_ascii=True).encode()
        read = bytearray()
        async with self.http.stream(
            "POST", url, content=content, headers=headers, timeout=timeout
        ) as response:
            async for part in response.aiter_bytes():
                seen = len(read)
                read += part
                if len(read) > MAX_REPLY:
                    raise self.server.error("HP-306", f"it is longer than {MAX_REPLY} bytes")
                if DONE.search(read, max(0, seen - _DONE_BYTES)):
                    break
        return response, read.decode("utf-8-sig", errors="replace")

    def _failure(self, response: httpx.Response, text: str) -> Exception:
        """What it means that there is no reply."""
        status = response.status_code
        body = objects_in(text)
        if status == _OK:
            errors = errors_in(body)
            is_one = EVENTS.match(text) or any("choices" in part for part in body)
            if not errors and text and not is_one:
                return self.server.error("HP-306", f"it begins with {text[:60]!r}")
            if not errors:
                return PassingError(self.server.error("HP-305", "its reply is not whole"))
            # The status that a server gives an error inside of its reply; 0 where it gives none.
            about = errors[0].get("error", errors[0])
            code: Any = about.get("code") if isinstance(about, dict) else None
            status = code if code in _STATUSES else 0
        after = _retry_after(response.headers, text)
        return self.server.failure(status, body, text, after)

    def _headers(self, request: ThoughtRequest) -> dict[str, str]:
        """The key, and what is asked for, if its server may know that; no step for plans and
        answers.
        """
        headers = {"Content-Type": "application/json"}
        key = self.settings.api_key
        if key is not None:
            headers["Authorization"] = f"Bearer {key.get_secret_value()}"
        host = urlsplit(self.settings.base_url or "").hostname or ""
        told = self.settings.headers
        if told == "never" or (told == "auto" and not _is_private(host)):
            return headers
        about = {
            "Thought": request.kind.value,
            "Chain": chain_of(request.thought_id),
            "Step": request.step_id,
            "Turn": request.turn,
            "Attempt": request.attempt,
        }
        for name, value in about.items():
            if value is not None:
                headers[f"X-Haltpoint-{name}"] = str(value)
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


def _retry_after(headers: httpx.Headers, text: str) -> float:
    """Seconds to wait, as headers or body say; 0 where neither does."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        value = headers.get(name, "")
        if _NUMBER.fullmatch(value):
            return float(value) / unit
    with suppress(ValueError, OverflowError):
        date = parsedate_to_datetime(headers.get("retry-after", ""))
        return max(0.0, date.timestamp() - time.time())
    told = _RETRY.search(text)
    return float(told[1]) if told else 0.0
