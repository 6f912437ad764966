"""The server or provider of a model, as its errors name it: what it does, and the setting that
helps.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.work.agents import ModelEndpoint
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import ModelSettings

_SHOWN: Final = 300
"""Characters of a server's own words in an error."""

_WORDS: Final = ("message", "msg", "detail")
"""Where they say what is wrong."""

_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_TOO_LARGE: Final = 413
_OF_NO_PART: Final = frozenset({*range(300, 400), _FORBIDDEN})
"""Statuses that say nothing of parts: another address, or a question that may not be asked."""
_PAYMENT_REQUIRED: Final = 402
_OF_AN_ACCOUNT: Final = frozenset({400, 403, 429})
"""Statuses that some providers give where others say that a payment is required."""
_PASSES: Final = frozenset({0, 408, 409, 425, 429, 498, 500, *range(502, 600)})
"""An error without its own status is not known to last."""
_SPENT: Final = re.compile(
    r"(?is)\A(?!.*(?:retry|again|rate.?limit|per.?(?:min|hour|day)))"
    r".*(?:billing (?:details|hard)|credit balance|available credits|current quota|spending limit"
    r"|insufficient.?(?:quota|balance|fund|credit))"
)
"""Words about an account that say nothing of another try."""
_TOO_LONG: Final = re.compile(
    r"(?is)context.{0,20}(?:length|size|window|overflow|limit)|must be reduced|reduce the length"
    r"|maximum number of tokens|(?:request|prompt|input|context).{0,40}too (?:long|large)"
)
"""Words about a prompt that is longer than a server takes."""
_LATER: Final = re.compile(r"(?i)retry|again")
_OF_A_KEY: Final = re.compile(
    r"(?i)\bkeys?\b|api.?key|token|auth|permission|credential|access denied"
)
_LASTING: Final = re.compile(
    r"(?i)model.{0,80}(?:not found|does not exist)|(?:no such|unknown|invalid) model"
    r"|content.?(?:filter|management policy)|flagged"
)
"""Words about a model that is not there, or about what the prompt says: no part of it helps."""

_ERRORS: Final = {
    "HP-302": ("cannot be reached", "Start it, or correct {base_url}"),
    "HP-303": ("rejects the key", "Check {api_key}"),
    "HP-304": ("rejects the request", "Check {base_url} and {name}"),
    "HP-305": ("answered with an error", "Try again later, or use another model"),
    "HP-306": (
        "did not reply with a chat completion",
        "Check that {base_url} is an OpenAI-compatible address ending in /v1",
    ),
    "HP-307": ("is too slow", "Raise {timeout}"),
    "HP-310": ("cannot be used", "Correct {provider}"),
}
"""What it does, and what helps, with the names of the settings."""
_PAY: Final = "Pay its provider, or set {api_key} and {base_url} to another one"


class PassingError(HaltpointError):
    """There is no reply now, and there may be one later; `after` so many seconds, as the provider
    asks.
    """

    def __init__(self, error: HaltpointError, after: float = 0.0) -> None:
        super().__init__(*error.args)
        self.after = after


class RefusedError(HaltpointError):
    """The provider does not take the question as it is; `words` are its own about that, whole."""

    def __init__(self, error: HaltpointError, words: str) -> None:
        super().__init__(*error.args)
        self.words = words


class TooLongError(RefusedError):
    """The prompt is longer than the model or its server takes."""


class Server:
    """The server of the configured model, or of a `section` of the agents file."""

    def __init__(self, settings: ModelSettings, section: str | None = None) -> None:
        url = settings.base_url or ""
        host = urlsplit(url).netloc.rpartition("@")[2] or url
        provider = settings.provider
        self._who = f"server {host}" if provider is None else f"provider {provider}"
        self._key = settings.api_key.get_secret_value() if settings.api_key else ""
        self._section = section

    def error(self, code: str, why: str, fix: str = "") -> HaltpointError:
        """An error of the server, whose words may repeat the key; `fix` if it is known better."""
        does, helps = _ERRORS[code]
        if self._key:
            why = why.replace(self._key, "***")
        why = " ".join(why.split())[:_SHOWN].rstrip(".")
        settings = {field: self.setting(field) for field in ModelSettings.model_fields}
        fix = (fix or helps).format(**settings)
        return HaltpointError(code, f"the model's {self._who} {does}", why, fix)

    def too_slow(self, seconds: float, setting: str) -> PassingError:
        """It took longer than a setting allows."""
        what = "sent nothing" if setting == "silence" else "did not end its reply"
        error = self.error("HP-307", f"it {what} for {seconds:g} s", f"Raise {{{setting}}}")
        return PassingError(error)

    def failure(
        self, status: int, body: Sequence[JsonObject], text: str, after: float
    ) -> Exception:
        """What an answer with this status means; 0 where it has none. `body` is the JSON of the
        answer, `text` all of it.
        """
        errors = list(map(_error_in, body))
        page = "with a page of HTML" if text.lstrip().startswith("<") else text
        words = next(_words_in(errors), "") or page or "without a reason"
        why = f"HTTP {status} {words}" if status else words
        is_spent = status in _OF_AN_ACCOUNT and not after and _SPENT.match(text)
        if is_spent or status == _PAYMENT_REQUIRED:
            return self.error("HP-304", why, _PAY)
        is_of_a_key = (
            not any(errors) or _OF_A_KEY.search(words) or (self._key and self._key in words)
        )
        if status == _UNAUTHORIZED or (status == _FORBIDDEN and is_of_a_key):
            return self.error("HP-303", why)
        said = json.dumps(errors) if any(errors) else text
        is_too_long = status == _TOO_LARGE or _TOO_LONG.search(said)
        if status in _PASSES and not (is_too_long and not _LATER.search(words)):
            return PassingError(self.error("HP-305", why), after)
        refused = self.error("HP-304", why)
        if is_too_long:
            return TooLongError(refused, said)
        if status in _OF_NO_PART or _LASTING.search(said):
            return refused
        return RefusedError(refused, said)

    def setting(self, field: str) -> str:
        """The name of a setting of this model."""
        own = "api_key_env" if field == "api_key" else field
        if self._section is not None and own in ModelEndpoint.__struct_fields__:
            return f"{own} of [models.{self._section}]"
        return f"HALTPOINT_MODEL__{field.upper()}"


def _error_in(part: JsonObject) -> Any:
    """What a part of a body says of its error, without the notes and warnings beside it."""
    return part.get("error") or {name: part[name] for name in _WORDS if name in part}


def _words_in(said: Any) -> Iterator[str]:
    if isinstance(said, str):
        yield said
    elif isinstance(said, list):
        for part in said:
            yield from _words_in(part)
    elif isinstance(said, dict):
        for name in _WORDS:
            yield from _words_in(said.get(name))
