"""What a chain keeps of the calls that can be undone, and the plan of the chain that undoes them (CONTRACT E7)."""

from collections.abc import Iterable
from typing import Final

from haltpoint.chain.model.state import Action
from haltpoint.contracts.base import MAX_STEPS
from haltpoint.contracts.results import DeedWords
from haltpoint.contracts.tools import UNDO
from haltpoint.contracts.work.plans import OnFailure, Plan, ProposedCall, Step

_LONGEST: Final = 200
"""Characters of what a call did."""


def note_done(action: Action, deed: DeedWords | None) -> str:
    """A call that can be undone, as its chain keeps it: tool, id, and what it did in words."""
    return f"{action.tool} {action.id} {'' if deed is None else deed.says[:_LONGEST]}".rstrip()


def undo_list(done: Iterable[str]) -> str:
    """What would be undone, for people: a line for each call, the last one first."""
    calls = [one.split(" ", 2) for one in done][::-1][:MAX_STEPS]
    return "\n".join(f"{says[0] if says else tool} ({action})" for tool, action, *says in calls)


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
