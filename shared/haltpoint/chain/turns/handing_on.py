"""An agent at work (CONTRACT I): the chain that carries out a call of an agent, its share of the budget, and its end.

Its goal is in its caller's words, and the user's own goes beside it: only that counts for what may be done (C12) and
for where values come from (C13). Of a budget that is limited an agent gets all that is left, unless its own says less,
and what it has not used comes back with its report; meanwhile nothing else of the chain may use it (`gate`).
"""

from typing import Any, Final

from msgspec.structs import replace

from haltpoint.chain.checks.agents import assigned_to, goal_in, hand_on_fault
from haltpoint.chain.checks.exits import hear_left_out
from haltpoint.chain.checks.goal import goal_of, intent_of, users_goal
from haltpoint.chain.checks.intent import names_agent
from haltpoint.chain.model.codes import Code
from haltpoint.chain.model.limits import deadline_of, used_up
from haltpoint.chain.model.outputs import StartChild, failed
from haltpoint.chain.model.references import references, write_json
from haltpoint.chain.model.state import Action, Failure
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.chain.turns.gate import most_at_once
from haltpoint.chain.turns.undoing import undo_of
from haltpoint.contracts.base import child_id
from haltpoint.contracts.results import ErrorInfo, ErrorType, Metadata, Spent
from haltpoint.contracts.tools import ToolKind
from haltpoint.contracts.work.intent import Intent
from haltpoint.contracts.work.tasks import Assignment, Budget, Task

_PASSED_ON: Final = (
    *(
        "conversation_id",
        "context",
        "private",
        "tools",
        "parallel",
        "siblings",
        "patterns_off",
        "language",
        "tenant",
        "user",
    ),
    "earlier",
)
_LIMITS: Final = ("turns", "actions", "tokens", "cost")


def hand_on(work: Work, action: Action, arguments: dict[str, Any]) -> StartChild | Failure:
    """The chain of an agent; or why there can be none. The call is one of the chain's actions already."""
    own = work.task.assigned or Assignment()
    if (why := hand_on_fault(work, action.tool, arguments)) is not None:
        return failed(Code.OVER_BUDGET, why)
    if name := used_up(replace(work.task.budget, actions=None), work.spent()):  # without actions it may still answer
        return failed(Code.OVER_BUDGET, f"the chain has used up its budget of {name}", work.steps[action.step].id)
    left = Budget(**{name: left for name in _LIMITS if (left := _left(work, name)) is not None})
    chains, users = _share(work, action, own.chains - work.below.chains), _users_own(work, action)
    floor = goal_of(work) if users is None else ""
    given = Task(
        goal=goal_in(arguments),
        agent=action.tool,
        above=work.task.path,
        ledger=work.ledger,
        assigned=Assignment(chains=chains, goal=users, floor=floor),
        intent=_intent(work, action.tool),
        budget=left,
        undo=undo_of(work),
        style=own.limits.style,
        strikes=own.limits.strikes,
        max_turns=own.limits.max_turns,
        mode=work.mode(action.step),
        **{name: getattr(work.task, name) for name in _PASSED_ON},
    )
    task = assigned_to(given, work.world.agents)
    _reserve(work, task)
    started, deadline = replace(action, child=child_id(action.id)), deadline_of(task, work.world.policy, work.now)
    return StartChild(started, task, min(work.deadline, deadline))


def take_back(work: Work, told: Metadata) -> None:
    """An agent has ended: of its share of what is limited the rest comes back; of all else what it used is counted.
    What it has left out as not needed is left out here, too.
    """
    hear_left_out(work, told.not_needed)
    if told.spent is None or told.unspent is None:
        return
    now = {name: getattr(work.below, name) for name in Spent.__struct_fields__}
    for name in _LIMITS:
        limited = getattr(work.task.budget, name) is not None
        now[name] += -getattr(told.unspent, name) if limited else getattr(told.spent, name)
    now["chains"] -= told.unspent.chains
    work.below = Spent(**now)


def told_of(work: Work, *, reported: bool) -> dict[str, Any]:
    """What the report of a chain says of the agent that it was, as fields of its metadata; nothing of other chains."""
    assigned, spent = work.task.assigned, work.spent()
    if assigned is None:
        return {}
    rests = {name: left for name in _LIMITS if (left := _left(work, name)) is not None}
    unspent = Spent(**rests, chains=assigned.chains - spent.chains)
    told = {"agent": work.task.agent, "not_needed": intent_of(work).not_needed, "reported": reported}
    return {**told, "spent": spent, "unspent": unspent}


def words_of(work: Work) -> str:
    """The words of an agent that has completed, as the data of its receipt (JSON text)."""
    return write_json({"agent": work.task.agent, "text": work.answer or ""})


def fault_of_agent(fault: ErrorInfo) -> ErrorInfo:
    """Why an agent has failed, for its caller: it may try another way, unless a person said no. A doubt was for the
    agent's own chain to ask about.
    """
    kind = ErrorType.SERVER if fault.error_type is ErrorType.IN_DOUBT else fault.error_type
    return ErrorInfo(kind, fault.message, recoverable=kind is not ErrorType.DENIED, suggestion=fault.suggestion)


def _left(work: Work, name: str) -> Any:
    """What is left of one part of the budget; None: it is not limited."""
    limit = getattr(work.task.budget, name)
    return None if limit is None else limit - getattr(work.spent(), name)


def _share(work: Work, action: Action, left: int) -> int:
    """How many chains an agent may begin, if it hands on at all: what is left is shared with the agents that begin
    beside it, each of which is a chain, too, and with what the chain hands on later.
    """
    index = action.step
    calls = work.proposals[index].calls if index in work.proposals else work.steps[index].actions
    others = [
        *calls[work.run[index].taken + 1 :],
        *(one for step in work.ready for one in work.steps[step].actions[:1]),
    ]
    called = [one.tool for one in others if work.world.spec(one.tool).kind is ToolKind.AGENT]
    beside = called[: max(0, most_at_once(work, index) - work.under_way() - 1)]
    handing_on = {one.name for one in work.world.agents.agents if one.agents}
    if action.tool not in handing_on:
        return 0
    return max(0, (left - 1 - len(beside)) // (2 + sum(one in handing_on for one in beside)))


def _reserve(work: Work, task: Task) -> None:
    """Count the agent's share of what is limited, and the chains that it may begin, as used."""
    shares = {name: getattr(task.budget, name) for name in _LIMITS if getattr(work.task.budget, name) is not None}
    taken = {name: getattr(work.below, name) + share for name, share in shares.items()}
    chains = task.assigned.chains if task.assigned is not None else 0
    work.below = replace(work.below, **taken, chains=work.below.chains + 1 + chains)


def _users_own(work: Work, action: Action) -> str | None:
    """The user's own goal; None where the call itself is in the user's words: those of a submitter's literal plan."""
    if work.origin is PlanOrigin.LITERAL:
        call = work.steps[action.step].actions[action.number - 1]
        if not any(references(call.arguments)):
            return None
    return users_goal(work)


def _intent(work: Work, agent: str) -> Intent | None:
    """What the user's goal asks for, as far as it was read. Where a person is to be asked before this agent works,
    they are asked before each effect that it makes.
    """
    read = work.intent or work.task.intent
    if read is None:
        return None
    asks = (replace(one, tools=("*",)) if names_agent(work, one, agent) else one for one in read.ask_before)
    return Intent(read.effects_asked, tuple(asks), read.forbidden)
