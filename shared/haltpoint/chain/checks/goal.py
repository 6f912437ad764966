"""The goal of a task, in whose words it counts (CONTRACT C12, C15, I1)."""

from haltpoint.chain.model.state import goal_in_full
from haltpoint.chain.model.work import Work


def goal_of(work: Work) -> str:
    """What is asked for, as prompts have it."""
    return goal_in_full(work.task, work.goal, work.answers)


def goal_alone(work: Work) -> str:
    """The user's goal, whatever an agent has made of it, without what they said in the chain."""
    return goal_in_full(work.task, work.task.asked if work.goal is None else work.goal, ())


def users_goal(work: Work) -> str:
    """The user's goal, whatever an agent has made of it, with what persons said in the chain itself."""
    return "\n".join((goal_alone(work), *work.answers))
