"""The codes with which a chain fails, for people to look up. Apart from the rest, so that a command starts quickly."""

from enum import StrEnum


class Code(StrEnum):
    """One code per way in which a chain, or a step of it, fails by decision of the core.

    `meaning` is what it says in general; a `ChainError` says what happened in particular.
    """

    meaning: str

    def __new__(cls, code: str, meaning: str) -> "Code":
        """A code is text, and knows its meaning."""
        made = str.__new__(cls, code)
        made._value_ = code
        made.meaning = meaning
        return made

    PLAN_REFUSED = "HP-201", "The plan has problems; none of it ran."
    PLAN_NOT_FOUND = "HP-202", "The model did not produce a valid plan."
    TOOL_FAILED = "HP-204", "A tool failed, and the step that needed it failed with it."
    GIVEN_UP = "HP-205", "The model ended a step after an error of a tool."
    NOT_RESOLVED = "HP-206", "The arguments of a literal call cannot be built from the earlier results."
    TOOL_GONE = "HP-207", "No worker declares the tool any more."
    OVER_BUDGET = "HP-208", "The chain has used up its budget."
    TOO_LATE = "HP-209", "The chain's deadline has passed."
    NO_ANSWER = "HP-210", "The chain's question got no answer in time."
    MESSAGE_LOST = "HP-211", "A message that the chain waited for could not be processed; it is in the dead letters."
    TOO_DEEP = "HP-212", "Skills call skills more levels deep than allowed."
    NOT_ROUTED = "HP-215", "The supervisor named no agent, and none may get the task."
    AGENT_GONE = "HP-216", "No agent of the agents file has the name that the task gives."
