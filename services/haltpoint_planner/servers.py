"""The server or provider of a model, as its errors name it: what it does, and the setting that
helps.
"""

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from haltpoint.contracts.work.agents import ModelEndpoint
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import ModelSettings

_SHOWN: Final = 300
"""Characters of a server's own words in an error."""

_WORDS: Final = ("message", "msg", "detail", "error_message")
"""Where they say what is wrong."""

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


class Server:
    """The server of the configured model, or of a `section` of the agents file."""

    def __init__(self, settings: ModelSettings, section: str | None = None) -> None:
        host = urlsplit(settings.base_url or "").netloc.rpartition("@")[2]
        self._who = (
            f"server {host}" if settings.provider is None else f"provider {settings.provider}"
        )
        self._key = settings.api_key.get_secret_value() if settings.api_key else ""
        self._section = section

    def error(self, code: str, why: str, fix: str = "") -> HaltpointError:
        """An error of the server, whose words may repeat the key; `fix` if it is known better."""
        does, helps = _ERRORS[code]
        if self._key:
            why = why.replace(self._key, "***")
        why = " ".join(why.split())[:_SHOWN].rstrip(".")
        settings = {field: self._setting(field) for field in ModelSettings.model_fields}
        fix = (fix or helps).format(**settings)
        return HaltpointError(code, f"the model's {self._who} {does}", why, fix)

    def too_slow(self, seconds: float, setting: str) -> HaltpointError:
        """It took longer than a setting allows."""
        what = "sent nothing" if setting == "silence" else "did not end its reply"
        return self.error("HP-307", f"it {what} for {seconds:g} s", f"Raise {{{setting}}}")

    def _setting(self, field: str) -> str:
        if self._section is None:
            return f"HALTPOINT_MODEL__{field.upper()}"
        own = "api_key_env" if field == "api_key" else field
        if own in ModelEndpoint.__struct_fields__:
            return f"{own} of [models.{self._section}]"
        return f"HALTPOINT_MODEL__{field.upper()}"


def own_words(body: Any) -> str:
    """The message in the body of an error; empty where there is no message."""
    return next((words for error in errors_in(body) for words in _words_in(error)), "")


def errors_in(body: Any) -> Iterator[Any]:
    """What a body, or each of a list of them, has about an error."""
    for part in body if isinstance(body, list) else [body]:
        if isinstance(part, dict) and part.get("error"):
            yield part["error"]
        elif isinstance(part, dict) and "choices" not in part:
            yield part


def _words_in(error: Any) -> Iterator[str]:
    if isinstance(error, str):
        yield error
    elif isinstance(error, list):
        for part in error:
            yield from _words_in(part)
    elif isinstance(error, dict):
        for name in _WORDS:
            yield from _words_in(error.get(name))
