"""Problems of the gateway in the words of the command line."""

from typing import Final
from urllib.parse import urlsplit

from haltpoint.cli.errors import CliError, Exit
from haltpoint.client import GatewayError
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.phrases import count
from haltpoint.runtime.config.errors import HaltpointError


def told(error: GatewayError, where: str) -> HaltpointError:
    """A problem of the gateway as an error that ends the command: each sentence once, and what to
    type.
    """
    kind = _KINDS.get(error.code) or _KINDS.get(error.status, _REFUSED)
    code, what = kind[0], kind[1].format(where)
    why = error.detail.rstrip(".") or f"HTTP {error.status}"
    fix = _FIXES.get(error.code) or error.hint.rstrip(".")
    if error.code == "not_found" and urlsplit(where).path:
        fix = f"Is {where} the gateway's whole address? --url takes it without a path of the API"
    if error.status not in (400, 422):
        return HaltpointError(code, what, why, fix)
    faults = error.problem.get("errors") or error.problem.get("faults") or ()
    if faults:
        subject = {"invalid_plan": "plan", "invalid_answer": "answer"}.get(error.code, "request")
        what = f"the {subject} has {count(len(faults), 'problem')}"
        first, *others = map(_fault, faults)
        why = "\n  - ".join(["", first, *others]) if others else first
    return CliError(code, what, why, fix, exit_code=Exit.USAGE)


_AWAY: Final = ("HP-050", "the gateway at {} cannot be reached")
_NO_KEY: Final = ("HP-051", "the gateway does not accept the key")
_CLOSED: Final = ("HP-054", "the question is no longer open")
_KINDS: Final[dict[str | int, tuple[str, str]]] = {
    "not_understood": ("HP-050", "no gateway answers at {}"),
    "redis_refuses_writes": ("HP-021", "the gateway at {} cannot do this now"),
    "other_release": ("HP-022", "this chain is of another release"),
    **dict.fromkeys(("answered_already", "request_changed"), _CLOSED),
    **dict.fromkeys(("request_expired", "request_stale"), _CLOSED),
    "not_yours": ("HP-052", "the question is for other people"),
    **dict.fromkeys((0, 503), _AWAY),
    **dict.fromkeys((401, 403), _NO_KEY),
    404: ("HP-053", "not found"),
}
"""Our code, and what happened, by the code of the problem or by its status."""
_REFUSED: Final = ("HP-052", "the gateway refused")
_HOW_IT_WENT_ON: Final = "haltpoint chain show shows how its chain continued"
_FIXES: Final = {
    "unknown_key": "Give a key of this gateway: --key KEY",
    "no_key": "Give a key of this gateway: --key KEY",
    "no_such_chain": "haltpoint chain list shows all chains; ended ones are deleted after a time",
    "no_such_request": "haltpoint inbox shows the open questions",
    "no_such_tool": "haltpoint tool list shows the tools that workers serve",
    "not_found": "haltpoint chain list and haltpoint inbox show the ids",
    "chain_ended": "haltpoint chain show shows how it ended",
    "request_expired": _HOW_IT_WENT_ON,
    "request_stale": _HOW_IT_WENT_ON,
    "no_such_action": "haltpoint chain actions CHAIN lists them by their ids",
    "too_much_feedback": "The first 100 are kept; haltpoint chain show shows the chain",
    "invalid_answer": "haltpoint inbox shows what can be answered",
    "request_changed": "haltpoint inbox shows the question as it is now",
    "too_many_submissions": "Try again in a minute; HALTPOINT_LIMITS__SUBMISSIONS is the limit",
    "redis_unreachable": "haltpoint chain list shows whether it took effect",
    "answered_already": "The first answer counts; haltpoint chain show shows it",
    "invalid_fields": "Its --help shows what the command takes",
    "invalid_plan": "Change these; haltpoint tool show TOOL lists a tool's arguments",
}
"""What to do, where the gateway's own hint speaks to programs."""


def _fault(fault: JsonObject) -> str:
    """What is wrong and where: in which step, or in which option."""
    message = str(fault.get("message"))
    field = str(fault.get("field") or "")
    option, _, inside = field.partition(".")
    if fault.get("step_id"):
        label = f" ({fault['label']})" if fault.get("label") else ""
        return f"step {fault['step_id']!r}{label}: {message}"
    if option in ("", "decision", "value", "arguments"):
        return message
    if option == "plan":
        return f"{field}: {message}"
    name = option.removesuffix("_id").replace("_", "-")
    return f"--{name} {inside}".rstrip() + f": {message}"
