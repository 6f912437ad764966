"""The hooks that every tool has (CONTRACT H3). They are the worker's own steps, written where they cost least; their
names are listed with the others', and a receipt has one that said something else than allow.
"""

from typing import Final

from haltpoint.contracts.results import HookRecord, HookVerdict
from haltpoint.contracts.tools import ToolSpec
from haltpoint_tool_worker.hooks.loading import HookChain

INTERNAL: Final = "builtin:internal"
"""Refuses a tool that no plan and no model may call (`admission.py`)."""
ARGUMENTS: Final = "builtin:arguments"
"""Refuses arguments that do not fit the tool's parameters (`admission.py`)."""
PROVENANCE: Final = "builtin:provenance"
"""Refuses values without an origin, checked again by the receipts of now (`admission.py`)."""
APPROVALS: Final = "builtin:approvals"
"""Refuses what a rule of the policy file refuses, and reads where one asks (`rules.py`)."""
JSON_SAFE: Final = "builtin:json_safe"
"""Makes every result plain JSON of a bounded size (`results.py`)."""
REDACT: Final = "builtin:redact"
"""Stars secrets of known forms in the words of errors, warnings and instructions (`redaction.py`)."""


def names_around(spec: ToolSpec, hook_chain: HookChain | None, *, ruled: bool) -> tuple[str, ...]:
    """All hooks of a tool in the order in which they run; provenance only where there is something to ask for, and
    approvals only where there are rules (`ruled`).
    """
    post = hook_chain.post if hook_chain is not None else ()
    return (*names_before(spec, hook_chain, ruled=ruled), JSON_SAFE, REDACT, *(hook.name for hook in post))


def names_before(spec: ToolSpec, hook_chain: HookChain | None, *, ruled: bool) -> tuple[str, ...]:
    """Those that run before a call."""
    pre = hook_chain.pre if hook_chain is not None else ()
    own = (*((PROVENANCE,) if spec.provenance else ()), *((APPROVALS,) if ruled else ()))
    return (INTERNAL, ARGUMENTS, *(hook.name for hook in pre), *own)


def refused_by(name: str) -> HookRecord:
    """The line of a receipt that one of them refused."""
    return HookRecord(name=name, verdict=HookVerdict.BLOCK)


def reported_by(rule: str) -> HookRecord:
    """What the receipt says of a rule of the policy file that only reports (G4)."""
    return HookRecord(name=f"{APPROVALS}:{rule}", verdict=HookVerdict.WOULD_ASK)
