"""What one chain decides: the real `decide`, on values that stand for whole chains and for
messages.

Chains are interned: equal values have the same number, and each pair of chain and message is
decided once. So a search through a hundred thousand states takes some hundred decisions.
"""

from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from haltpoint.chain.decide import decide
from haltpoint.chain.model.limits import Policy, World
from haltpoint.chain.model.outputs import Decision, Dispatch, Resolve, Withdraw
from haltpoint.chain.model.state import Chain, next_due
from haltpoint.contracts import events
from haltpoint.contracts.events import Received
from haltpoint.contracts.facts import FINAL_FACTS
from haltpoint.contracts.people.approvals import Approval
from haltpoint.contracts.people.humans import Answer, Choice, Question, RequestKind
from haltpoint.contracts.results import (
    Clarification,
    Confirmation,
    ErrorInfo,
    ErrorType,
    NextAction,
    Option,
    Outcome,
    Target,
)
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import Plan, ProposedCall
from haltpoint.contracts.work.tasks import Task
from tests.proofs.functions import BrokenError, Change, Operation, Promise, Request, Sent
from tests.support.builders import owing
from tests.support.function_rules import Mutation, Receipt

CHAIN: Final = "c" * 32
HOUR: Final = 3_600_000
CREATED: Final = 1_800_000_000_000
TIMES: Final = (0, 25 * HOUR, 8 * 24 * HOUR)
"""The moments: now; when every question of now has expired; when the chain's deadline is over."""


class Kind(StrEnum):
    """What an action's tool is like. `asks`: read-only, and its result is a question."""

    READ_ONLY = "read_only"
    OTHER = "other"
    ASKS = "asks"
    DESTRUCTIVE = "destructive"

    @property
    def repeatable(self) -> bool:
        """Whether its effects may happen again."""
        return self in (Kind.READ_ONLY, Kind.ASKS)

    @property
    def spec(self) -> ToolSpec:
        """Its tool."""
        return ToolSpec(
            name=self.value, read_only=self.repeatable, destructive=self is Kind.DESTRUCTIVE
        )


class Decisions:
    """The decisions of a chain whose plan has these actions, one a step (see `Scenario`)."""

    def __init__(
        self,
        actions: tuple[Kind, ...],
        parallel: int | None = None,
        without: Mutation | None = None,
    ) -> None:
        self._without = without
        self._world = World({kind.value: kind.spec for kind in actions}, Policy())
        self._numbers: dict[str, int] = {}
        self._changes: dict[tuple[int, Sent, int, tuple[Request, ...]], Change | None] = {}
        self.chains: list[Chain | None] = [None]
        self.submitted = self._number(_submitted(actions, parallel))

    def due(self, number: int, moment: int) -> bool:
        """Whether the chain's timer has gone off."""
        chain = self.chains[number]
        return (
            chain is not None
            and not chain.status.final
            and next_due(chain) <= CREATED + TIMES[moment]
        )

    def change(
        self, number: int, entry: Sent, moment: int, requests: tuple[Request, ...]
    ) -> Change | None:
        """What the message does to the chain, as a commit; None when it changes nothing."""
        key = (number, entry._replace(copy=False), moment, requests)
        if key not in self._changes:
            self._changes[key] = self._decided(*key)
        return self._changes[key]

    def _decided(
        self, number: int, message: Sent, moment: int, requests: tuple[Request, ...]
    ) -> Change | None:
        chain = self.chains[number]
        assert chain is not None
        now = CREATED + TIMES[moment] + 1
        received = _received(message, chain, requests)
        decision = decide(
            chain if self._without is not Mutation.STOP else _all_freed(chain),
            received,
            self._world,
            now,
        )
        _judge_stop(chain, decision)
        if decision.chain == chain and not decision.outputs:
            assert not decision.facts, "facts of nothing"
            return None
        endings = [fact.type for fact in decision.facts if fact.type in FINAL_FACTS]
        if len(endings) != int(decision.chain.status.final):
            raise BrokenError(
                Promise.R1, f"{message} made a chain {decision.chain.status} and said {endings}"
            )
        operations: list[Operation] = []
        for output in decision.outputs:
            match output:
                case Dispatch():
                    approved = approved_digest(output.approval)
                    name = "again" if output.again else "dispatch"
                    operations.append(Operation(name, output.action.step, digest=approved))
                case Question():
                    asked, step = output.kind.value, decision.chain.graph.index[output.step_id]
                    operations.append(Operation("ask", step, asked, moment, output.digest))
                case Withdraw():
                    operations.append(
                        Operation("withdraw", int(output.request_id.rpartition(".r")[2]))
                    )
                case Resolve():
                    pass
                case _:
                    raise AssertionError(f"a literal plan wants {output}")
        return Change(self._number(decision.chain), decision.chain.status.final, tuple(operations))

    def _number(self, chain: Chain) -> int:
        """The number of this value; equal but for the moment of the last change is equal."""
        key = repr(chain)
        if key not in self._numbers:
            self._numbers[key] = len(self.chains)
            self.chains.append(chain)
        return self._numbers[key]


