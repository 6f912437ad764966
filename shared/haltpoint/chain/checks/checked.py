"""A call that is being checked, and what the rules about its values and its repeats look at (CONTRACT C13, C14).

There is one signature per call, however a model spells it: names in any order, defaults of the schema filled in, texts
in their canonical spelling (an IBAN with blanks, an address in capitals), numbers as the schema types them: "7" is 7
where an integer is asked for, 7.0 is 7 everywhere. All else tells two calls apart.
"""

import hashlib
import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from typing import Any, Final, Self

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.contract import without_confirmed
from haltpoint.chain.checks.documents import SHORT
from haltpoint.chain.checks.places import Leaf, leaves
from haltpoint.chain.checks.sources import Known, provenance_fault, users_words
from haltpoint.chain.checks.templates import MOST_LEVELS, fill, judged
from haltpoint.chain.model.canonical import canonical
from haltpoint.chain.model.references import read_json, references, write_json
from haltpoint.chain.model.schemas import Compiled, compiled
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.typed import Nodes, exact, walked
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
    """A call of a step, its arguments fitting the schema. All else is worked out when it is asked for, and once: it is
    of the moment, and made anew when an action has been added to the chain.
    """

    work: Work
    index: int
    spec: ToolSpec
    arguments: dict[str, Any]

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
        return self.work.mode(self.index, self.spec.name)

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

    @cached_property
    def equal(self) -> list[Action]:
        """The actions with a receipt that made the same call, as it was proposed or as hooks had it run."""
        spec, name, found = compiled(self.spec), self.spec.name, list[Action]()
        for one in self.work.receipts.values():
            if one.tool == name and one.outcome is not None:
                same = self.signature in {signature_of(spec, text) for text in (one.arguments, one.ran)}
                found += [one] if same else []
        return found

    @cached_property
    def nested(self) -> list["CheckedCall"]:
        """The calls that a skill makes of it by its template; one that takes an earlier result is not known."""
        tools, found = self.work.world.tools, list[tuple[CheckedCall, int]]([(self, 0)])
        for made, level in found:  # grows while it is walked
            plan = made.spec.plan if level < MOST_LEVELS else None
            for step in () if plan is None else fill(plan, made.arguments).steps:
                known = (one for one in step.actions if one.tool in tools and not any(references(one.arguments)))
                found += (
                    (CheckedCall(self.work, self.index, tools[one.tool], one.arguments), level + 1) for one in known
                )
        return [made for made, _ in found[1:]]


def ledger_entry(spec: ToolSpec, arguments: str, at: int, action: str, mark: str) -> str:
    """What one call did, as ledgers keep it: its signature, when it began (ms), its id, and done, in_doubt,
    denied or failed.
    """
    return f"{signature_of(compiled(spec), arguments)} {at} {action} {mark}"


@lru_cache(maxsize=2048)
def signature_of(known: Compiled, text: str) -> str:
    """Sixteen hex digits over the tool and its arguments (JSON text); of askHuman over what the question says."""
    spec = known.spec
    return hashlib.sha256(json.dumps([spec.name, alike(spec, text)], sort_keys=True).encode()).hexdigest()[:16]


def alike(spec: ToolSpec, text: str) -> Any:
    """The arguments of a call (JSON text) in the one form that equal calls have: defaults filled in, typed, trimmed."""
    given = read_json(text)
    if spec.name == human_tool.NAME:
        given = human_tool.asked_in(given)
    return walked(given, spec.parameters, spec.parameters, _scalar, filled=True)


def _scalar(value: Any, leaves: Nodes) -> Any:
    found = exact(value.strip(), leaves) if isinstance(value, str) else value
    if isinstance(found, float) and found.is_integer():
        return int(found)
    return canonical(found) if isinstance(found, str) else found
