"""What a chain has done is undone before its one end is told, when its task or a person wants that (CONTRACT E7).

The compensations are a chain of their own, a child of the action `<chain>.undo.1`, of no step. Until it reports, the
chain sends nothing and takes nothing else; when it does not report in time, the end is told without it. The question
whether to undo has a time of its own too, and while it is open the chain takes nothing but its answer.
"""

from typing import Final

from msgspec.structs import replace

from haltpoint.chain.checks.undoing import undo_list, undo_plan
from haltpoint.chain.model.outputs import Ask, StartChild
from haltpoint.chain.model.state import Action, Failure, OpenRequest
from haltpoint.chain.model.statuses import ActionStatus, ChainStatus, PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.asking import ask
from haltpoint.contracts.base import action_of, undo_id
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.tools import UNDO
from haltpoint.contracts.work.tasks import Budget, Task, Undo

_SPARE: Final = 60_000
"""How long (ms) after its deadline the report of the chain that undoes is waited for."""
_PASSED_ON: Final = ("context", "private", "tenant", "user", "language")


def undo_of(work: Work) -> Undo:
    """What becomes of what the chain has done when it fails or is cancelled."""
    return work.task.undo or (Undo.ON_FAILURE if work.origin is PlanOrigin.LITERAL else Undo.NEVER)


def undoes(work: Work) -> bool:
    """Whether what the chain has done is to be undone before it ends, or a person asked. One below another leaves that
    to the first.
    """
    wanted = undo_of(work) is not Undo.NEVER and work.undoing is None
    return wanted and bool(work.done) and action_of(work.id) is None


def waits_to_undo(work: Work) -> bool:
    """Whether the chain waits for what it is doing now before it ends, as that may have to be undone."""
    if undo_of(work) is Undo.NEVER or work.undoing is not None:
        return False
    sent = (one for one in work.actions.values() if one.status is ActionStatus.DISPATCHED)
    return undoes(work) or any(_may_be_undone(work, one) for one in sent)


def _may_be_undone(work: Work, action: Action) -> bool:
    """Whether the action, or what a chain above has done, may have to be undone once the action has ended."""
    tools = work.world.tools
    others = action.child or action_of(work.id) is not None
    return any(name.endswith(UNDO) for name in tools) if others else f"{action.tool}{UNDO}" in tools


def undo_before_end(work: Work, failure: Failure) -> None:
    """Undo what the chain has done, which has stopped, or ask a person whether to; then it ends as `failure` says."""
    work.failing, work.status, work.resume, work.thought = failure, ChainStatus.EXECUTING, None, None
    kept = {} if work.origin is PlanOrigin.LITERAL else work.actions
    work.actions = {name: replace(one, status=ActionStatus.DONE) for name, one in kept.items()}
    work.proposals, work.verdicts, work.resting, work.approvals = {}, {}, {}, {}
    if work.task.undo is Undo.ASK:
        _ask_whether(work, failure)
    else:
        begin_undo(work)


def begin_undo(work: Work) -> None:
    """Begin the chain that undoes."""
    seconds = work.world.policy.compensation_timeout
    deadline = work.now + int(seconds * 1000)
    passed_on = {name: getattr(work.task, name) for name in _PASSED_ON}
    done = [one.split(" ", 2) for one in work.done]
    plan = undo_plan((tool, action) for tool, action, *_ in done)
    task = Task(goal=f"Undo {work.id}", plan=plan, budget=Budget(seconds=seconds), **passed_on)
    action = Action(f"{work.id}.undo.1", -1, 1, "undo", "{}", child=undo_id(work.id))
    work.outputs.append(StartChild(action, task, deadline))
    work.tell(FactType.CHAIN_UNDOING, child=action.child)
    work.undoing = deadline + _SPARE


def _ask_whether(work: Work, failure: Failure) -> None:
    """One question about all that can be undone. The chain's own time may be over, and does not count for it."""
    ended = "has failed" if failure.stopped is None else "was cancelled"
    _, why = failure.stopped or ("", failure.error.message)
    said = f": {why.rstrip('.')}" if why else ""
    words = f"The chain {ended}{said}. Undo what it has done, the last first?"
    work.undoing = work.now + int(work.world.policy.request_timeout * 1000)
    request = OpenRequest(work.asked + 1, RequestKind.CONFIRMATION, -1, "", work.undoing, question=words)
    ask(work, Ask(request, preview=undo_list(work.done)))
