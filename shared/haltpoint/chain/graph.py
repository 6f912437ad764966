"""The shape of a plan, worked out once: who is where, and who waits for whom."""

from dataclasses import dataclass, field
from typing import Self

from haltpoint.contracts.plans import Plan


@dataclass(frozen=True, slots=True)
class Graph:
    """Indexes of a plan's steps by id, and for each step the indexes of those that it waits for and that wait for
    it."""

    index: dict[str, int] = field(default_factory=dict)
    dependencies: tuple[tuple[int, ...], ...] = ()
    dependants: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """The graph of a checked plan (C1: ids are unique, every dependency exists, there is no cycle)."""
        index = {step.id: number for number, step in enumerate(plan.steps)}
        dependencies = tuple(tuple(index[name] for name in step.dependencies) for step in plan.steps)
        dependants: list[list[int]] = [[] for _ in plan.steps]
        for number, needed in enumerate(dependencies):
            for other in needed:
                dependants[other].append(number)
        return cls(index, dependencies, tuple(tuple(sorted(group)) for group in dependants))
