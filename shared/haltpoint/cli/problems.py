"""Problems of the gateway in the words of the command line."""

from typing import Any, Final
from urllib.parse import urlsplit

from haltpoint.cli.errors import CliError, Exit
from haltpoint.client import GatewayError
from haltpoint.contracts.people.phrases import count
from haltpoint.runtime.config.errors import HaltpointError


def told(error: GatewayError, where: str) -> HaltpointError:
    """A problem of the gateway as an error that ends the command: each sentence once, and what to
    type.
    """
    code, what = _kind(error, where)
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


def _kind(error: GatewayError, where: str) -> tuple[str, str]:
    """Our code, and what happened."""
    match error.status, error.code:
        case 0, "not_understood":
            return "HP-050", f"no gateway answers at {where}"
        case 503, "redis_refuses_writes":
            return "HP-021", f"the gateway at {where} cannot do this now"
        case ((0 | 503), _):
            return "HP-050", f"the gateway at {where} cannot be reached"
        case ((401 | 403), _):
            return "HP-051", "the gateway does not accept the key"
        case 404, _:
            return "HP-053", "not found"
        case 409, "other_release":
            return "HP-022", "this chain is of another release"
        case ((409 | 410 | 412), code) if code.startswith(("answered", "request")):
            return "HP-054", "the question is no longer open"
        case _:
            return "HP-052", "the gateway refused"


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
    "no_such_agent": "haltpoint agent list shows the agents; without --agent none is chosen",
    "too_much_feedback": "The first 100 are kept; haltpoint chain show shows the chain",
    "invalid_answer": "haltpoint inbox shows what can be answered",
    "request_changed": "haltpoint inbox shows the question as it is now",
    "backlog_full": "Try again later, or run more workers: haltpoint up tool-worker",
    "redis_unreachable": "haltpoint chain list shows whether it took effect",
    "answered_already": "The first answer counts; haltpoint chain show shows it",
    "idempotency_conflict": "Use another --idempotency-key for another task",
    "invalid_fields": "haltpoint run --help shows what each option takes",
    "invalid_plan": "Change these; haltpoint tool show TOOL lists a tool's arguments",
}
"""What to do, where the gateway's own hint speaks to programs."""


def _fault(fault: dict[str, Any]) -> str:
    """What is wrong and where: in which step, or in which option."""
    message = str(fault.get("message"))
    label = f" ({fault['label']})" if fault.get("label") else ""
    if fault.get("step_id"):
        return f"step {fault['step_id']!r}{label}: {message}"
    option, _, inside = str(fault.get("field") or "").partition(".")
    if option in ("", "decision", "value", "arguments"):
        return message
    if option == "plan":
        return f"{fault['field']}: {message}"
    name = option.removesuffix("_id").replace("_", "-")
    return f"--{name} {inside}".rstrip() + f": {message}"
