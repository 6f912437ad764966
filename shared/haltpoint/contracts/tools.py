"""Tools: what each declares (CONTRACT A)."""

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, field

from haltpoint.contracts.base import Contract, Count, JsonObject, Seconds, Strings
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.work.plans import Plan

DEFAULT_TIMEOUT: Final = 30.0  # seconds
UNDO: Final = "~undo"
"""The end of the name of a tool that undoes the calls of another (E7): no author can declare such a
name.
"""
ASK_HUMAN: Final = "askHuman"
END_STEP: Final = "end_step"
BUILT_IN: Final = frozenset((ASK_HUMAN, END_STEP))
"""The tools that the core itself carries out; they change nothing."""
CONFIRMED = "confirmed"
"""The parameter of a tool that says whether a person has approved this call; only the runtime sets
it (B7).
"""


class Retry(Contract):
    """How often a repeatable call runs again, and when: up to `first` seconds after
    the first failure, twice as long after each further one, `most` at most. As an author writes
    them, seconds may be text: "500ms".
    """

    attempts: Annotated[int, Meta(ge=1, le=100)] = 3
    first: float | str = 1.0
    most: float | str = 30.0
    on: tuple[ErrorType, ...] = (
        ErrorType.RATE_LIMIT,
        ErrorType.TIMEOUT,
        ErrorType.SERVER,
        ErrorType.UNKNOWN,
    )


class LimitKind(StrEnum):
    """`rate` limits how often calls begin, `at_once` how many run at the same time."""

    RATE = "rate_limit"
    AT_ONCE = "at_once"


class Limit(Contract):
    """What all workers together keep to (E6). RATE: `calls` in `seconds`, `burst`
    of them at one moment. AT_ONCE: so many calls at one moment. `per_tenant`: for each tenant on
    its own.
    """

    kind: LimitKind
    written: str
    """As its author wrote it: "10/s burst 20 per tenant"."""
    calls: Count
    seconds: Seconds = 1.0
    """Of a rate."""
    burst: Count = 1
    per_tenant: bool = False


class ToolKind(StrEnum):
    """A skill and an agent are tools in every respect (A, I1); the word is for people and hooks."""

    TOOL = "tool"
    SKILL = "skill"
    AGENT = "agent"


class Recovery(Contract):
    """How calls of a tool are repeated, limited, and known again (E)."""

    retry: Retry | None = None
    """How often a call that may run again does (E2); None: never."""
    reconciles: bool = False
    """The tool can be asked whether a call in doubt happened (E5)."""
    limits: tuple[Limit, ...] = ()
    """What all workers together keep to (E6)."""
    effect_key: str | None = None
    """Names its one effect, over all chains of a tenant (E6)."""


class ToolSpec(Contract):
    """What a tool declares (A), as it is in the catalogue. Without an effect it is started at most
    once.
    """

    name: str
    """As models and plans call it."""
    kind: ToolKind = ToolKind.TOOL
    """What it is, for people and hooks."""
    description: str = ""
    """What models read of it."""
    parameters: JsonObject = field(default_factory=lambda: {"type": "object", "properties": {}})
    """JSON Schema of the arguments."""
    result_schema: JsonObject | None = None
    """JSON Schema of the data of a result; None: any object."""
    read_only: bool = False
    """It changes nothing."""
    idempotent: bool = False
    """The same key takes effect once."""
    destructive: bool = False
    """It runs only under an approval (G)."""
    may_clarify: bool = False
    """It may ask which thing is meant (B)."""
    repeats: bool = False
    """The same call may be made again without a question (C6, C14)."""
    internal: bool = False
    """No model is offered it."""
    queue: str = "default"
    """The queue whose workers serve it."""
    timeout: Seconds = DEFAULT_TIMEOUT
    """Seconds that one run may take."""
    recovery: Recovery = Recovery()
    """How its calls are repeated, limited, and known again (E)."""
    previews: bool = False
    """It can say what a call would change before a person is asked about it (G)."""
    says: str | None = None
    """What a call did, with {name} for an argument or a field (F1)."""
    provenance: dict[str, Strings] = {}
    """By place in the arguments its origins, `tool.path` or `goal`, any of which is enough (C6)."""
    targets: Strings = ()
    """Places in the arguments that say to whom or where, as its worker has marked them (C13)."""
    foreign: Strings = ()
    """Places in the data that strangers write (C13)."""
    hooks: Strings = ()
    """The hooks of its worker that match, in the order they run in (H1). Not declared."""
    plan: Plan | None = None
    """The steps of a skill, which a separate chain carries out."""
    inside: Strings = ()
    """The tools that the chain of an agent may call. Not declared."""
    gone: bool = False
    """No worker serves it any more: the catalogue says so. Not declared."""

    @property
    def repeatable(self) -> bool:
        """Whether an interrupted call may simply run again (E5). Of a skill with steps a worker
        asks the hooks only.
        """
        return self.read_only or self.idempotent or self.plan is not None

    @property
    def undoes(self) -> str:
        """The tool whose calls it undoes; empty for a tool that an author declared (E7)."""
        return self.name.removesuffix(UNDO) if self.name.endswith(UNDO) else ""
