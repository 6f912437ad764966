"""Results in the older style (CONTRACT B7): a dict that says by its own keys that the call failed,
or that a person is to be asked first. It is read into the form of section B; what it does not say
so plainly is data.
"""

from collections.abc import Mapping
from typing import Any, Final

from haltpoint.chain.model.canonical import words_of
from haltpoint.contracts.results import ErrorType, NextAction
from haltpoint_tool_worker.results.failures import MESSAGE

_KNOWN: Final = frozenset(
    ("success", "ok", "isError", "is_error", "requires_confirmation", "requiresConfirmation")
)
"""The keys by which a result speaks of itself: one without any of them is data."""
_DETAILS: Final = {"recoverable": bool, "suggestion": str, "no_effect": bool}
"""What else is read of an error."""
_NO_REASON: Final = "the tool reported a failure without a reason"

Fields = dict[str, Any]


def in_older_style(raw: Mapping[Any, Any]) -> Fields | None:
    """The fields of an outcome that `raw` stands for; None when it is data."""
    if _KNOWN.isdisjoint(raw):
        return None
    fields = _in_snake_case(raw)
    if fields.get("requires_confirmation") is True:
        confirmation = _confirmation(fields)
        if confirmation is not None:
            asked = NextAction.CONFIRMATION_NEEDED
            return {"success": True, "next_action": asked, "confirmation": confirmation}
    if not _has_failed(fields):
        return None
    return {"success": False, "next_action": NextAction.ERROR, "error": _error(fields)}


def _has_failed(fields: Fields) -> bool:
    if fields.get("success") is False:
        return True
    is_fault = fields.get("ok") is False or fields.get("is_error") is True
    return is_fault and bool(fields.get("error") or fields.get("message"))


def _in_snake_case(raw: Mapping[Any, Any]) -> Fields:
    """What is said in snake_case or camelCase, without what is None."""
    given = {key: value for key, value in raw.items() if isinstance(key, str)}
    return {words_of(key): value for key, value in given.items() if value is not None}


def _confirmation(fields: Fields) -> Fields | None:
    action, message, target = fields.get("action"), fields.get("message"), fields.get("target")
    if isinstance(target, str):
        target = {"id": target}
    is_text = isinstance(action, str) and isinstance(message, str)
    if not is_text or not isinstance(target, Mapping):
        return None
    about = {key: str(target[key]) for key in ("id", "name", "type") if target.get(key) is not None}
    about.setdefault("id", about.get("name", str(action)))
    preview = fields.get("preview")
    shown = preview if isinstance(preview, str) else None
    return {"action": action, "target": about, "message": message, "preview": shown}


def _error(fields: Fields) -> Fields:
    inner = fields.pop("error", None)
    if isinstance(inner, Mapping):  # {"success": false, "error": {"message": ...}}
        fields |= _in_snake_case(inner)
        inner = fields.get("error")
    words = [str(text)[:MESSAGE] for text in (inner, fields.get("message")) if text]
    kind = str(fields.get("error_type")).upper()
    error: Fields = {"error_type": ErrorType.UNKNOWN, "recoverable": True}
    if kind in ErrorType.__members__:
        error = {"error_type": kind}
    for name, form in _DETAILS.items():
        if isinstance(fields.get(name), form):
            error[name] = fields[name]
    return {**error, "message": ": ".join(dict.fromkeys(words)) or _NO_REASON}
