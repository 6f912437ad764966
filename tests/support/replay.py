"""A chain told again from its log."""

from collections.abc import Iterable

from haltpoint.chain.decide import decide
from haltpoint.chain.model.limits import World
from haltpoint.chain.model.state import Chain
from haltpoint.contracts.events import Received


def fold(chain: Chain, log: Iterable[tuple[Received, int]], world: World) -> Chain:
    """The chain after all inputs of its log, each with the `now` (ms) at which it was decided on;
    no effects.

    From the same first chain, log and world the same chain comes out, whatever has happened since.
    """
    for received, now in log:
        chain = decide(chain, received, world, now).chain
    return chain
