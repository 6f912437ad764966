"""An agent at work (CONTRACT I1): the chain that carries out a call of an agent, and its end.

Its goal is in its caller's words, and the user's own goes beside it: only that counts for what may be done (C12) and
for where values come from (C13). Its budget is what its caller has left, or less if its own says so; what it has used
is added when it reports. What was done and what is known goes down with its task, and comes back with its end (C14).
"""

from typing import Any, Final

from msgspec.structs import replace

from haltpoint.chain.checks import knowledge
from haltpoint.chain.checks.agents import LONGEST_TASK, assigned_to, hand_on_fault
from haltpoint.chain.checks.bounds import users_goal
from haltpoint.chain.checks.promises import missing
from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.limits import added, deadline_of, used_up
from haltpoint.chain.model.outputs import StartChild, failed
from haltpoint.chain.model.references import references, write_json
from haltpoint.chain.model.state import Action, Failure
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import child_id
from haltpoint.contracts.results import Below, ErrorInfo, ErrorType
from haltpoint.contracts.work.bounds import ChainBounds
from haltpoint.contracts.work.tasks import Assignment, Budget, Handed, Task

_PASSED_ON: Final = (
    *("conversation_id", "context", "private", "tools", "parallel", "siblings"),
    *("patterns_off", "tenant", "user"),
)
_LIMITS: Final = ("turns", "actions", "tokens", "cost")


def hand_on(work: Work, action: Action, arguments: dict[str, Any]) -> StartChild | Failure:
    """The chain of an agent; or why there can be none. The call is one of the chain's actions already."""
    own = work.task.handed.assigned or Assignment()
    if (why := hand_on_fault(work, action.tool)) is not None:
        return failed(Code.OVER_BUDGET, why)
    besides_actions = replace(work.task.budget, actions=None)  # without actions an agent may still answer
    if name := used_up(besides_actions, work.spent_in_all()):
        return failed(
            Code.OVER_BUDGET,
            f"the chain has used up its budget of {name}",
            work.steps[action.step].id,
        )
    assigned = Assignment(
        chains=own.chains - work.below.spent.chains - 1,
        goal=_users_own(work, action),
        bounds=_bounds(work),
        heard=work.people.heard,
    )
    given = Task(
        goal=arguments.get("task", "").strip() or users_goal(work)[:LONGEST_TASK],
        agent=arguments.get("target_agent", action.tool),
        handed=Handed(
            earlier=work.task.handed.earlier,
            assigned=assigned,
            above=work.task.path,
            ledger=work.ledger,
            known=knowledge.for_below(work),
        ),
        budget=_left(work),
        style=own.limits.style,
        strikes=own.limits.strikes,
        max_turns=own.limits.max_turns,
        mode=work.mode(action.step),
        **{name: getattr(work.task, name) for name in _PASSED_ON},
    )
    task = assigned_to(given, work.world.agents)
    deadline = deadline_of(task, work.world.policy, work.now)
    started = replace(action, child=child_id(action.id))
    return StartChild(started, task, min(work.deadline, deadline))


def take_back(work: Work, told: Below) -> None:
    """An agent has ended: what it has used is added. What it has left out is left out here, too, and what persons
    have said to it was said here (C6, C11).
    """
    work.left_out += told.left_out
    work.hear(told.heard)
    if not told.agent:
        return
    spent = added(work.below.spent, told.spent)
    work.below = replace(work.below, spent=replace(spent, chains=spent.chains + 1))


def told_of(work: Work) -> dict[str, Any]:
    """What the report of a chain says of the agent that it was, as fields of `Below`; nothing of other chains."""
    if work.task.handed.assigned is None:
        return {}
    told = {"agent": work.task.agent, "left_out": work.left_out, "heard": work.people.heard}
    return {**told, "spent": work.spent_in_all()}


def words_of(work: Work) -> str:
    """The words of an agent that has completed, as the data of its receipt (JSON text)."""
    return write_json({"agent": work.task.agent, "text": work.end.answer or ""})


def fault_of_agent(fault: ErrorInfo) -> ErrorInfo:
    """Why an agent has failed, for its caller: it may try another way, unless a person said no. A doubt was for the
    agent's own chain to ask about.
    """
    kind = ErrorType.SERVER if fault.error_type is ErrorType.IN_DOUBT else fault.error_type
    return ErrorInfo(kind, fault.message, recoverable=kind is not ErrorType.DENIED, suggestion=fault.suggestion)


def _left(work: Work) -> Budget:
    """What is left of the budget, as far as it is limited."""
    spent, budget = work.spent_in_all(), work.task.budget
    limits = {name: getattr(budget, name) for name in _LIMITS}
    limited = {name: limit for name, limit in limits.items() if limit is not None}
    return Budget(**{name: limit - getattr(spent, name) for name, limit in limited.items()})


def _bounds(work: Work) -> ChainBounds | None:
    """The bounds of the user's goal, with the promises that are still due."""
    if work.bounds is None:
        return None
    due = {tools for index in range(len(work.run)) for tools in missing(work, index)}
    return replace(work.bounds, required_tools=tuple(one for one in work.bounds.required_tools if one.tools in due))


def _users_own(work: Work, action: Action) -> str | None:
    """The user's own goal; None where the call itself is in the user's words: those of a submitter's literal plan."""
    if work.origin is PlanOrigin.LITERAL:
        call = work.steps[action.step].actions[action.number - 1]
        if not any(references(call.arguments)):
            return None
    return users_goal(work)
