"""Values of an order that need no origin when a worker asks once more where they come from (C6, H3)."""

from typing import Any

from pydantic_core import from_json

from haltpoint.chain.checks.places import leaves
from haltpoint.chain.checks.sources import MODEL
from haltpoint.contracts.reasons import SourceKind
from haltpoint_tool_worker.running.job import Job


def persons_values(job: Job) -> list[Any]:
    """The values that a person wrote."""
    return _values_of(job, SourceKind.PERSON)


def words_of_the_goal(job: Job) -> list[str]:
    """The values that are in the user's words."""
    return [str(value) for value in _values_of(job, SourceKind.GOAL)]


def _values_of(job: Job, source: SourceKind) -> list[Any]:
    sources = job.request.sources or {}
    plain = leaves(from_json(job.arguments or "{}")) if sources else ()
    return [leaf.value for leaf in plain if sources.get(leaf.place, MODEL).source is source]
