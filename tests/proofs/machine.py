"""Everything that can happen to one chain: the real `decide`, two executors, two workers, people,
and bad luck.

A state is the store, what each process has in its hands, and how much bad luck is left. `steps`
gives every state that may come next. Steps of bad luck (crash, taking over from somebody who lives,
a lost reply, a copied or forged entry) and of people who need not come (cancel, time) cost budget;
all others are progress, and only these are needed to end.
"""

from collections.abc import Iterator
from typing import Final

from haltpoint.chain.model.statuses import ChainStatus
from tests.proofs import functions
from tests.proofs.decisions import Decisions, Kind
from tests.proofs.functions import (
    COPY,
    FORGED,
    BrokenError,
    Change,
    Item,
    Promise,
    Sent,
    Store,
)
from tests.proofs.states import Executor, Luck, Scenario, State, Worker
from tests.support.function_rules import Mutation, Receipt

CHOICES: Final = {
    "in_doubt": ("happened", "not_happened", "failed", "abort"),
    "clarification": ("select", "none", "abort"),
    "confirmation": ("approve", "reject", "abort"),
}
DELIVERIES: Final = 3
"""After so many deliveries an entry goes to the dead letters."""


class Machine:
    """The steps of one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.decisions = Decisions(scenario.actions, scenario.parallel, scenario.without)

    # ---- the state before anything happened ----

    def start(self) -> State:
        """Nothing is there yet."""
        empty = functions.nothing_yet(tuple(kind.repeatable for kind in self.scenario.actions))
        return State(empty, (), (), self.scenario.luck, frozenset(), frozenset())

    def is_open(self, state: State) -> bool:
        """Whether the chain was accepted and has not ended."""
        return state.store.chain != 0 and not state.store.final

    def is_final(self, state: State) -> bool:
        """Whether the chain has ended."""
        return state.store.final

    @property
    def chains(self) -> int:
        """How many values the chain had so far."""
        return len(self.decisions.chains) - 1

    # ---- what can happen ----

    def steps(self, state: State) -> Iterator[tuple[str, bool, State]]:
        """Name, whether it is progress, and the state after. Raises BrokenError when a promise
        breaks on the way.
        """
        yield from self._clients(state)
        yield from self._executors(state)
        yield from self._workers(state)
        yield from self._people(state)
        yield from self._intruders(state)

    def _clients(self, state: State) -> Iterator[tuple[str, bool, State]]:
        luck = state.luck
        if luck.submits:
            store, _ = functions.submit(state.store, self.decisions.submitted)
            yield "submit", True, _told(state, store, luck._replace(submits=luck.submits - 1))
        if luck.cancels and state.store.chain and not state.store.final:
            store = state.store._replace(events=state.store.events | {Sent("cancelled")})
            yield "cancel", False, _told(state, store, luck._replace(cancels=luck.cancels - 1))
        if luck.times and state.store.chain:
            yield "time passes", False, state._replace(luck=luck._replace(times=luck.times - 1))
        yield from self._timers(state)

    def _timers(self, state: State) -> Iterator[tuple[str, bool, State]]:
        moment = self._moment(state)
        if not self.decisions.due(state.store.chain, moment):
            return
        store, expired = functions.expire(state.store, moment)
        due = Sent("due", moment, ",".join(map(str, expired)))
        if due not in state.applied and due not in state.store.events:
            yield (
                "timer",
                True,
                _told(state, store._replace(events=store.events | {due}), state.luck),
            )

    def _executors(self, state: State) -> Iterator[tuple[str, bool, State]]:
        luck, store = state.luck, state.store
        held = {executor.entry for executor in state.executors}
        if len(state.executors) < 2 and store.chain:
            for entry in store.events:
                # A second executor beside the first is bad luck: the lease of the partition was
                # lost.
                price = (entry in held) or bool(state.executors)
                if price <= luck.takeovers:
                    reader = Executor(entry, store.chain, store.version)
                    after = luck._replace(takeovers=luck.takeovers - price)
                    yield (
                        "executor reads",
                        not price,
                        _sorted(state, executors=(*state.executors, reader), luck=after),
                    )
        for number, executor in enumerate(state.executors):
            others = (*state.executors[:number], *state.executors[number + 1 :])
            yield from self._commits(state, executor, others)
            if luck.crashes:
                spent = luck._replace(crashes=luck.crashes - 1)
                yield "executor dies", False, state._replace(executors=others, luck=spent)

    def _commits(
        self, state: State, executor: Executor, others: tuple[Executor, ...]
    ) -> Iterator[tuple[str, bool, State]]:
        without = self.scenario.without
        change = self.decisions.change(
            executor.chain, executor.entry, self._moment(state), state.store.requests
        )
        if executor.half:
            store = state.store._replace(events=state.store.events - {executor.entry})
            store = store if change is None else functions.outputs(store, change)
            yield "executor sends", True, _told(state._replace(executors=others), store, state.luck)
            return
        if (
            change is not None
            and without is Mutation.ATOMICITY
            and state.store.version == executor.version
        ):
            store = functions.head(state.store, change)
            applied = self._applied(state, executor, change)
            half = executor._replace(half=True)
            yield (
                "executor writes",
                True,
                _sorted(state, executors=(*others, half), store=store, applied=applied),
            )
            return
        store, status = functions.commit(
            state.store, executor.version, change, executor.entry, without
        )
        if status == "conflict":
            again = executor._replace(chain=state.store.chain, version=state.store.version)
            yield "executor reads anew", True, _sorted(state, executors=(*others, again))
            return
        applied = self._applied(state, executor, change)
        yield (
            "executor commits",
            True,
            _told(state._replace(executors=others, applied=applied), store, state.luck),
        )
        if state.luck.losses:
            spent = state.luck._replace(losses=state.luck.losses - 1)
            yield (
                "commit's reply is lost",
                False,
                _told(state._replace(applied=applied), store, spent),
            )

    def _applied(self, state: State, executor: Executor, change: Change | None) -> frozenset[Sent]:
        if change is None:
            return state.applied
        message = executor.entry._replace(copy=False)
        for operation in change.operations:
            if (message.name, operation.name) == ("completed", "withdraw"):
                asked = state.store.requests[operation.number - 1]
                if (asked.action, asked.status) == (message.number, "answered"):
                    raise BrokenError(Promise.R6, f"{message} came before an answer that was taken")
        if message in state.applied:
            raise BrokenError(Promise.R2, f"{message} was applied twice")
        before = self.decisions.chains[state.store.chain]
        if before is not None and before.status.final:
            raise BrokenError(Promise.R1, f"{message} changed a chain that was {before.status}")
        return state.applied | {message}

    def _workers(self, state: State) -> Iterator[tuple[str, bool, State]]:
        luck = state.luck
        held = {(worker.item.action, worker.item.entry) for worker in state.workers}
        for item in state.store.tools:
            price = (item.action, item.entry) in held
            if len(state.workers) < 2 and price <= luck.takeovers:
                after = luck._replace(takeovers=luck.takeovers - price)
                yield from self._reads(state._replace(luck=after), item, progress=not price)
        for number, worker in enumerate(state.workers):
            others = (*state.workers[:number], *state.workers[number + 1 :])
            yield from self._works(state, worker, others)
            if luck.crashes:
                yield (
                    "worker dies",
                    False,
                    state._replace(workers=others, luck=luck._replace(crashes=luck.crashes - 1)),
                )

    def _reads(
        self, state: State, item: Item, *, progress: bool
    ) -> Iterator[tuple[str, bool, State]]:
        without, luck = self.scenario.without, state.luck
        if luck.releases:
            spent = luck._replace(releases=luck.releases - 1)
            aside = functions.put_aside(state.store, item)
            yield (
                "a worker of another release reads",
                False,
                state._replace(store=aside, luck=spent),
            )
        if item.deliveries == DELIVERIES:
            store = functions.dead_letter(state.store, item, without)
            yield "dead letter", progress, _told(state, store, state.luck)
            return
        handed = item._replace(deliveries=item.deliveries + 1)
        store = state.store._replace(tools=state.store.tools - {item} | {handed})
        taken_over = (handed.deliveries > 1 or handed.begun) and without is not Mutation.CLAIM
        worker = Worker(handed, "read" if taken_over else self._admitted(state, handed))
        yield (
            "worker reads",
            progress,
            _sorted(state, workers=(*state.workers, worker), store=store),
        )

    def _works(
        self, state: State, worker: Worker, others: tuple[Worker, ...]
    ) -> Iterator[tuple[str, bool, State]]:
        luck, item, without = state.luck, worker.item, self.scenario.without
        if worker.phase == "read":
            store, status, epoch = functions.claim(
                state.store, item, _token(item, "looks"), without, start=False
            )
            phase = {"go": self._admitted(state, item), "in_doubt": "in_doubt"}.get(status)
            after = others if phase is None else (*others, Worker(item, phase, epoch))
            yield "worker looks", True, _sorted(state, workers=after, store=store)
            if luck.losses:
                spent = luck._replace(losses=luck.losses - 1)
                yield "a look's reply is lost", False, state._replace(store=store, luck=spent)
        elif worker.phase == "ready":
            yield from self._starts(state, worker, others)
        elif worker.phase == "go":
            store = _run(state.store, item)
            yield (
                "worker acts",
                True,
                _sorted(state, workers=(*others, worker._replace(phase="ran")), store=store),
            )
        else:
            for receipt, spent in self._outcomes(state, worker):
                token = _token(item, "starts")
                store, _ = functions.complete(
                    state.store, item, worker.epoch, receipt, without, worker.digest, token
                )
                yield (
                    f"worker reports {receipt}",
                    spent == luck,
                    _told(state._replace(workers=others), store, spent),
                )
                if spent.losses:
                    lost = spent._replace(losses=spent.losses - 1)
                    yield "complete's reply is lost", False, _told(state, store, lost)

    def _admitted(self, state: State, item: Item) -> str:
        """What a worker does with an order that it may look into: one that can be repeated runs
        without a start.
        """
        repeatable = state.store.actions[item.action].may_run_again(self.scenario.without)
        return "go" if repeatable or self.scenario.without is Mutation.CLAIM else "ready"

    def _starts(
        self, state: State, worker: Worker, others: tuple[Worker, ...]
    ) -> Iterator[tuple[str, bool, State]]:
        """Right before it runs: of a destructive call the preview is taken, and either a person is
        asked, or the claim needs the record of a yes to just this.
        """
        luck, item, without = state.luck, worker.item, self.scenario.without
        digest = self._call(state, item.action)
        gated = bool(digest) and without is not Mutation.GATE
        if gated and item.approved != digest:
            asks = worker._replace(phase="asks", digest=digest)
            yield "worker takes the preview and asks", True, _sorted(state, workers=(*others, asks))
            return
        token, moment = _token(item, "starts"), self._moment(state)
        store, status, epoch = functions.claim(
            state.store, item, token, without, digest=digest if gated else "", moment=moment
        )
        if status == "go" and digest:
            store = _approved(store, item.action, digest, moment)
        phases = {"go": "go", "in_doubt": "in_doubt"} | dict.fromkeys(
            ("unapproved", "changed", "late"), "refused"
        )
        phase = phases.get(status)
        after = others if phase is None else (*others, Worker(item, phase, epoch))
        yield f"worker starts: {status}", True, _sorted(state, workers=after, store=store)
        if luck.losses:
            spent = luck._replace(losses=luck.losses - 1)
            yield "a start's reply is lost", False, state._replace(store=store, luck=spent)

    def _call(self, state: State, action: int) -> str:
        """The digest of a destructive action's call, as its preview is now; empty for others."""
        if self.scenario.actions[action] is not Kind.DESTRUCTIVE:
            return ""
        return f"{action}/{self.scenario.luck.previews - state.luck.previews}"

    def _outcomes(self, state: State, worker: Worker) -> Iterator[tuple[Receipt, Luck]]:
        luck = state.luck
        if worker.phase == "in_doubt":
            yield Receipt.IN_DOUBT, luck
            return
        if worker.phase in ("asks", "refused"):
            yield (Receipt.CONFIRMS if worker.phase == "asks" else Receipt.FAILED), luck
            return
        kind = self.scenario.actions[worker.item.action]
        yield (Receipt.ASKS if kind is Kind.ASKS else Receipt.OK), luck
        if luck.failures:
            yield Receipt.FAILED, luck._replace(failures=luck.failures - 1)
        if luck.doubts and not kind.repeatable:
            yield Receipt.IN_DOUBT, luck._replace(doubts=luck.doubts - 1)

    def _people(self, state: State) -> Iterator[tuple[str, bool, State]]:
        for letter in state.store.letters:
            store, status = functions.requeue(state.store, letter, self.scenario.without)
            if status == "requeued":
                yield "a dead letter is given back", True, state._replace(store=store)
        for number, request in enumerate(state.store.requests, 1):
            if request.status != "open":
                continue
            for choice in CHOICES[request.kind]:
                moment = self._moment(state)
                store, status = functions.answer(state.store, number, choice, moment)
                if status != "taken":
                    continue
                if choice == "approve":
                    ghost = store.ghosts[request.action]
                    said = ghost._replace(yes=ghost.yes | {(request.digest, moment)})
                    store = functions.with_ghost(store, request.action, said)
                if choice == "not_happened":
                    ghost = store.ghosts[request.action]
                    store = functions.with_ghost(
                        store, request.action, ghost._replace(pardons=ghost.pardons + 1)
                    )
                yield f"a person says {choice}", choice != "abort", _told(state, store, state.luck)

    def _intruders(self, state: State) -> Iterator[tuple[str, bool, State]]:
        luck, store = state.luck, state.store
        if luck.copies and store.chain:
            spent = luck._replace(copies=luck.copies - 1)
            for message in state.sent:
                copy = message._replace(copy=True)
                if copy not in store.events:
                    copied = store._replace(events=store.events | {copy})
                    yield "a message is copied", False, state._replace(store=copied, luck=spent)
            for number, row in enumerate(store.actions):
                if row.attempt:
                    items = store.tools | {
                        Item(number, row.attempt + COPY, approved=self._call(state, number))
                    }
                    yield (
                        "an entry is replayed",
                        False,
                        state._replace(store=store._replace(tools=items), luck=spent),
                    )
        if luck.forgeries and store.chain:
            spent = luck._replace(forgeries=luck.forgeries - 1)
            for number in range(len(store.actions)):
                items = store.tools | {Item(number, FORGED, approved=self._call(state, number))}
                yield (
                    "an entry is forged",
                    False,
                    state._replace(store=store._replace(tools=items), luck=spent),
                )
        yield from self._forgeries_of_approvals(state)

    def _forgeries_of_approvals(self, state: State) -> Iterator[tuple[str, bool, State]]:
        """Somebody writes to Redis. An order that nobody has read yet may name any approval; the
        record of one action's may lie at another.
        """
        luck, store = state.luck, state.store
        if luck.previews and store.chain:
            yield (
                "a preview changes",
                False,
                state._replace(luck=luck._replace(previews=luck.previews - 1)),
            )
        if luck.tampers:
            spent = luck._replace(tampers=luck.tampers - 1)
            for order in store.tools:
                altered = order._replace(approved=self._call(state, order.action))
                if not order.deliveries and altered != order:
                    items = store.tools - {order} | {altered}
                    yield (
                        "an order is altered",
                        False,
                        state._replace(store=store._replace(tools=items), luck=spent),
                    )
        if luck.moves:
            spent = luck._replace(moves=luck.moves - 1)
            for source, record in enumerate(store.approvals):
                for target in range(len(store.approvals)) if record else ():
                    if target != source:
                        moved = functions.with_approval(store, target, record)
                        yield "a record is copied", False, state._replace(store=moved, luck=spent)

    def _moment(self, state: State) -> int:
        return self.scenario.luck.times - state.luck.times

    # ---- what must hold in a state ----

    def judge(self, state: State) -> None:
        """Raise BrokenError when a promise does not hold in this state."""
        counted = tuple(zip(state.store.actions, state.store.ghosts, strict=True))
        for number, (row, ghost) in enumerate(counted):
            if not row.repeatable and ghost.runs > 1 + ghost.pardons:
                words = f"action {number} was started {ghost.runs} times, pardons: {ghost.pardons}"
                raise BrokenError(Promise.R4, words)
        chain = self.decisions.chains[state.store.chain]
        if chain is not None and chain.status is ChainStatus.COMPLETED:
            for number, (row, ghost) in enumerate(counted):
                if row.repeatable and not ghost.runs:
                    raise BrokenError(
                        Promise.R3, f"the chain completed and action {number} never ran"
                    )


