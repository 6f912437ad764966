"""What of a chain must be at hand to decide about it: so much is loaded, and no more is kept in memory.

A literal plan needs the actions that are under way, the results to which unfinished steps refer, and the
one that may become the chain's answer (the last result in the order of the plan). A chain with a model needs all its
receipts: any of them may be the origin of a value (C6), and they are the answer when no words can be had; the policy
bounds them.
"""

from collections.abc import Sequence

from haltpoint.chain.model.references import Graph
from haltpoint.chain.model.state import Action, Chain, StepRun, keeps_all
from haltpoint.chain.model.statuses import PlanOrigin, StepStatus
from haltpoint.contracts.base import action_id, thought_id

BOUNDS = "bounds"
"""The place of thoughts about the goal, in their ids."""


def needed_actions(chain: Chain) -> tuple[str, ...]:
    """The ids of the actions that a later decision may look at, in the order of the plan; worked out from head, plan
    and steps alone.
    """
    if chain.plan is None or chain.status.final:
        return ()
    found: list[str] = []
    for index, (step, run) in enumerate(zip(chain.plan.steps, chain.runs, strict=True)):
        numbers = set(range(1, run.actions + 1))
        if not keeps_all(chain):
            keeps = run.last_ok and result_needed(chain.runs, chain.graph, index)
            numbers = {*run.pending, *((run.last_ok,) if keeps and chain.failing is None else ())}
        found += (action_id(chain.id, step.id, number) for number in sorted(numbers))
    return tuple(found)


def kept_actions(chain: Chain) -> dict[str, Action]:
    """Of the actions in memory those that a later decision may look at; the same ones that a load finds."""
    if keeps_all(chain):
        return chain.actions
    return {name: action for name, action in chain.actions.items() if _is_kept(chain, action)}


def _is_kept(chain: Chain, action: Action) -> bool:
    run = chain.runs[action.step]
    if action.number in run.pending:
        return True
    if action.number != run.last_ok or chain.failing is not None:
        return False
    return result_needed(chain.runs, chain.graph, action.step)


def result_needed(runs: Sequence[StepRun], graph: Graph, index: int) -> bool:
    """Whether somebody may still look at the result of a literal plan's step.

    Its own calls continue, a step that refers to it is not done, or it may be the last: the step behind it has none.
    """
    if index + 1 == len(graph.readers) or not runs[index + 1].last_ok:
        return True
    return not all(runs[reader].status.done for reader in (index, index + 1, *graph.readers[index]))


def needed_thoughts(chain: Chain) -> dict[int, str]:
    """The thoughts whose proposals steps act on, or will when they may, by the index of the step."""
    if chain.plan is None or chain.origin is PlanOrigin.LITERAL or chain.status.final:
        return {}
    begun = (StepStatus.IN_PROGRESS, StepStatus.WAITING)
    return {
        index: thought_id(chain.id, step.id, run.turn + run.here, run.attempt)
        for index, (step, run) in enumerate(zip(chain.plan.steps, chain.runs, strict=True))
        if run.status in begun and (run.here or not run.thinking)
    }


def reads_goal(chain: Chain) -> bool:
    """Whether the thought under way is about the goal (C12)."""
    return (chain.thought or "").startswith(f"{chain.id}.{BOUNDS}.")


def live_steps(runs: Sequence[StepRun]) -> tuple[int, ...]:
    """The indexes of the steps that may begin, or have begun and have something to do or to wait for."""
    live = (StepStatus.READY, StepStatus.IN_PROGRESS, StepStatus.WAITING)
    return tuple(index for index, run in enumerate(runs) if run.status in live or run.pending)
