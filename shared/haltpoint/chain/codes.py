"""The codes with which a chain fails, for people to look up."""

from enum import StrEnum


class Code(StrEnum):
    """One code per way in which a chain, or a step of it, fails by decision of the core."""

    PLAN_REFUSED = "HP-201"
    PLAN_NOT_FOUND = "HP-202"
    TURNS_USED_UP = "HP-203"
    TOOL_FAILED = "HP-204"
    GIVEN_UP = "HP-205"
    NOT_RESOLVED = "HP-206"
    TOOL_GONE = "HP-207"
    OVER_BUDGET = "HP-208"
    TOO_LATE = "HP-209"
    NO_ANSWER = "HP-210"
    MESSAGE_LOST = "HP-211"
    TOO_DEEP = "HP-212"
    UNFULFILLED = "HP-213"


MEANING: dict[Code, str] = {
    Code.PLAN_REFUSED: "The plan has faults; nothing of it ran.",
    Code.PLAN_NOT_FOUND: "The model did not draw up a plan that can be carried out.",
    Code.TURNS_USED_UP: "The model used up the turns of a step before the step was complete.",
    Code.TOOL_FAILED: "A tool failed, and the step that needed it failed with it.",
    Code.GIVEN_UP: "The model gave a step up after an error of a tool.",
    Code.NOT_RESOLVED: "The arguments of a literal call cannot be put together from the earlier results.",
    Code.TOOL_GONE: "No worker declares the tool any more.",
    Code.OVER_BUDGET: "The chain has used up its budget.",
    Code.TOO_LATE: "The chain's deadline has passed.",
    Code.NO_ANSWER: "Nobody answered the chain's question in time.",
    Code.MESSAGE_LOST: "A message that the chain waited for could not be processed; it is in the dead letters.",
    Code.TOO_DEEP: "Skills that call skills go deeper than is allowed.",
    Code.UNFULFILLED: "The goal asks for an effect that has no deed, and nothing shows why it was not needed.",
}
"""What each code means in general; a `ChainError` says what happened in particular."""
