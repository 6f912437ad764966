"""Tools: what each declares (CONTRACT A)."""

import hashlib
from enum import StrEnum
from typing import Annotated, Any, Final

from msgspec import Meta, field, json

from haltpoint.contracts.base import Contract, Count, Seconds
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.work.plans import Plan

DEFAULT_TIMEOUT: Final = 30.0  # seconds
EFFECT_TTL: Final = 30 * 86400.0  # seconds
UNDO: Final = "~undo"
"""The end of the name of a tool that undoes the calls of another (E7): no author can declare such a name."""
ASK_HUMAN: Final = "askHuman"
END_STEP: Final = "end_step"
BUILT_IN: Final = frozenset((ASK_HUMAN, END_STEP))
"""The tools that the core itself carries out; they change nothing."""
CONFIRMED = "confirmed"
"""The parameter of a tool that says whether a person has approved this call; only the runtime sets it (B7)."""


class Retry(Contract):
    """How often a call runs that may run again by E2's table, and when: about `first` seconds after the first failure,
    twice as long after each further one, `most` at most. As an author writes them, seconds may be text: "500ms".
    """

    attempts: Annotated[int, Meta(ge=1, le=100)] = 3
    first: float | str = 1.0
    most: float | str = 30.0
    on: tuple[ErrorType, ...] = (ErrorType.RATE_LIMIT, ErrorType.TIMEOUT, ErrorType.SERVER, ErrorType.UNKNOWN)


UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
"""What times are declared in, in seconds."""


class LimitKind(StrEnum):
    """How often calls begin, or how many run at one moment."""

    RATE = "rate_limit"
    AT_ONCE = "at_once"


class Limit(Contract):
    """What all workers together keep to (E6). RATE: `calls` in `seconds` (one of `UNITS`), `burst` of them at one
    moment. AT_ONCE: so many calls at one moment. `per_tenant`: for each tenant on its own.
    """

    kind: LimitKind
    calls: Count
    seconds: Annotated[Seconds, Meta(description="of a rate")] = 1.0
    burst: Count = 1
    per_tenant: bool = False

    def __str__(self) -> str:
        text = f"{self.calls}"
        if self.kind is LimitKind.RATE:
            unit = next(unit for unit, seconds in UNITS.items() if seconds == self.seconds)
            text += f"/{unit}" + (f" burst {self.burst}" if self.burst > 1 else "")
        return text + (" per tenant" if self.per_tenant else "")


class ToolKind(StrEnum):
    """A skill and an agent are tools in every respect (A, I1); the word is for people and hooks."""

    TOOL = "tool"
    SKILL = "skill"
    AGENT = "agent"


_NOT_DECLARED: Final = ("hooks", "inside", "gone")


class ToolSpec(Contract):
    """What a tool declares (A), as it is in the catalogue. Without any effect flag a tool is started at most once.

    By places in the arguments, `provenance` names tool.path or goal, any one of which is enough (C6); `targets` are the
    places of what says to whom or where, as its worker has marked them (C13). `hooks` are the worker's that match, in
    the order they run in (H1). `gone` is said by the catalogue, never declared: no worker serves the tool any more; so
    is `inside`.
    """

    name: str
    kind: ToolKind = ToolKind.TOOL
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    result_schema: dict[str, Any] | None = None
    read_only: bool = False
    idempotent: bool = False
    destructive: bool = False
    may_clarify: bool = False
    repeats: Annotated[bool, Meta(description="the same call may be made again without a question (C6, C14)")] = False
    internal: bool = False
    queue: str = "default"
    timeout: Annotated[Seconds, Meta(description="seconds")] = DEFAULT_TIMEOUT
    reconciles: Annotated[bool, Meta(description="it can be asked whether a call in doubt happened (E5)")] = False
    retry: Annotated[Retry | None, Meta(description="how often a call that may run again does (E2)")] = None
    limits: Annotated[tuple[Limit, ...], Meta(description="what all workers together keep to (E6)")] = ()
    effect_key: Annotated[str | None, Meta(description="names its one effect, over all chains of a tenant (E6)")] = None
    effect_ttl: Annotated[Seconds, Meta(description="seconds that the effect is remembered")] = EFFECT_TTL
    says: Annotated[str | None, Meta(description="what a call did, {name} for an argument or a field (F1)")] = None
    confirms: Annotated[bool, Meta(description="it has a parameter `confirmed` that only the runtime sets (B7)")] = (
        False
    )
    provenance: dict[str, tuple[str, ...]] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    foreign: Annotated[tuple[str, ...], Meta(description="places in the data that strangers write (C13)")] = ()
    hooks: tuple[str, ...] = ()
    plan: Annotated[Plan | None, Meta(description="the steps of a skill that a chain of its own carries out")] = None
    inside: Annotated[tuple[str, ...], Meta(description="the tools that the chain of an agent may call")] = ()
    gone: bool = False

    @property
    def repeatable(self) -> bool:
        """Whether an interrupted call may simply run again (E5). Of a skill with steps a worker asks the hooks only."""
        return self.read_only or self.idempotent or self.plan is not None

    @property
    def undoes(self) -> str:
        """The tool whose calls it undoes; empty for a tool that an author declared (E7)."""
        return self.name.removesuffix(UNDO) if self.name.endswith(UNDO) else ""

    @property
    def digest(self) -> str:
        """Twelve hex digits over everything declared: a chain keeps the digests that it was planned with.

        Hooks are not declared by the tool but put around it: another hook makes no other tool.
        """
        declared = {name: getattr(self, name) for name in self.__struct_fields__ if name not in _NOT_DECLARED}
        return hashlib.sha256(json.encode(declared, order="sorted")).hexdigest()[:12]
