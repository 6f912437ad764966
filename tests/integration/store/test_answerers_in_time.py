"""G4 over a test's clock: a thousand questions that need several people, expire, and go to another
group, while everything is started anew twice. Each level and each outcome comes once.
"""

import random
from dataclasses import dataclass, field

from redis.asyncio import Redis

from haltpoint.contracts.base import chain_of, request_id
from haltpoint.contracts.people.answerers import Answerers, OnTimeout
from haltpoint.contracts.people.humans import Answer, Choice, RequestKind
from haltpoint.runtime.store.inbox import Approves, Verdict
from tests.integration.store.test_public_facts import told
from tests.support.builders import confirms, literal_task
from tests.support.desk import Desk, Order, desk_at

REQUESTS = 1000
LEVEL = 3600
"""Seconds that a question is open."""
TURNS = 3
"""How often people answer in that time."""
PEOPLE = ("ann", "bob", "cy", "dan")
OPEN = ""


@dataclass
class Case:
    """One call that is asked about, and what becomes of it."""

    action: str
    answerers: Answerers
    level: int = 1
    yes: list[str] = field(default_factory=list)
    """Who has said yes at this level."""
    outcome: str = OPEN
    """approved, rejected, denied or undecided."""

    @property
    def request(self) -> str:
        return request_id(chain_of(self.action), self.level)

    @property
    def facts(self) -> list[str]:
        """What the log says of the questions."""
        end = "answered" if self.outcome in ("approved", "rejected") else "expired"
        before = ["request.opened", "request.expired"] * (self.level - 1)
        return [*before, "request.opened", f"request.{end}"]

    @property
    def notices(self) -> list[tuple[str, str]]:
        """What programs outside hear, of which notices are made: each level begins and ends."""
        levels = [number // 2 + 1 for number in range(len(self.facts))]
        chain = chain_of(self.action)
        named = zip(self.facts, levels, strict=True)
        return [(f"{fact}.v1", request_id(chain, level)) for fact, level in named]

    async def is_answered(self, desk: Desk, by: str, choice: Choice) -> None:
        """A person answers in time."""
        answer = Answer(kind=RequestKind.CONFIRMATION, decision=choice)
        record = Approves(self.action, "d", 900) if choice is Choice.APPROVE else None
        quorum = self.answerers.quorum if record else 1
        verdict = await desk.answer(self.request, answer, by=by, approves=record, quorum=quorum)
        assert verdict is Verdict.TAKEN
        if choice is Choice.REJECT:
            self.outcome = "rejected"
        elif by not in self.yes:
            self.yes.append(by)
            self.outcome = "approved" if len(self.yes) == quorum else OPEN

    async def expires(self, desk: Desk) -> None:
        """The time of its level is over."""
        late = Answer(kind=RequestKind.CONFIRMATION, decision=Choice.REJECT)
        assert await desk.answer(self.request, late, by="late") is Verdict.EXPIRED
        end = self.answerers.on_timeout
        if end is OnTimeout.ESCALATE and self.level == 1:
            self.level = 2
            self.yes = []
        else:
            self.outcome = "denied" if end is OnTimeout.DENY else "undecided"


async def asked(desk: Desk, order: Order, chance: random.Random) -> Case:
    """The worker says that a person has to be asked."""
    answerers = Answerers(
        to=("finance",),
        quorum=chance.randint(1, 3),
        on_timeout=chance.choice(list(OnTimeout)),
        escalate_to="board",
    )
    await desk.finish(order, confirms("note", digest="d", expires=LEVEL, answerers=answerers))
    return Case(order.data.action_id, answerers)


async def decide(desk: Desk) -> None:
    while await desk.decide_all():
        pass


async def pass_level(desk: Desk, cases: list[Case], chance: random.Random) -> None:
    """The time of a level: some people answer, and what is open then expires."""
    for _ in range(TURNS):
        for case in cases:
            if case.outcome == OPEN and chance.random() < 0.5:
                choice = Choice.REJECT if chance.random() < 0.1 else Choice.APPROVE
                await case.is_answered(desk, chance.choice(PEOPLE), choice)
        await decide(desk)
        await desk.later(LEVEL / TURNS)
    for case in cases:
        if case.outcome == OPEN:
            await case.expires(desk)
    while (await desk.store.fire_due(0)).count:
        await decide(desk)


async def test_each_level_and_each_outcome_comes_once(redis: Redis) -> None:
    chance = random.Random(30)
    async with desk_at(redis) as desk:
        for _ in range(REQUESTS):
            await desk.submit(literal_task())
        await decide(desk)
        cases = [await asked(desk, order, chance) for order in await desk.orders()]
        await decide(desk)
    assert len(cases) == REQUESTS
    for _ in range(2):  # and each time all processes are other ones
        async with desk_at(redis) as desk:
            await pass_level(desk, cases, chance)
    async with desk_at(redis) as desk:
        orders = [order.data.action_id for order in await desk.orders()]
        approved = {
            case.action: ", ".join(case.yes) for case in cases if case.outcome == "approved"
        }
        assert sorted(orders) == sorted(approved)
        public = [fact for fact in await told(desk) if fact["type"].startswith("request.")]
        notices = [(fact["type"], fact["data"]["request_id"]) for fact in public]
        assert sorted(notices) == sorted(notice for case in cases for notice in case.notices)
        for case in cases:
            facts = [
                fact
                for line in await desk.stored.log(chain_of(case.action))
                for fact in line["facts"]
            ]
            about = [(name, details) for name, details in facts if name.startswith("request.")]
            assert [name for name, _ in about] == case.facts, case
            if case.outcome == "approved":
                assert about[-1][1]["by"] == approved[case.action]
    outcomes = {(case.level, case.outcome) for case in cases}
    assert len(outcomes) == 7
