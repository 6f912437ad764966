"""The shape of a plan, worked out once: who is where, who waits for whom, and who refers to whose result."""

from collections.abc import Sequence
from typing import Self

from msgspec import Struct, field

from haltpoint.chain.model.references import references
from haltpoint.contracts.work.plans import Plan


class Graph(Struct, frozen=True, gc=False):
    """Indexes of a plan's steps by id, and for each step the indexes of those that it waits for and that wait for it.

    `sources` are the steps to whose results a step refers (`$from`), `readers` those that refer to its own. `promises`
    are the tools of each promise of a step (C3).
    """

    index: dict[str, int] = field(default_factory=dict)
    dependencies: tuple[tuple[int, ...], ...] = ()
    dependants: tuple[tuple[int, ...], ...] = ()
    sources: tuple[tuple[int, ...], ...] = ()
    readers: tuple[tuple[int, ...], ...] = ()
    promises: tuple[tuple[tuple[str, ...], ...], ...] = ()

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """The graph of a plan without faults (C1), or of a skill's: its `input` is no step."""
        index = {step.id: number for number, step in enumerate(plan.steps)}
        dependencies: list[tuple[int, ...]] = []
        sources: list[tuple[int, ...]] = []
        promises: list[tuple[tuple[str, ...], ...]] = []
        for step in plan.steps:
            dependencies.append(tuple([index[name] for name in step.dependencies]))
            found = [ref for call in step.actions for _, ref in references(call.arguments) if ref is not None]
            sources.append(tuple(sorted({index[ref.step] for ref in found if ref.step in index})) if found else ())
            promises.append(step.promised)
        edges = (_turned(dependencies), tuple(sources), _turned(sources), tuple(promises))
        return cls(index, tuple(dependencies), *edges)


def _turned(edges: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """The same edges seen from the other end, in ascending order."""
    turned: list[list[int]] = [[] for _ in edges]
    for number, others in enumerate(edges):
        for other in dict.fromkeys(others):
            turned[other].append(number)
    return tuple(map(tuple, turned))
