"""Problems of the gateway in the words of the command line."""

from collections.abc import Iterator
from typing import Any, Final

from haltpoint.cli.errors import CliError, Exit
from haltpoint.cli.wording import visible
from haltpoint.client import GatewayError


def told(error: GatewayError, where: str) -> CliError:
    """A problem of the gateway as an error that ends the command: each sentence once, and what to type."""
    why, fix = _why(error), _fix(error)
    match error.status:
        case 0 if error.code == "not_understood":
            return CliError("HP-050", f"no gateway answers at {where}", why, fix, exit_code=Exit.UNREACHABLE)
        case 503 if error.code == "redis_refuses_writes":
            what = f"the gateway at {where} cannot do this now"
            return CliError("HP-021", what, why, fix, exit_code=Exit.UNREACHABLE)
        case 0 | 503:
            return CliError("HP-050", f"the gateway at {where} cannot be reached", why, fix, exit_code=Exit.UNREACHABLE)
        case 401 | 403:
            return CliError("HP-051", "the gateway does not accept the key", why, fix)
        case 404:
            return CliError("HP-053", "not found", why, fix)
        case 409 | 410 | 412 if error.code.startswith(("answered", "request")):
            return CliError("HP-054", "the question is not open any more", why, fix)
        case 400 | 422:
            return CliError("HP-052", "the gateway refused", why, fix, exit_code=Exit.USAGE)
        case _:
            return CliError("HP-052", "the gateway refused", why, fix)


def _why(error: GatewayError) -> str:
    """Its detail; of several faults all of them in place of it, one a line."""
    detail = error.detail.rstrip(".") or f"HTTP {error.status}"
    faults = [_fault(one) for one in error.problem.get("errors") or error.problem.get("faults") or ()]
    if len(faults) < 2:
        return faults[0] if faults else detail
    return "\n  - ".join([f"{len(faults)} faults", *faults])


_FIXES: Final = {
    "unknown_key": "Give a key of this gateway: --key KEY",
    "no_key": "Give a key of this gateway: --key KEY",
    "no_such_chain": "haltpoint chain list shows those that there are; those that have ended are kept for a time",
    "no_such_request": "haltpoint inbox shows the open ones",
    "no_such_tool": "haltpoint tool list shows those that workers serve; haltpoint up tool-worker starts one",
    "not_found": "An id is what haltpoint chain list and haltpoint inbox show",
    "chain_ended": "haltpoint chain show says how it ended",
    "request_expired": "haltpoint chain show says what became of its chain",
    "request_stale": "haltpoint chain show says what became of its chain",
    "answered_already": "The first answer counts; haltpoint chain show has it",
    "idempotency_conflict": "Use another --idempotency-key for another task",
    "invalid_fields": "Correct what is named here",
    "invalid_plan": "Correct what is named here; haltpoint tool show TOOL has the form of a tool's arguments",
}
"""What to do, where the gateway's own hint speaks to programs."""


def _fix(error: GatewayError) -> str:
    allowed = error.problem.get("allowed")
    if isinstance(allowed, dict):
        return f"What may be said here: {', '.join(_options(allowed))}"
    return _FIXES.get(error.code) or error.hint.rstrip(".")


def _options(allowed: dict[str, Any]) -> Iterator[str]:
    """The decisions that a question takes, as options of `haltpoint answer`."""
    words = {
        **dict.fromkeys(("none", "reject", "rephrase"), " WORDS"),
        "manual": " JSON",
        "happened": " [JSON]",
    }
    for decision in allowed.get("decisions", ()):
        match decision:
            case "select":
                yield from (f"--option {visible(str(one))}" for one in allowed.get("option_ids", ()))
            case "answer":
                yield "--value JSON" if "schema" in allowed else "--text WORDS"
            case _:
                yield f"--{decision.replace('_', '-')}{words.get(decision, '')}"


def _fault(one: object) -> str:
    if not isinstance(one, dict):
        return str(one)
    label = f" ({one['label']})" if one.get("label") else ""
    place = f"step {one['step_id']!r}{label}" if one.get("step_id") else one.get("field")
    if place in (None, "decision", "value"):
        return str(one.get("message"))
    return f"{place}: {one.get('message')}"
