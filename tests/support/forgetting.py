"""A chain as a fresh load gives it: what a decision leaves must be no more than that."""

from msgspec.structs import replace

from haltpoint.chain.model.needs import live_steps, needed_actions, needed_thoughts
from haltpoint.chain.model.state import Chain


def forget(chain: Chain) -> Chain:
    """The same chain with no more than is needed."""
    actions = {name: chain.actions[name] for name in needed_actions(chain) if name in chain.actions}
    thoughts = needed_thoughts(chain)
    proposals = {index: kept for index, kept in chain.proposals.items() if index in thoughts}
    return replace(chain, live=live_steps(chain.runs), actions=actions, proposals=proposals)
