"""Problems of the gateway in the words of the command line."""

from typing import Final

from haltpoint.cli.errors import CliError, Exit
from haltpoint.client import GatewayError
from haltpoint.contracts.people.phrases import count


def told(error: GatewayError, where: str) -> CliError:
    """A problem of the gateway as an error that ends the command: each sentence once, and what to
    type.
    """
    why = error.detail.rstrip(".") or f"HTTP {error.status}"
    fix = _FIXES.get(error.code) or error.hint.rstrip(".")
    faults = [
        _fault(one) for one in error.problem.get("errors") or error.problem.get("faults") or ()
    ]
    match error.status:
        case 0 if error.code == "not_understood":
            return CliError(
                "HP-050", f"no gateway answers at {where}", why, fix, exit_code=Exit.UNREACHABLE
            )
        case 503 if error.code == "redis_refuses_writes":
            what = f"the gateway at {where} cannot do this now"
            return CliError("HP-021", what, why, fix, exit_code=Exit.UNREACHABLE)
        case 0 | 503:
            return CliError(
                "HP-050",
                f"the gateway at {where} cannot be reached",
                why,
                fix,
                exit_code=Exit.UNREACHABLE,
            )
        case 401 | 403:
            return CliError("HP-051", "the gateway does not accept the key", why, fix)
        case 404:
            return CliError("HP-053", "not found", why, fix)
        case 409 if error.code == "other_release":
            return CliError("HP-022", "this chain is of another release", why, fix)
        case 409 | 410 | 412 if error.code.startswith(("answered", "request")):
            return CliError("HP-054", "the question is no longer open", why, fix)
        case 400 | 422 if faults:
            subject = {"invalid_plan": "plan", "invalid_answer": "answer"}.get(
                error.code, "request"
            )
            what = f"the {subject} has {count(len(faults), 'problem')}"
            why = faults[0] if len(faults) == 1 else "".join(f"\n  - {one}" for one in faults)
            return CliError("HP-052", what, why, fix, exit_code=Exit.USAGE)
        case 400 | 422:
            return CliError("HP-052", "the gateway refused", why, fix, exit_code=Exit.USAGE)
        case _:
            return CliError("HP-052", "the gateway refused", why, fix)


_FIXES: Final = {
    "unknown_key": "Give a key of this gateway: --key KEY",
    "no_key": "Give a key of this gateway: --key KEY",
    "no_such_chain": "haltpoint chain list shows all chains; ended ones are deleted after a time",
    "no_such_request": "haltpoint inbox shows the open questions",
    "no_such_tool": (
        "haltpoint tool list shows the tools that workers serve; haltpoint "
        "up tool-worker starts a worker"
    ),
    "not_found": "haltpoint chain list and haltpoint inbox show the ids",
    "chain_ended": "haltpoint chain show shows how it ended",
    "request_expired": "haltpoint chain show shows how its chain continued",
    "request_stale": "haltpoint chain show shows how its chain continued",
    "answered_already": "The first answer counts; haltpoint chain show shows it",
    "idempotency_conflict": "Use another --idempotency-key for another task",
    "invalid_fields": "Submit it again with these fields corrected",
    "invalid_plan": (
        "Submit it again without these faults; haltpoint tool show TOOL lists a tool's arguments"
    ),
}
"""What to do, where the gateway's own hint speaks to programs."""


def _fault(one: object) -> str:
    if not isinstance(one, dict):
        return str(one)
    label = f" ({one['label']})" if one.get("label") else ""
    place = f"step {one['step_id']!r}{label}" if one.get("step_id") else one.get("field")
    if place in (None, "decision", "value"):
        return str(one.get("message"))
    return f"{place}: {one.get('message')}"
