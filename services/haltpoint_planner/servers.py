"""The server or provider of a model, as its errors name it: what it does, and the setting that
helps.
"""

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

_WORDS: Final = (
    *("metadata", "raw"),  # of a provider behind a router
    *("message", "msg", "detail", "error"),
    *("code", "param", "loc", "type"),
)
"""Where they say what is wrong, the clearest first; notes and warnings stand elsewhere."""

_PASSES: Final = frozenset({0, 408, 409, 425, 429, 498, 500, *range(502, 600)})
"""An error without its own status is not known to last."""
_SPENT: Final = re.compile(
    r"(?is)402|(?:400|403|429) (?!.*(?:retry|again|rate.?limit|per.?(?:min|hour|day)))"
    r".*(?:billing (?:details|hard)|credit balance|available credits|current quota|spending limit"
    r"|insufficient.?(?:quota|balance|fund|credit))"
)
"""An account that is empty, with words that say nothing of another try."""
_OF_A_KEY: Final = re.compile(
    r"(?is)401|400 .*api.?key\b"
    r"|403 (?:\Z|<|.*(?:\bkeys?\b|api.?key|token|auth|permission|credential|denied|forbidden))"
)
_TOO_LONG: Final = re.compile(
    r"(?i)\A413|(?:\A|[.\n])(?![^.\n]*(?:rate.?limit|per (?:min|day)))"
    r"(?=[^.\n]*(?:prompt|input|message|conversation|history|sequence|query|total|model token)"
    r"|(?![^.\n]*max_\w*tokens)[^.\n]*context)"
    r"(?=[^.\n]*(?:length|long|large|size|window|token|limit|overflow))"
    r"(?=[^.\n]*(?:exceed|maxim|limit|too |than|must be|should be|reduce|overflow|only))"
)
"""A prompt that is longer than a server takes: one sentence names it, its measure and a bound."""
_LATER: Final = re.compile(r"(?i)retry|again")
_LASTING: Final = re.compile(
    r"(?i)\A(?:3|403)|model.{0,80}(?:not found|does not exist|retired|decommissioned)"
    r"|(?:no such|unknown|invalid) model|content.?(?:filter|management policy)|flagged"
)
"""Another address, a question that may not be asked, a model that is not there, or words about what
the prompt says: no part of it helps.
"""

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
        told = list(filter(None, _words_in(body)))
        page = "with a page of HTML" if text.lstrip().startswith("<") else text
        words = [*told, page or "without a reason"][0]
        why = f"HTTP {status} {words}" if status else words
        said = "\n".join(told) or text
        about = f"{status} {said}"
        if _SPENT.match(f"{status} {text}") and not after:
            return self.error("HP-304", why, _PAY)
        has_key = about.startswith("403") and self._key and self._key in words
        if has_key or _OF_A_KEY.match(about):
            return self.error("HP-303", why)
        is_too_long = _TOO_LONG.search(about)
        if status in _PASSES and not (is_too_long and not _LATER.search(words)):
            return PassingError(self.error("HP-305", why), after)
        refused = self.error("HP-304", why)
        if is_too_long:
            return TooLongError(refused, text)
        return refused if _LASTING.search(about) else RefusedError(refused, said)

    def setting(self, field: str) -> str:
        """The name of a setting of this model."""
        own = "api_key_env" if field == "api_key" else field
        if self._section is not None and own in ModelEndpoint.__struct_fields__:
            return f"{own} of [models.{self._section}]"
        return f"HALTPOINT_MODEL__{field.upper()}"


def _words_in(said: Any) -> Iterator[str]:
    """What a body says of its error, piece by piece."""
    if isinstance(said, str):
        yield said
    elif isinstance(said, list):
        for part in said:
            yield from _words_in(part)
    elif isinstance(said, dict):
        for name in _WORDS:
            yield from _words_in(said.get(name))
