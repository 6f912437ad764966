"""The chain that undoes another one: a literal plan of compensations, the last effect first (CONTRACT E7)."""

from collections.abc import Iterable

from haltpoint.contracts.base import MAX_STEPS
from haltpoint.contracts.tools import UNDO
from haltpoint.contracts.work.plans import OnFailure, Plan, ProposedCall, Step


def undo_plan(done: Iterable[tuple[str, str]]) -> Plan:
    """The plan that undoes these calls, tool and action id, in the order in which they had ended. One that fails does
    not keep the others from being undone.
    """
    last_first = list(done)[::-1][:MAX_STEPS]
    return Plan(
        steps=tuple(
            Step(
                id=f"u{number}",
                required_tools=(f"{tool}{UNDO}",),
                actions=(ProposedCall(tool=f"{tool}{UNDO}", arguments={"action_id": action}),),
                on_failure=OnFailure.CONTINUE,
            )
            for number, (tool, action) in enumerate(last_first, 1)
        )
    )
