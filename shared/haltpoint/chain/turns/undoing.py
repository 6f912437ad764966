"""What a chain has done is undone before its one end is told, when its task wants that (CONTRACT E7).

The compensations are a chain of their own, a child of the action `<chain>.undo.1`, of no step. Until it reports, the
chain sends nothing and takes nothing else; when it does not report in time, the end is told without it.
"""

from typing import Final

from msgspec.structs import replace

from haltpoint.chain.checks.undoing import undo_plan
from haltpoint.chain.model.outputs import StartChild
from haltpoint.chain.model.state import Action, ActionStatus, ChainStatus, Failure, PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import action_of, undo_id
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.tools import UNDO
from haltpoint.contracts.work.tasks import Budget, Task, Undo

_SPARE: Final = 60_000
"""How long (ms) after its deadline the report of the chain that undoes is waited for."""
_PASSED_ON: Final = ("context", "private", "tenant", "user", "language")


def undoes(work: Work) -> bool:
    """Whether what the chain has done, or may be doing now, is to be undone before it ends."""
    wanted = work.task.undo or (Undo.ON_FAILURE if work.origin is PlanOrigin.LITERAL else Undo.NEVER)
    if wanted is Undo.NEVER or work.undoing is not None or action_of(work.id) is not None:
        return False
    sent = (one for one in work.actions.values() if one.status is ActionStatus.DISPATCHED)
    return bool(work.done) or any(f"{one.tool}{UNDO}" in work.world.tools for one in sent)


def begin_undo(work: Work, failure: Failure) -> None:
    """Begin the chain that undoes; the chain ends as `failure` says when that is over."""
    seconds = work.world.policy.compensation_timeout
    deadline = work.now + int(seconds * 1000)
    passed_on = {name: getattr(work.task, name) for name in _PASSED_ON}
    done = [entry.partition(" ") for entry in work.done]
    plan = undo_plan((tool, action) for tool, _, action in done)
    task = Task(goal=f"Undo {work.id}", plan=plan, budget=Budget(seconds=seconds), **passed_on)
    action = Action(f"{work.id}.undo.1", -1, 1, "undo", "{}", child=undo_id(work.id))
    work.outputs.append(StartChild(action, task, deadline))
    work.tell(FactType.CHAIN_UNDOING, child=action.child)
    work.status, work.resume, work.thought = ChainStatus.EXECUTING, None, None
    work.failing, work.undoing = failure, deadline + _SPARE
    kept = {} if work.origin is PlanOrigin.LITERAL else work.actions
    work.actions = {name: replace(one, status=ActionStatus.DONE) for name, one in kept.items()}
    work.proposals, work.verdicts, work.resting, work.approvals = {}, {}, {}, {}
