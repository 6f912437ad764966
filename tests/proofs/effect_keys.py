"""Everything that can happen to calls of several chains that want the same effect, which may happen once (E6).

What is known of an earlier call the real `standing_of` says, from rows as they are stored; the functions are the rules
of `tests/support/function_rules.py`. A chain is reduced to what it does with a receipt: it ends, asks a person, or
sends the call again. People look before they answer, so what they say of a doubt is true.
"""

from collections.abc import Iterator
from typing import Final

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.results import (
    Confirmation,
    DeedWords,
    ErrorInfo,
    ErrorType,
    Metadata,
    NextAction,
    Outcome,
    Target,
)
from haltpoint.runtime.store import rows
from haltpoint.runtime.store.limits.effects import Standing, standing_of, standing_of_outcome
from haltpoint.runtime.streams.wire import encode
from tests.proofs.effect_states import Call, Hand, Race, State
from tests.proofs.functions import BrokenError, Promise
from tests.support import function_rules as rules
from tests.support.function_rules import ActionRow, Claim, Mutation, Reserved

ATTEMPTS: Final = 3
"""So often a call may be sent; who rests for another one uses up none."""
_DEED: Final = Metadata(deed=DeedWords(says="Paid"))
_ASKS: Final = Confirmation(action="pay", target=Target(), message="Again?")


def _error(kind: ErrorType, *, no_effect: bool | None = None) -> Outcome:
    return Outcome(success=False, next_action=NextAction.ERROR, error=ErrorInfo(kind, "no", no_effect=no_effect))


OUTCOMES: Final = {
    "done": Outcome(success=True, next_action=NextAction.CONTINUE, metadata=_DEED),
    "nothing": _error(ErrorType.SERVER, no_effect=True),
    "denied": _error(ErrorType.DENIED, no_effect=True),
    "rests": _error(ErrorType.RATE_LIMIT, no_effect=True),
    "asks": Outcome(success=True, next_action=NextAction.CONFIRMATION_NEEDED, confirmation=_ASKS),
    "doubt": _error(ErrorType.IN_DOUBT),
}
"""What a worker may report."""


Steps = Iterator[tuple[str, bool, State]]