def _approved(store: Store, action: int, digest: str, moment: int) -> Store:
    """A destructive action is started: by a yes to this very call, in this moment or when it was
    first used.
    """
    ghost = store.ghosts[action]
    if (digest, moment) not in ghost.yes and digest not in ghost.used:
        raise BrokenError(
            Promise.R5, f"action {action} was started without a yes to {digest} in this moment"
        )
    return functions.with_ghost(store, action, ghost._replace(used=ghost.used | {digest}))


def _token(item: Item, claim: str) -> str:
    """Of a claim by the worker that was given this entry, which no other has."""
    return f"{item.entry}/{item.deliveries} {claim}"


def _run(store: Store, item: Item) -> Store:
    ghost = store.ghosts[item.action]
    if item.entry >= COPY and not store.actions[item.action].repeatable:
        raise BrokenError(
            Promise.R4, f"action {item.action} was started by an entry that was never dispatched"
        )
    return functions.with_ghost(store, item.action, ghost._replace(runs=min(ghost.runs + 1, 3)))


def _sorted(state: State, **changes: object) -> State:
    for name in ("executors", "workers"):
        if name in changes:
            changes[name] = tuple(sorted(changes[name]))  # type: ignore[call-overload]
    return state._replace(**changes)  # type: ignore[arg-type]


def _told(state: State, store: Store, luck: Luck) -> State:
    """The state after a step that may have sent messages."""
    sent = state.sent
    if store.events is not state.store.events:
        sent = sent | {each for each in store.events if not each.copy}
    return state._replace(store=store, luck=luck, sent=sent if luck.copies else frozenset())
