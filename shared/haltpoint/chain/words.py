"""What the model says in words, held against what has really happened (CONTRACT C2, F1)."""

from haltpoint.chain.work import Work
from haltpoint.contracts.plans import Plan
from haltpoint.contracts.thoughts import Correction


def claim_faults(_work: Work, _text: str) -> tuple[Correction, ...]:
    """The actions that a text claims without a receipt for them (F1)."""
    return ()


def plan_pattern_faults(_work: Work, _plan: Plan) -> tuple[Correction, ...]:
    """The tools that the user's words ask for and that no step of a plan requires (C2)."""
    return ()


def pattern_faults(_work: Work) -> tuple[Correction, ...]:
    """The tools that the user's words ask for and that have no successful receipt in the chain yet (C2)."""
    return ()


def goal_of(work: Work) -> str:
    """What is asked for: the task's words, or a person's in their place."""
    return work.chain.task.goal if work.goal is None else work.goal
