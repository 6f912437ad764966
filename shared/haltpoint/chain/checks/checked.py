"""A call that is being judged, and what its judges look at (CONTRACT C6, C13, C14)."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Final, Self

from haltpoint.chain.checks.contract import without_confirmed
from haltpoint.chain.checks.documents import SHORT
from haltpoint.chain.checks.places import Leaf, leaves
from haltpoint.chain.checks.sources import Known, provenance_fault, users_words
from haltpoint.chain.checks.templates import judged
from haltpoint.chain.model.references import read_json, write_json
from haltpoint.chain.model.schemas import compiled
from haltpoint.chain.model.signatures import signature_of
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import action_of
from haltpoint.contracts.reasons import Source, SourceKind
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction

MOST: Final = 1000
"""Values of a call whose sources are looked for; targets before others."""


_PLAN: Final = Source(source=SourceKind.GOAL, where="plan")
"""The source of what the submitter of a literal plan has written into it."""


@dataclass(eq=False)
class CheckedCall:
    """A call of a step, which its judges look at. What they need is worked out when it is asked for, and once: it is of
    the moment, and made anew when an action has been added to the chain. `held_to` replaces the step's mode.
    """

    work: Work
    index: int
    spec: ToolSpec
    arguments: dict[str, Any]
    held_to: Mode | None = None

    @classmethod
    def proposed(cls, work: Work, index: int, call: ProposedCall) -> Self:
        """A call that a model proposes, without `confirmed`; nothing is known yet of its tool and its arguments."""
        call = without_confirmed(call, work.world.tools)
        return cls(work, index, work.world.spec(call.tool), call.arguments)

    @classmethod
    def of(cls, work: Work, action: Action) -> Self:
        """The call that an action makes, as it was proposed."""
        return cls(work, action.step, work.world.spec(action.tool), read_json(action.arguments))

    @property
    def mode(self) -> Mode:
        """How far the model is held to its word in it."""
        return self.held_to or self.work.mode(self.index, self.spec.name)

    @cached_property
    def known(self) -> Known:
        """All that the chain knows."""
        return Known(self.work)

    @property
    def judged(self) -> ToolSpec:
        """The tool with its targets: a skill has those of this call."""
        return self._judged[0]

    @property
    def leaves(self) -> list[Leaf]:
        """The values of the call."""
        return self._judged[1]

    @cached_property
    def _judged(self) -> tuple[ToolSpec, list[Leaf]]:
        return judged(self.spec, self.arguments, self.work.world.tools, self.work.world.policy.targets)

    @cached_property
    def sources(self) -> dict[str, Source]:
        """The sources of the values by their places; none where nothing looks at them. Where no rule names a source
        those are the calls of a submitter's literal plan, and of a read-only tool that neither carries data outward nor
        takes values with an origin.
        """
        unseen = self.spec.read_only and not self.spec.outward and not self.spec.provenance
        literal, ruled = self.work.origin is PlanOrigin.LITERAL, self.work.world.policy.sourced
        unseen = unseen or literal or self.mode is Mode.OFF
        if unseen and not any(fnmatchcase(self.spec.name, glob) for glob in ruled):
            return {}
        calls = self.work.steps[self.index].actions if literal and action_of(self.work.id) is None else ()
        written = {leaf.value for call in calls for leaf in leaves(call.arguments)}
        first = sorted(self.leaves, key=lambda leaf: not leaf.named)[:MOST]
        seen = (leaf for leaf in first if len(leaf.place) <= SHORT)
        return {leaf.place: _PLAN if leaf.value in written else self.known.source(leaf) for leaf in seen}

    @property
    def made_up(self) -> Correction | None:
        """What is wrong with the first value that has no origin and needs one (C6)."""
        call, work = ProposedCall(tool=self.spec.name, arguments=self.arguments), self.work
        known = {"context": work.task.context, "answers": [*work.answers]}
        return provenance_fault(call, self.spec, known, work.receipts, users_words(work))

    @cached_property
    def signature(self) -> str:
        """What equal calls have in common."""
        return signature_of(compiled(self.spec), write_json(self.arguments))
