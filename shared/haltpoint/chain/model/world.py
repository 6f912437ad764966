"""What lies outside a chain and yet is needed to decide about it: `decide` takes it as a value."""

from dataclasses import field

from haltpoint.contracts.base import value
from haltpoint.contracts.policy import Messages, Pattern, Targets, Treatment, Treatments
from haltpoint.contracts.tools import ToolSpec


@value
class Policy:
    """The numbers and words that rule every chain. Times in seconds. Calls of the tools that the globs `sourced` name
    have the sources of their values in every mode (G4).
    """

    max_turns: int = 10
    actions_per_turn: int = 1
    parallel: int = 1
    strikes: int = 3
    max_steps: int = 50
    max_actions: int = 100
    max_chain_turns: int = 100
    lease: float = 10.0
    request_timeout: float = 24 * 3600.0
    chain_timeout: float = 7 * 24 * 3600.0
    patterns: tuple[Pattern, ...] = ()
    messages: Messages = field(default_factory=Messages)
    language: str = "en"
    claims_check: str = "hint"
    repeated_effects: Treatments = Treatment.ASK
    unasked_effects: Treatments = Treatment.ASK
    targets: Targets = field(default_factory=Targets)
    sourced: tuple[str, ...] = ()


@value
class World:
    """What lies outside the chain and yet is needed to decide about it, as values."""

    tools: dict[str, ToolSpec] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
