"""Results in the older style (CONTRACT B7): a dict that says by its own keys that the call failed,
or that a person is to be asked first. It is read into the form of section B; what it does not say
so plainly is data.
"""

from collections.abc import Mapping
from typing import Any, Final

from haltpoint.chain.model.canonical import words_of
from haltpoint.contracts.results import ErrorType, NextAction
from haltpoint_tool_worker.results.failures import MESSAGE

KNOWN: Final = frozenset(
    ("success", "ok", "isError", "is_error", "requires_confirmation", "requiresConfirmation")
)
"""The keys by which a result speaks of itself: one without any of them is data."""
_NO_REASON: Final = "the tool reported a failure without a reason"

Fields = dict[str, Any]


def in_older_style(raw: Mapping[Any, Any], declared: frozenset[str]) -> Fields | None:
    """The fields of an outcome that `raw` stands for; None when it is data.

    `declared` are the fields of the tool's own result type: those are data, whatever they are
    called.
    """
    fields = _in_snake_case(raw, declared)
    if fields.get("requires_confirmation") is True:
        confirmation = _confirmation(fields)
        if confirmation is not None:
            asked = NextAction.CONFIRMATION_NEEDED
            return {"success": True, "next_action": asked, "confirmation": confirmation}
    has_words = bool(fields.get("error") or fields.get("message"))
    is_fault = fields.get("ok") is False or fields.get("is_error") is True
    if fields.get("success") is False or (is_fault and has_words):
        return {"success": False, "next_action": NextAction.ERROR, "error": _error(fields)}
    return None


def _in_snake_case(raw: Mapping[Any, Any], declared: frozenset[str]) -> Fields:
    """What is said in snake_case or camelCase, without what is None."""
    fields = {}
    for key, value in raw.items():
        if isinstance(key, str) and key not in declared and value is not None:
            fields[words_of(key)] = value[:MESSAGE] if isinstance(value, str) else value
    return fields


def _confirmation(fields: Fields) -> Fields | None:
    action, message, target = fields.get("action"), fields.get("message"), fields.get("target")
    if isinstance(target, str):
        target = {"id": target}
    if not isinstance(target, Mapping) or not _are_texts(action, message):
        return None
    about = {key: str(target[key]) for key in ("id", "name", "type") if target.get(key) is not None}
    about.setdefault("id", about.get("name", str(action)))
    confirmation: Fields = {"action": action, "target": about, "message": message}
    if _are_texts(fields.get("preview")):
        confirmation["preview"] = fields["preview"]
    return confirmation


def _error(fields: Fields) -> Fields:
    inner = fields.pop("error", None)
    if isinstance(
        inner, Mapping
    ):  # {"success": false, "error": {"message": ..., "error_type": ...}}
        fields |= _in_snake_case(inner, frozenset())
        inner = fields.get("error")
    words = [str(text)[:MESSAGE] for text in (inner, fields.get("message")) if text]
    kind = str(fields.get("error_type")).upper()
    is_typed = kind in ErrorType.__members__
    names = fields.get("invalid_fields")
    usable = {
        "recoverable": isinstance(fields.get("recoverable"), bool),
        "suggestion": _are_texts(fields.get("suggestion")),
        "retry_after": _is_time(fields.get("retry_after")),
        "no_effect": fields.get("no_effect") is True,
    }
    return {
        "error_type": kind if is_typed else ErrorType.UNKNOWN,
        "message": ": ".join(dict.fromkeys(words)) or _NO_REASON,
        "recoverable": None if is_typed else True,
        "invalid_fields": [str(name)[:MESSAGE] for name in names]
        if isinstance(names, list)
        else [],
        **{name: fields[name] for name, is_usable in usable.items() if is_usable},
    }


def _are_texts(*values: object) -> bool:
    return all(isinstance(value, str) for value in values)


def _is_time(value: object) -> bool:
    """Whether it is a number of seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value < float("inf")
