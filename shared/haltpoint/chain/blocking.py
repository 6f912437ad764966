"""`blocked_tools` of the policy file: names that no model may call (CONTRACT A, C2)."""

from collections.abc import Collection, Mapping

from haltpoint.chain.plain_text import folded
from haltpoint.contracts.tools import ToolSpec


def with_policy(tools: Mapping[str, ToolSpec], blocked: Collection[str]) -> dict[str, ToolSpec]:
    """The tools, with those internal that are blocked. Neither case, signs nor look-alikes make another name."""
    names = {folded(name) for name in blocked}
    return {
        name: spec.model_copy(update={"internal": True}) if names and folded(name) in names else spec
        for name, spec in tools.items()
    }
