"""What the runtime suggests to a model after an error whose tool suggests nothing (E1). No words
for people.
"""

from collections.abc import Mapping
from typing import Final

from haltpoint.contracts.results import ErrorType

BY_TYPE: Final[Mapping[ErrorType, str]] = {
    ErrorType.VALIDATION: "Correct the named fields and call the tool again.",
    ErrorType.NOT_FOUND: "Check the identifier, or look it up with another tool first.",
    ErrorType.PERMISSION: "It is not allowed; do not try again.",
    ErrorType.RATE_LIMIT: "Wait before calling this tool again.",
    ErrorType.TIMEOUT: "Try again later, or ask for less at once.",
    ErrorType.SERVER: (
        "The service behind the tool has a problem; try again later or in another way."
    ),
    ErrorType.BLOCKED: "It is not permitted; do not try again.",
    ErrorType.DENIED: "Do not try again.",
    ErrorType.IN_DOUBT: "Do not try again; a person finds out whether it happened.",
    ErrorType.UNKNOWN: "The tool itself failed; calling it again will not help.",
}
OTHERWISE: Final = "Try it with other arguments, or in another way."
A_BUG: Final = "This is a bug in the tool; calling it again will not help."
FIND_OUT: Final = "Find out whether it happened before you call it again."

FOR_MODELS: Final = frozenset((*BY_TYPE.values(), OTHERWISE, A_BUG, FIND_OUT))
