"""What an executor knows of a partition whose history went backwards (R10): the chains that it had
in its cache when the server came back.
"""

from collections.abc import Iterator, Mapping, Sequence
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

_ANY_CALL: Final = "0" * 40
"""In place of the digest of a call that is not known any more."""


@value
class _Begun:
    """An action that a chain has sent."""

    id: str
    action: Action | None
    """As far as the chain still has it."""
    specs: Sequence[ToolSpec | None]
    """The tools of which it calls one, as far as they are served."""
    is_over: bool

    @property
    def is_plain(self) -> bool:
        """Whether a worker carries it out, and no other chain."""
        plain = [spec is not None and spec.plan is None for spec in self.specs]
        return bool(plain) and all(plain)

    @property
    def is_repeatable(self) -> bool:
        """Whether it may simply run again."""
        return self.is_plain and all(spec is not None and spec.repeatable for spec in self.specs)

    def recalled(self) -> Recalled:
        """As it is told to the server."""
        action = self.action
        if action is None:
            return Recalled(self.id, 1, _ANY_CALL)
        digest = call_digest(action.tool, action.arguments)
        outcome, receipt = action.outcome, ""
        if outcome and not (outcome.error and outcome.error.error_type is ErrorType.IN_DOUBT):
            receipt = Receipt(Kind.RECEIPT, encode(outcome).decode(), action.data).text
        return Recalled(self.id, action.attempt, digest, receipt=receipt)


async def tell(
    partition: int, chains: Sequence[Loaded], world: CurrentWorld, recovery: Recovery, store: Store
) -> None:
    """Tell what these chains have done. Those that the server has lost begin again when workers
    have announced their tools to it, and what they have sent before counts as started; where other
    chains worked for them they are gone, and people read that.

    Raises redis-py's errors; then it may be done again.
    """
    lost = await store.missing([loaded.chain.id for loaded in chains])
    calls: list[Recalled] = []
    begin_again: list[Loaded] = []
    steps: list[Step] = []
    for loaded in chains:
        chain = loaded.chain
        begun = list(_begun(chain, world.value.tools))
        is_lost = chain.id in lost
        # What is under way has a worker that reports it, unless the chain is lost.
        over = [each for each in begun if each.is_over or is_lost]
        calls += [each.recalled() for each in over if not each.is_repeatable]
        if is_lost and parent_of(chain.id) is None and all(each.is_plain for each in begun):
            begin_again.append(loaded)
            steps += _steps(chain)
    await recovery.recall(partition, calls)
    await world.until_listed(tools_of(steps))
    for loaded in begin_again:
        await store.begin_again(loaded)
    await recovery.miss(partition, sorted(lost))


def _begun(chain: Chain, tools: Mapping[str, ToolSpec]) -> Iterator[_Begun]:
    steps = _steps(chain)
    for step, run in zip(steps, chain.runs, strict=False):  # before it begins it has no runs
        for number in range(1, run.actions + 1):
            name = action_id(chain.id, step.id, number)
            action = chain.actions.get(name)
            names = {action.tool} if action is not None else tools_of([step])
            specs = [tools.get(tool) for tool in names]
            yield _Begun(name, action, specs, number not in run.pending)


def _steps(chain: Chain) -> Sequence[Step]:
    return () if chain.plan is None else chain.plan.steps
