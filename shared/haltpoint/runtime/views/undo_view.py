"""What a chain has done that can be undone, and the task that undoes it (CONTRACT E7). Pure."""

from collections.abc import Iterator
from operator import itemgetter

from msgspec.structs import replace

from haltpoint.chain.checks.undoing import undo_plan
from haltpoint.contracts.work.tasks import Budget, Task
from haltpoint.runtime.views.chain_view import view_of
from haltpoint.runtime.views.record import ChainRecord

_PASSED_ON = ("context", "private", "tenant", "user", "language")


def undo_task(record: ChainRecord, seconds: float) -> Task | None:
    """The task that undoes what can be undone, the last effect first, for the same tenant and user, in so many
    seconds; None when there is nothing to undo.
    """
    done = [(tool, action) for _, tool, action in sorted(_undoable(record), key=itemgetter(0))]
    passed_on = {name: getattr(record.task, name) for name in _PASSED_ON}
    task = Task(goal=f"Undo {record.id}", plan=undo_plan(done), budget=Budget(seconds=seconds))
    return replace(task, **passed_on) if done else None


def _undoable(record: ChainRecord) -> Iterator[tuple[float, str, str]]:
    """When each call ended, its tool and its action, those inside of skills included."""
    for step in view_of(record).steps:
        for action in step.actions:
            receipt = action.receipt
            if receipt is not None and receipt.metadata.undoable and not receipt.metadata.repeats:
                ended = receipt.metadata.started_at + receipt.metadata.duration_ms
                yield ended, action.tool, action.id
    for below in record.children.values():
        yield from _undoable(below)
