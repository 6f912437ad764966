"""What of a chain must be at hand to decide about it: so much is loaded, and no more is kept in
memory.

A literal plan needs the actions that are under way, the results to which unfinished steps refer,
and the one that may become the chain's answer (the last result in the order of the plan). A chain
with a model needs all its receipts: any of them may be the origin of a value (C6), and they are the
answer when no words can be had; the policy bounds them.
"""

from collections.abc import Sequence

from haltpoint.chain.model.references import Indexes
from haltpoint.chain.model.state import Chain, StepRun, is_submitters
from haltpoint.chain.model.statuses import StepStatus
from haltpoint.contracts.base import Strings, action_id, thought_id

BOUNDS = "bounds"
"""The place of thoughts about the goal, in their ids."""


def needed_actions(chain: Chain) -> Strings:
    """The ids of the actions that a later decision may look at, in the order of the plan.

    It follows from head, plan and steps alone.
    """
    needed: list[str] = []
    steps = () if chain.plan is None or chain.status.final else chain.plan.steps
    needs_all = not is_submitters(chain)
    for index, step in enumerate(steps):
        numbers = range(1, chain.runs[index].actions + 1)
        own = [number for number in numbers if needs_all or is_needed(chain, index, number)]
        needed += [action_id(chain.id, step.id, number) for number in own]
    return tuple(needed)


def is_needed(chain: Chain, index: int, number: int) -> bool:
    """Whether an action of a submitter's plan is: it is under way, or its result may still be
    looked at: the calls of its step continue, a step that refers to it is not done, or it may be
    the last: the step behind it has none.
    """
    runs = chain.runs
    if number in runs[index].pending:
        return True
    if number != runs[index].last_ok or chain.failing is not None:
        return False
    readers = chain.graph.readers[index]
    behind = index + 1
    if behind == len(runs) or not runs[behind].last_ok:
        return True
    return not all(runs[reader].status.done for reader in (index, behind, *readers))


def needed_thoughts(chain: Chain) -> dict[int, str]:
    """The thoughts whose proposals steps act on, or will when they may, by the index of the
    step.
    """
    thoughts: dict[int, str] = {}
    for index, step in enumerate(() if chain.plan is None else chain.plan.steps):
        run = chain.runs[index]
        has_begun = run.status in (StepStatus.IN_PROGRESS, StepStatus.WAITING)
        if has_begun and (run.here or not run.thinking):
            turn = run.turn + run.here
            thoughts[index] = thought_id(chain.id, step.id, turn, run.attempt)
    return thoughts


def reads_goal(chain: Chain) -> bool:
    """Whether the thought under way is about the goal (C12)."""
    thought = chain.thought or ""
    return thought.startswith(f"{chain.id}.{BOUNDS}.")


def live_steps(runs: Sequence[StepRun]) -> Indexes:
    """The indexes of the steps that may begin, or have begun and have something to do or to wait
    for.
    """
    live = (StepStatus.READY, StepStatus.IN_PROGRESS, StepStatus.WAITING)
    return tuple(index for index, run in enumerate(runs) if run.status in live or run.pending)
