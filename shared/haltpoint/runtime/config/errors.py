"""Errors that people read: a code, what happened, why, and what to do. One catalogue of all
codes.
"""

from json import JSONDecodeError
from typing import Final

from haltpoint.chain.model.statuses import Code

CATALOGUE: Final[dict[str, str]] = {
    "HP-001": "The settings are not valid.",
    "HP-002": "A bug in Haltpoint ended a service, a command or a chain.",
    "HP-003": "The address to listen on is in use or not valid.",
    "HP-004": "The policy file cannot be used.",
    "HP-006": "Notices of the policy file go nowhere.",
    "HP-010": "The Redis server cannot be reached, or rejects the login.",
    "HP-011": "The server lacks a command that Haltpoint needs.",
    "HP-012": "The server may evict keys when its memory is full.",
    "HP-013": "The server may lose acknowledged writes.",
    "HP-014": "The function library of this version is missing on the server.",
    "HP-015": "A stream or its consumer group is missing.",
    "HP-016": "The deployment has another number of partitions.",
    "HP-017": "The clocks of this machine and of the server differ.",
    "HP-018": "The connection to the server is not encrypted.",
    "HP-019": "The test kit's clock is set on this server.",
    "HP-020": "A consumer group vanished while a service ran; the service makes it anew.",
    "HP-021": "The Redis server refuses writes for now; services wait until it accepts them again.",
    "HP-022": (
        "Chains of another release are under way, and this release stores chains in another form."
    ),
    "HP-023": "The server's history went backwards: it has lost writes that it had acknowledged.",
    "HP-024": "A Sentinel, a node of the cluster or a replica is missing.",
    "HP-025": "The user of the Redis server lacks a right that Haltpoint needs.",
    "HP-030": "The tools of a worker cannot be used.",
    "HP-031": "Two tools have the same name.",
    "HP-032": "A hook cannot be loaded.",
    "HP-033": "The lifespan of a tool failed.",
    "HP-034": "A skill cannot be used.",
    "HP-035": "The escalation handler cannot be loaded.",
    "HP-036": "Calls that do not end hold the slots of a worker.",
    "HP-037": "The agents file cannot be used.",
    "HP-038": "A call blocked the event loop of its worker.",
    "HP-039": "The file of phrases cannot be used.",
    "HP-040": "The command line is not valid.",
    "HP-041": "A file cannot be read, or has the wrong content.",
    "HP-042": "The embedded server cannot start.",
    "HP-043": "The services did not become ready in time.",
    "HP-045": "The demo did not end as expected.",
    "HP-050": "The gateway cannot be reached.",
    "HP-051": "The gateway does not accept the key.",
    "HP-052": "The gateway refused the request; its message says why.",
    "HP-053": "Nothing has this id.",
    "HP-054": "The question is no longer open.",
    "HP-102": "A step waits for a tool whose queue is paused, or which no worker serves.",
    **{code.value: code.meaning for code in Code},
    "HP-301": "A chain needs a model and none is configured.",
    "HP-302": "The model's server cannot be reached.",
    "HP-303": "The model's server does not accept the key.",
    "HP-304": "The model's server rejects the request.",
    "HP-305": "The model's server is overloaded or failing.",
    "HP-306": "The reply of the model's server is not a chat completion.",
    "HP-307": "The model's server is too slow.",
    "HP-308": "A thought was started several times and never finished.",
    "HP-309": "A model reply arrived for a chain or step that no longer exists.",
    "HP-310": "The provider of a model cannot be used.",
    "HP-311": "The function that routes tasks failed.",
    "HP-312": "A prompt does not fit into the model's context.",
}
"""Every code and what it means in general; a `HaltpointError` says what happened in particular."""


MOST_WORDS: Final = 2000
"""Bytes of what an exception says that are kept."""

HOPELESS: Final = 2
"""The exit code of a service that would end the same way each time: settings, address, tools or
stored chains.
"""
BLOCKED: Final = 3
"""The exit code of a service whose event loop was blocked for good."""


class HaltpointError(Exception):
    """`HP-014 The function library is missing: nobody loaded it. Run: haltpoint init`.

    `code` is a key of `CATALOGUE`; `what` and `why` are half-sentences without a full stop, `fix`
    is a sentence.
    """

    def __init__(self, code: str, what: str, why: str, fix: str) -> None:
        if code not in CATALOGUE:
            raise KeyError(code)
        super().__init__(code, what, why, fix)
        self.code = code
        self.what = what
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.code} {self.what}: {self.why}. {self.fix}"


def in_words(error: BaseException) -> str:
    """The type of an exception and what it says, in short and fit to be written down; never raises,
    whatever the exception's own code does.
    """
    try:
        words = f": {error}"
    except Exception:  # noqa: BLE001 - the exception's own code failed
        words = ""
    return f"{type(error).__name__}{words}".encode(errors="replace")[:MOST_WORDS].decode(
        errors="replace"
    )


def why_unread(error: OSError | ValueError) -> str:
    """Why JSON could not be read, for people who wrote it."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    if isinstance(error, JSONDecodeError):
        return f"it is not JSON: see line {error.lineno}, column {error.colno}"
    if isinstance(error, UnicodeError):
        return "it is not UTF-8 text"
    return str(error)


def unforeseen(error: BaseException) -> HaltpointError:
    """HP-002: an unexpected exception has ended a service."""
    return HaltpointError(
        "HP-002",
        "the service ended",
        in_words(error),
        "This is a bug in Haltpoint: please report it with the lines above",
    )