def _all_freed(chain: Chain) -> Chain:
    """The same chain as if the question of each step was answered: the gate lets them pass."""
    return replace(chain, runs=tuple(replace(run, freed=True) for run in chain.runs))


def _judge_stop(before: Chain, decision: Decision) -> None:
    """While a question stays open, only the call whose own question was closed is sent (R7)."""
    open_still = [one for one in before.requests if one in decision.chain.requests]
    closed = {one.action_id for one in before.requests if one not in open_still}
    for output in decision.outputs:
        if isinstance(output, Dispatch) and open_still and output.action.id not in closed:
            raise BrokenError(
                Promise.R7, f"{output.action.id} was sent while {open_still[0].request_id} was open"
            )


def _submitted(actions: tuple[Kind, ...], parallel: int | None) -> Chain:
    steps = [
        owing(
            f"s{number}",
            kind.value,
            dependencies=(f"s{number - 1}",) if number and parallel is None else (),
            actions=(ProposedCall(tool=kind.value, arguments={"n": number}),),
        )
        for number, kind in enumerate(actions)
    ]
    task = Task(plan=Plan(steps=tuple(steps)), parallel=parallel)
    return Chain(CHAIN, task, created_at=CREATED, deadline=CREATED + 7 * 24 * HOUR)


def approved_digest(approval: Approval | None) -> str:
    """That of the call which an order calls approved; none after a doubt."""
    return "" if approval is None or approval.doubt is not None else approval.digest


def outcome_of(kind: Receipt, digest: str) -> Outcome:
    """What a worker reports; `digest` is that of the call about which it asks."""
    match kind:
        case Receipt.CONFIRMS:
            asked = Confirmation(
                action="destructive", target=Target(), message="Sure?", digest=digest
            )
            return Outcome(
                success=True, next_action=NextAction.CONFIRMATION_NEEDED, confirmation=asked
            )
        case Receipt.OK:
            return Outcome(success=True, next_action=NextAction.CONTINUE)
        case Receipt.ASKS:
            options = (
                Option(id="o1", title="One", value={"id": "o1"}),
                Option(id="o2", title="Two", value={"id": "o2"}),
            )
            question = Clarification(type="contact", question="Which one?", options=options)
            return Outcome(
                success=True, next_action=NextAction.CLARIFICATION_NEEDED, clarification=question
            )
        case Receipt.FAILED | Receipt.IN_DOUBT:
            error_type = ErrorType.SERVER if kind is Receipt.FAILED else ErrorType.IN_DOUBT
            fault = ErrorInfo(error_type, "it broke")
            return Outcome(success=False, next_action=NextAction.ERROR, error=fault)


def _received(message: Sent, chain: Chain, requests: tuple[Request, ...]) -> Received:
    """The message as the executor would read it."""
    source = "haltpoint/proof"
    match message.name:
        case "submitted":
            return Received(events.TaskSubmitted(id=CHAIN, source=source, data=chain.task))
        case "cancelled":
            who = events.TaskCancelled.Data(by="a person")
            return Received(events.TaskCancelled(id=f"{CHAIN}/cancel", source=source, data=who))
        case "due":
            at = CREATED + TIMES[message.number]
            expired = tuple(f"{CHAIN}.r{number}" for number in message.detail.split(",") if number)
            due = events.TimerDue.Data(at=at, expired=expired)
            return Received(events.TimerDue(id=f"{CHAIN}/due/{at}", source=source, data=due))
        case "completed":
            action = f"{CHAIN}.s{message.number}.1"
            done = events.ToolCompleted.Data(
                action_id=action, outcome=outcome_of(Receipt(message.detail), message.digest)
            )
            name = f"{action}/{message.attempt}/done"
            return Received(events.ToolCompleted(id=name, source=source, data=done), "{}")
        case "answered":
            request = f"{CHAIN}.r{message.number}"
            asked = requests[message.number - 1]
            kind = RequestKind(asked.kind)
            decision = Choice(message.detail)
            answer = Answer(
                kind=kind, decision=decision, option_id="o1" if decision is Choice.SELECT else None
            )
            said = events.HumanAnswered.Data(
                request_id=request,
                answer=answer,
                by="a person",
                at=CREATED + TIMES[asked.since] + 1,
            )
            return Received(events.HumanAnswered(id=f"{request}/answer", source=source, data=said))
    raise AssertionError(message)
