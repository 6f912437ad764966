"""A call that is being judged, and what its judges look at (CONTRACT C6, C13, C14)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from haltpoint.chain.checks.contract import without_confirmed
from haltpoint.chain.checks.knowledge import Known
from haltpoint.chain.checks.values import respelled
from haltpoint.chain.model.reading import read_arguments
from haltpoint.chain.model.references import read_json, write_json
from haltpoint.chain.model.schemas import compiled
from haltpoint.chain.model.signatures import signature_of
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.work import Work
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.tasks import Mode


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
    _known: Known | None = None

    @classmethod
    def proposed(cls, work: Work, index: int, call: ProposedCall) -> Self:
        """A call that a model proposes, without `confirmed`; nothing is known yet of its tool and its arguments. These
        are read by the schema, and each value with an origin has the spelling of that origin (C9).
        """
        call = without_confirmed(call, work.world.tools)
        spec = work.world.spec(call.tool)
        arguments = read_arguments(spec, call.arguments)
        return cls(work, index, spec, respelled(work, spec, arguments))

    @classmethod
    def of(cls, work: Work, action: Action) -> Self:
        """The call that an action makes, as it was proposed."""
        return cls(work, action.step, work.world.spec(action.tool), read_json(action.arguments))

    @property
    def mode(self) -> Mode:
        """How far the model is held to its word in it."""
        return self.held_to or self.work.mode(self.index)

    @property
    def known(self) -> Known:
        """What the chain knows."""
        if self._known is None:
            self._known = Known.of(self.work)
        return self._known

    @cached_property
    def signature(self) -> str:
        """What equal calls have in common."""
        return signature_of(compiled(self.spec), write_json(self.arguments))