class EffectMachine:
    """The steps of one race."""

    chains = 0

    def __init__(self, race: Race) -> None:
        self.without = race.without
        self.race = race

    def start(self) -> State:
        """Each chain has sent its call."""
        return State(None, (Call(),) * self.race.calls, (), self.race.luck)

    def is_open(self, state: State) -> bool:
        """Whether a chain has not ended."""
        return not self.is_final(state)

    def is_final(self, state: State) -> bool:
        """Whether all chains have."""
        return all(call.over for call in state.calls)

    def judge(self, state: State) -> None:
        """The effect has not happened more often than people allowed."""
        if state.happened > 1 + state.allowed:
            raise BrokenError(Promise.E6, f"it happened {state.happened} times, {state.allowed} repeats were allowed")

    def steps(self, state: State) -> Steps:
        """All that may come next."""
        for number, call in enumerate(state.calls):
            yield from self._of_chain(state, number, call)
            held = any(hand.call == number for hand in state.hands)
            if call.ordered and not held:
                again = call._replace(deliveries=min(call.deliveries + 1, 2))
                hand = Hand(number, "looks" if again.deliveries > 1 else "reads")
                yield f"a worker gets {number}", True, _with(state, number, again, hand)
            if call.over and not call.late and not held:
                yield f"the time of {number} is over", True, _with(state, number, call._replace(late=True))
        for hand in state.hands:
            rest = state._replace(hands=tuple(one for one in state.hands if one is not hand))
            yield from self._of_worker(rest, hand)
            if state.luck.crashes:
                spent = state.luck._replace(crashes=state.luck.crashes - 1)
                yield "a worker dies", False, rest._replace(luck=spent)

    # ---- workers ----

    def _of_worker(self, state: State, hand: Hand) -> Steps:
        number, call, name = hand.call, state.calls[hand.call], _name(hand.call)
        match hand.phase:
            case "looks":
                yield from self._claims(state, hand, start=False)
            case "reads":
                seen = state.record if state.record is not None and state.record.owner != name else None
                phase = "reserves" if seen is None else "judges"
                yield (
                    f"{number} reads the record",
                    True,
                    _with(state, number, call, hand._replace(phase=phase, seen=seen)),
                )
            case "judges":
                yield (
                    f"{number} judges",
                    True,
                    _with(state, number, call, hand._replace(phase=self._judges(state, hand))),
                )
            case "reserves":
                judged, keep = (0, False) if hand.seen is None else (hand.seen.n, call.yes == hand.seen.owner)
                record, own = rules.reserve(state.record, name, judged, state.n, self.without, keep=keep)
                after = (
                    hand._replace(phase="claims", n=record.n if record else 0) if own else hand._replace(phase="rests")
                )
                yield f"{number} reserves: {own}", True, _with(_counted(state, record), number, call, after)
            case "claims":
                yield from self._claims(state, hand, start=True)
            case "acts":
                yield from self._acts(state, hand)
            case "settles":
                done = call.said == "done"
                settled, _ = rules.settle(state.record, name, hand.n, state.n, done=done)
                yield f"{number} settles", True, _counted(state, settled)
                if state.luck.losses:
                    yield "that is lost", False, state._replace(luck=state.luck._replace(losses=state.luck.losses - 1))
            case said:
                yield f"{number} reports {said}", True, self._reports(state, hand, said)

    def _judges(self, state: State, hand: Hand) -> str:
        """What the call does, by what became of the one whose reservation it has seen."""
        assert hand.seen is not None
        call, seen = state.calls[hand.call], hand.seen
        standing = Standing.DONE if seen.done else self._standing(state.calls[int(seen.owner[1:])])
        if standing is Standing.IN_DOUBT and self.without is Mutation.DOUBT:
            standing = Standing.FREE
        match standing:
            case Standing.FREE:
                return "reserves"
            case Standing.UNDER_WAY | Standing.IN_DOUBT:
                return "rests"
            case Standing.DONE | Standing.UNKNOWN if call.yes == seen.owner:
                return "reserves"
            case Standing.DONE:
                return "denied"
            case Standing.UNKNOWN:
                return "asks"

    def _standing(self, call: Call) -> Standing:
        state = rows.ActionState.STARTED if call.row.started else rows.ActionState.SENT
        row = rows.ActionRow("1-0", 1, call.row.attempt, False, state)
        status = ChainStatus.CANCELLED if call.over else ChainStatus.EXECUTING
        return standing_of(row, status, _stored(call.said), _stored(call.resolved), late=call.late)[0]

    def _claims(self, state: State, hand: Hand, *, start: bool) -> Steps:
        number, call = hand.call, state.calls[hand.call]
        asked = Claim(call.row.entry, f"{call.deliveries} {start}", has_lease=True, start=start)
        status, row, _ = rules.claim(call.row, None, asked, final=call.over)
        if row is None:
            yield f"{number} has nothing to do", True, _with(state, number, call._replace(ordered=False))
            return
        phase = "doubt" if status == "in_doubt" else "acts" if start else "reads"
        after = call._replace(row=row)
        yield (
            f"{number} claims: {status}",
            True,
            _with(state, number, after, hand._replace(phase=phase, epoch=row.epoch)),
        )

    def _acts(self, state: State, hand: Hand) -> Steps:
        number, call, luck = hand.call, state.calls[hand.call], state.luck
        acted = state._replace(happened=state.happened + 1)
        did = call._replace(acted=True)
        yield f"{number} acts", True, _with(acted, number, did, hand._replace(phase="done"))
        if luck.refusals:
            spent = state._replace(luck=luck._replace(refusals=luck.refusals - 1))
            yield f"{number} is refused", False, _with(spent, number, call, hand._replace(phase="nothing"))
        if luck.doubts:
            less = luck._replace(doubts=luck.doubts - 1)
            doubt = hand._replace(phase="doubt")
            yield f"{number} acts and breaks", False, _with(acted._replace(luck=less), number, did, doubt)
            yield f"{number} breaks", False, _with(state._replace(luck=less), number, call, doubt)

    def _reports(self, state: State, hand: Hand, said: str) -> State:
        number, call = hand.call, state.calls[hand.call]
        if said == "denied" and not state.happened:
            raise BrokenError(Promise.E6, f"{_name(number)} was denied an effect that never happened")
        receipt = rules.Receipt.OK if said == "done" else rules.Receipt.FAILED
        row = call.row._replace(receipt=receipt)
        after = call._replace(row=row, ordered=False, said=said)
        standing = standing_of_outcome(OUTCOMES[said], OUTCOMES[said].metadata.deed, tried_before=False)
        known = standing in (Standing.DONE, Standing.FREE) or self.without is Mutation.RELEASE
        settles = (hand._replace(phase="settles", seen=None),) if hand.n and known else ()
        return _with(state, number, after, *settles)

    # ---- chains and people ----

    def _of_chain(self, state: State, number: int, call: Call) -> Steps:
        if call.over:
            return
        if state.luck.cancels:
            spent = state._replace(luck=state.luck._replace(cancels=state.luck.cancels - 1))
            yield f"{number} is cancelled", False, _with(spent, number, call._replace(over=True))
        match call.said:
            case "done" | "denied":
                yield f"{number} ends", True, _with(state, number, call._replace(over=True))
            case "nothing" if call.row.attempt == ATTEMPTS:
                yield f"{number} fails", True, _with(state, number, call._replace(over=True))
            case "nothing" | "rests":
                yield f"{number} runs again", True, _with(state, number, _again(call, counts=call.said == "nothing"))
            case "asks":
                assert state.record is not None
                allowed = _again(call, counts=False)._replace(yes=state.record.owner)
                yield f"{number} is allowed", True, _with(state._replace(allowed=state.allowed + 1), number, allowed)
                no = call._replace(over=True)
                yield f"{number} is not allowed", True, _with(state, number, no)
            case "doubt" if call.acted:
                happened = call._replace(resolved="done", over=True)
                yield f"a person says that {number} happened", True, _with(state, number, happened)
            case "doubt":
                yield f"a person says that {number} did not", True, _with(state, number, _again(call, counts=False))
            case _:
                pass


def _again(call: Call, *, counts: bool) -> Call:
    attempt = min(call.row.attempt + counts, ATTEMPTS) if counts else max(call.row.attempt, 2)
    row = ActionRow(repeatable=False, attempt=attempt, entry=call.row.entry)
    return call._replace(row=row, ordered=True, deliveries=0, said="", acted=call.acted)


def _counted(state: State, record: Reserved | None) -> State:
    """The state with this record; a number that it has is used up."""
    return state._replace(record=record, n=state.n + (record is not None and record.n == state.n))


def _name(number: int) -> str:
    return f"c{number}"


def _stored(said: str) -> rows.Receipt | None:
    kind = rows.Kind.IN_DOUBT if said == "doubt" else rows.Kind.RECEIPT
    return rows.Receipt(kind, encode(OUTCOMES[said]).decode(), "{}") if said else None


def _with(state: State, number: int, call: Call, *hands: Hand) -> State:
    calls = (*state.calls[:number], call, *state.calls[number + 1 :])
    return state._replace(calls=calls, hands=tuple(sorted((*state.hands, *hands), key=lambda one: one[:2])))
