"""What this process has heard of each partition's history: so it notices when that goes backwards.

Each function answers with how far the partition has counted, and in which term (lua/base.lua). A
term is the time in which one server serves a partition without a break. When another begins, what
was heard in the one before is kept, until the server has said whether it knows all of it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from haltpoint.runtime.streams.refused import RefusedForNow


class Mark(NamedTuple):
    """A place in a partition's history: when its term began (ms), and how far it had counted."""

    term: int
    seq: int


class Continuity:
    """For all partitions. `on_break` hears at once that another term has begun in one: before the
    reply that says so reaches its caller. `held` says why nothing is sent now: a right is gone, and
    a function without it would end in its middle.
    """

    def __init__(self) -> None:
        self.held: RefusedForNow | None = None
        self.on_break: Callable[[int], None] = lambda _: None
        self._marks: dict[int, Mark] = {}
        self._before: dict[int, Mark] = {}

    def heard(self, partition: int, reply: Any) -> Any:
        """The answer of a function, without what it says of the history."""
        answer, seq, term = reply
        mark = self._marks.get(partition)
        if mark is not None and mark.term == term:
            if seq <= mark.seq:
                return answer
        elif mark is not None:
            self._before.setdefault(partition, mark)
            self.on_break(partition)
        self._marks[partition] = Mark(term, seq)
        return answer

    def mark(self, partition: int) -> Mark | None:
        """The last place that the server has not confirmed yet, or the newest one; None before the
        first reply.
        """
        return self._before.get(partition) or self._marks.get(partition)

    def is_broken(self, partition: int) -> bool:
        """Whether another term has begun, and the server has not yet confirmed the last one."""
        return partition in self._before

    def confirm(self, partition: int, mark: Mark) -> None:
        """The server knows all up to this mark."""
        if self._before.get(partition) == mark:
            del self._before[partition]

    def told(self, partition: int) -> None:
        """The server has heard all that this process knows of a loss."""
        self._before.pop(partition, None)
