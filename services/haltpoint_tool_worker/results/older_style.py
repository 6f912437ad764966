"""Results in the older style (CONTRACT B7): a dict that says by its own keys that the call failed, or that a person is
to be asked first. It is read into the form of section B; what it does not say so plainly is data.
"""

from collections.abc import Mapping
from typing import Any, Final

from haltpoint.chain.model.canonical import words_of
from haltpoint.contracts.results import ErrorType, NextAction
from haltpoint_tool_worker.results.failures import MESSAGE

KNOWN: Final = frozenset(
    ("success", "ok", "isError", "is_error", "error", "requires_confirmation", "requiresConfirmation")
)
"""The keys by which a result speaks of itself: one without any of them is data."""

_WORDS = ("error", "message")
_ABOUT: Final = frozenset(
    ("success", "ok", "is_error", "error", "message", "error_type", "type", "suggestion", "hint", "recoverable", "code",
     "error_code", "status", "status_code", "details", "detail", "error_description", "invalid_fields", "retry_after",
     "no_effect", "timestamp", "path", "request_id", "trace_id")
)  # fmt: skip
"""The keys of an error, in any case: a text as `error` beside another key is data."""


def in_older_style(raw: Mapping[Any, Any], declared: frozenset[str]) -> dict[str, Any] | None:
    """The fields of an outcome that `raw` stands for; None when it is data.

    `declared` are the fields of the tool's own result type: those are data, whatever they are called. Where there are
    none, a text as `error`, or an object with a `message`, with nothing but an error beside it says that the call
    failed, unless `success`, `ok` or `isError` says that it did not.
    """
    said = {key: raw[key] for key in raw if isinstance(key, str) and key not in declared}
    if _first(said, "requires_confirmation", "requiresConfirmation") is True and (asked := _confirmation(said)):
        return {"success": True, "next_action": NextAction.CONFIRMATION_NEEDED, "confirmation": asked}
    failed = said.get("ok") is False or _first(said, "isError", "is_error") is True
    fine = said.get("success") is True or said.get("ok") is True or _first(said, "isError", "is_error") is False
    about = {words_of(key) for key, value in said.items() if value is not None}
    text = said.get("error") if about <= _ABOUT and not (declared or fine) else None
    words = text.get("message") if isinstance(text, Mapping) else text
    alone = isinstance(words, str) and words.strip() != ""
    if said.get("success") is False or alone or (failed and any(said.get(key) for key in _WORDS)):
        return {"success": False, "next_action": NextAction.ERROR, "error": _error(said)}
    return None


def _confirmation(said: Mapping[str, Any]) -> dict[str, Any] | None:
    action, target, message = (said.get(key) for key in ("action", "target", "message"))
    if isinstance(target, str):
        target = {"id": target}
    if not (isinstance(action, str) and isinstance(target, Mapping) and isinstance(message, str)):
        return None
    told = {key: str(value) for key in ("id", "name", "type") if (value := target.get(key)) is not None}
    preview = said.get("preview")
    found = {"action": action, "target": {"id": told.get("name", action), **told}, "message": message}
    return {**found, "preview": preview} if isinstance(preview, str) else found


def _error(said: Mapping[str, Any]) -> dict[str, Any]:
    inner = said.get("error")
    if isinstance(inner, Mapping):  # {"success": false, "error": {"message": ..., "error_type": ...}}
        said = {**said, **{key: value for key, value in inner.items() if isinstance(key, str)}, "error": None}
    words = dict.fromkeys(str(value)[:MESSAGE] for key in _WORDS if (value := said.get(key)))
    kind = str(_first(said, "error_type", "errorType")).upper()
    typed = kind in ErrorType.__members__
    fields = _first(said, "invalid_fields", "invalidFields")
    after = _first(said, "retry_after", "retryAfter")
    usable = isinstance(after, int | float) and not isinstance(after, bool) and 0 <= after < float("inf")
    recoverable, suggestion = said.get("recoverable"), said.get("suggestion")
    return {
        "error_type": kind if typed else ErrorType.UNKNOWN,
        "message": ": ".join(words) or "the tool reported a failure without a reason",
        "recoverable": recoverable if isinstance(recoverable, bool) else None if typed else True,
        "suggestion": suggestion[:MESSAGE] if isinstance(suggestion, str) else None,
        "invalid_fields": [str(one)[:MESSAGE] for one in fields[:50]] if isinstance(fields, list | tuple) else [],
        "retry_after": after if usable else None,
        "no_effect": True if _first(said, "no_effect", "noEffect") is True else None,
    }


def _first(said: Mapping[str, Any], *names: str) -> Any:
    return next((said[name] for name in names if said.get(name) is not None), None)
