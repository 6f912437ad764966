"""What is known of one chain when it is over: the truth of its case, and what really happened. Values only."""

from dataclasses import dataclass

from haltpoint.contracts.answers import WhyNot
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.reasons import ReasonKind
from haltpoint.evals.case import Case
from haltpoint.evals.effects import Ran


@dataclass(frozen=True, slots=True)
class Asked:
    """One question that reached the person, as they saw it; `answered` (ns) None: it never was.

    `before`: the actions that had been dispatched when it was asked. `chosen` is the option that they took, `by_hand`
    the tool whose work they did themselves. Of a confirmation: the `call` that was asked about (tool and arguments, as
    JSON), why, and whether it was `approved`.
    """

    kind: RequestKind
    step: str
    action: str
    answered: int | None
    before: frozenset[str] = frozenset()
    options: tuple[str, ...] = ()
    chosen: str | None = None
    by_hand: str = ""
    call: str = ""
    reasons: tuple[ReasonKind, ...] = ()
    approved: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """A step of the plan, as it ended: what it had promised, and whether it passes for done."""

    id: str
    completed: bool
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """One chain. `status` is empty when it did not end; `dispatched` are its actions up to its final event.

    `violations` are the thoughts that broke the contract, as the chain counted them; `answer`, `deeds` (action, tool)
    and `not_done` (tool, why) are what was delivered. `routed` are the agents that were decided for, `worked` those
    that got the task, `rounds` the most calls in a row before an agent did.
    """

    chain: str
    case: Case
    mode: str
    status: str
    answer: str
    deeds: tuple[tuple[str, str], ...] = ()
    not_done: tuple[tuple[str, WhyNot], ...] = ()
    dispatched: frozenset[str] = frozenset()
    steps: tuple[Ended, ...] = ()
    ran: tuple[Ran, ...] = ()
    asked: tuple[Asked, ...] = ()
    violations: int = 0
    escalated: bool = False
    seconds: float = 0.0
    routed: tuple[str, ...] = ()
    worked: tuple[str, ...] = ()
    rounds: int = 0

    def by_hand(self, step: str | None = None) -> frozenset[str]:
        """The tools whose work a person has done, in this step or in any."""
        return frozenset(one.by_hand for one in self.asked if one.by_hand and step in (None, one.step))
