"""What a history is judged by: the rules, and the promises of the guarantees that they stand
for.
"""

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """The rules, and the promises of the guarantees that they stand for."""

    ONE_CHAIN = "one task, one chain (R2)"
    ONE_FINAL = "an accepted task reaches exactly one final state (R1)"
    NOTHING_AFTER = "nothing comes after the final state (R1)"
    ONE_COMMIT = "a version of a chain is made by one commit (R2)"
    ONE_RECEIPT = "an attempt of an action has one receipt, and it never changes (R3)"
    EFFECT_FIRST = "a receipt that says success has an effect behind it (R3)"
    SAME_ARGUMENTS = "every run of an action has the same arguments (R3)"
    ONE_EFFECT = (
        "an action with effects starts once, and again only when a person says: not happened (R4)"
    )
    APPROVED = "a confirmed run comes after its approval (R5)"
    THIS_CALL = "a destructive run comes after a yes to this action with just these arguments (R5)"
    ONE_ANSWER = "a request takes one answer (R6)"
    ANSWER = "the answer says what was done and what was not (F1)"
    EPOCHS_RISE = "the epochs of an entry rise (R8)"


@dataclass(frozen=True, slots=True)
class Violation:
    """What went wrong with whom, in words."""

    rule: Rule
    subject: str
    words: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.words} [{self.rule.value}]"
