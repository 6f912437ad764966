"""Results in the older style (CONTRACT B7): a dict that says by its own keys that the call failed,
or that a person is to be asked first. It is read into the form of section B; what it does not say
so plainly is data.
"""

from collections.abc import Mapping
from typing import Any, Final

from haltpoint.chain.model.canonical import words_of
from haltpoint.contracts.results import ErrorType, NextAction
from haltpoint_tool_worker.results.reading import MESSAGE

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
    match fields:
        case {
            "requires_confirmation": True,
            "action": str(),
            "message": str(),
            "target": str() | Mapping(),
        }:
            return _asked(fields)
        case {"success": False}:
            return _failed(fields)
        case {"ok": False} | {"is_error": True} if fields.get("error") or fields.get("message"):
            return _failed(fields)
        case _:
            return None


def _in_snake_case(raw: Mapping[Any, Any]) -> Fields:
    """What is said in snake_case or camelCase, without what is None."""
    return {
        words_of(key): value
        for key, value in raw.items()
        if isinstance(key, str) and value is not None
    }


def _asked(fields: Fields) -> Fields:
    action, target, preview = fields["action"], fields["target"], fields.get("preview")
    if isinstance(target, str):
        target = {"id": target}
    named = {key: str(target[key]) for key in ("id", "name", "type") if target.get(key) is not None}
    confirmation = {
        "action": action,
        "message": fields["message"],
        "target": {"id": named.get("name", action), **named},
        "preview": preview if isinstance(preview, str) else None,
    }
    asked = NextAction.CONFIRMATION_NEEDED
    return {"success": True, "next_action": asked, "confirmation": confirmation}


def _failed(fields: Fields) -> Fields:
    inner = fields.pop("error", None)
    if isinstance(inner, Mapping):  # {"success": false, "error": {"message": ...}}
        fields |= _in_snake_case(inner)
        inner = fields.get("error")
    words = [str(text)[:MESSAGE] for text in (inner, fields.get("message")) if text]
    kind = str(fields.get("error_type")).upper()
    error: Fields = {"error_type": ErrorType.UNKNOWN, "recoverable": True}
    if kind in ErrorType.__members__:
        error = {"error_type": kind}
    details = _DETAILS.items()
    error |= {name: fields[name] for name, form in details if isinstance(fields.get(name), form)}
    error["message"] = ": ".join(dict.fromkeys(words)) or _NO_REASON
    return {"success": False, "next_action": NextAction.ERROR, "error": error}
