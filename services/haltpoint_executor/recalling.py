"""What an executor knows of a partition whose history went backwards (R10): the chains that it had
in its cache when the server came back.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Final

from haltpoint.chain.model.state import Action, Chain
from haltpoint.contracts.base import action_id, value
from haltpoint.contracts.base import action_of as parent_of
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import Step
from haltpoint.runtime.store.committing import Loaded
from haltpoint.runtime.store.recovery import Recalled, Recovery, call_digest
from haltpoint.runtime.store.rows import Kind, Receipt
from haltpoint.runtime.store.store import Store
from haltpoint.runtime.streams.wire import encode
from haltpoint_executor.world import CurrentWorld, tools_of

Tools = Mapping[str, ToolSpec]

_ANY_CALL: Final = "0" * 40
"""In place of the digest of a call that is not known any more."""


@value
class _Begun:
    """An action that a chain has sent. `names`: the tools of which it calls one."""

    id: str
    action: Action | None
    """As far as the chain still has it."""
    names: Set[str]
    is_over: bool

    def is_plain(self, tools: Tools) -> bool:
        """Whether a worker carries it out, and no other chain."""
        specs = [tools.get(name) for name in self.names]
        return bool(specs) and all(spec is not None and spec.plan is None for spec in specs)

    def is_repeatable(self, tools: Tools) -> bool:
        """Whether it may simply run again."""
        return self.is_plain(tools) and all(tools[name].repeatable for name in self.names)

    def recalled(self) -> Recalled:
        """As it is told to the server."""
        action = self.action
        if action is None:
            return Recalled(self.id, 1, _ANY_CALL)
        digest = call_digest(action.tool, action.arguments)
        return Recalled(self.id, action.attempt, digest, receipt=_receipt(action))


async def tell(
    partition: int,
    chains: Sequence[Loaded],
    world: CurrentWorld,
    recovery: Recovery,
    store: Store,
) -> None:
    """Tell what these chains have done. Those that the server has lost begin again when workers
    have announced their tools to it, and what they have sent before counts as started; where other
    chains worked for them they are gone, and people read that.

    Raises redis-py's errors; then it may be done again.
    """
    tools = world.value.tools
    lost = await store.missing([loaded.chain.id for loaded in chains])
    calls: list[Recalled] = []
    begin_again: list[Loaded] = []
    for loaded in chains:
        chain = loaded.chain
        begun = list(_begun(chain))
        is_lost = chain.id in lost
        calls += _started(begun, tools, is_lost=is_lost)
        if is_lost and parent_of(chain.id) is None and all(each.is_plain(tools) for each in begun):
            begin_again.append(loaded)
    await recovery.recall(partition, calls)
    await world.until_listed(tools_of(step for each in begin_again for step in _steps(each.chain)))
    for loaded in begin_again:
        await store.begin_again(loaded)
    await recovery.miss(partition, sorted(lost))


def _started(begun: Iterable[_Begun], tools: Tools, *, is_lost: bool) -> Iterator[Recalled]:
    """Calls that must not simply run again. One that is under way has a worker that reports it,
    unless the chain is lost.
    """
    for each in begun:
        if (each.is_over or is_lost) and not each.is_repeatable(tools):
            yield each.recalled()


def _begun(chain: Chain) -> Iterator[_Begun]:
    steps = _steps(chain)
    for step, run in zip(steps, chain.runs, strict=False):  # before it begins it has no runs
        for number in range(1, run.actions + 1):
            name = action_id(chain.id, step.id, number)
            action = chain.actions.get(name)
            names = {action.tool} if action is not None else tools_of([step])
            yield _Begun(name, action, names, number not in run.pending)


def _steps(chain: Chain) -> Sequence[Step]:
    return () if chain.plan is None else chain.plan.steps


def _receipt(action: Action) -> str:
    """As it is stored; empty where the call has no receipt, or is in doubt."""
    outcome = action.outcome
    if outcome is None or (outcome.error and outcome.error.error_type is ErrorType.IN_DOUBT):
        return ""
    return Receipt(Kind.RECEIPT, encode(outcome).decode(), action.data).text
