"""The same random commands for the real functions and for the model of them: same answers, same
state after each.
"""

import re

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule, run_state_machine_as_test

from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.store.operations import ChainWrites, pack
from tests.integration.store.functions_beside import GROUPS, KEY, TICK, FunctionsBeside
from tests.integration.store.functions_model import (
    Approves,
    Ask,
    Dispatch,
    Finish,
    Resolve,
    Step,
    Think,
    Withdraw,
)
from tests.integration.store.functions_rows import EVENTS, PLANS, TOOLS
from tests.support.function_rules import Receipt

CHAINS = st.sampled_from(["a", "b"])
NUMBERS = st.integers(1, 2)
CONSUMERS = st.sampled_from(["one", "two"])
EPOCHS = st.integers(0, 3)
TOKENS = st.sampled_from(["1", "2"])
CALLS = st.sampled_from(["x", "x", "x", "y"])


class Functions(FunctionsBeside):
    """Every rule gives both the same command and compares the answers."""

    # ---- clients
    # ----------------------------------------------------------------------------------------------

    @rule(chain=CHAINS, digest=st.sampled_from(["x", "x", "x", "y"]), ticks=st.integers(3, 9))
    def submit(self, chain: str, digest: str, ticks: int) -> None:
        self.another_moment()
        head = f'{{"id":"{chain}"}}'
        reply = self.call("submit", chain, digest, "0-n", "{}", head, ticks * TICK, 0, "", 0)
        assert reply[0].decode() == self.model.submit(chain, digest, "0-n", ticks)

    @rule(
        chain=CHAINS,
        number=NUMBERS,
        said=st.sampled_from(["{}", '{"text":"no"}']),
        token=st.sampled_from(["t1", "t2"]),
        approves=st.none()
        | st.builds(Approves, NUMBERS.map("s.{}".format), CALLS, st.integers(1, 3)),
    )
    def answer(
        self, chain: str, number: int, said: str, token: str, approves: Approves | None
    ) -> None:
        request = f"{chain}.r{number}"
        head = f'{{"id":"{request}/answer","answer":'
        record: tuple[object, ...] = ()
        if approves is not None:
            action = f"{chain}.{approves.action}"
            approves = Approves(action, f"{action}/{approves.digest}", approves.ticks)
            record = (action, approves.digest, approves.ticks * TICK // 1000)
        reply = self.call("answer", request, said, "me", '"me"', token, head, *record)
        assert reply[0].decode() == self.model.answer(request, said, token, approves)

    # ---- the executor
    # ----------------------------------------------------------------------------------------------

    @rule(ticks=st.integers(1, 2))
    def time_passes(self, ticks: int) -> None:
        self.model.now += ticks
        self.redis.incrby(f"{KEY}clock", ticks * TICK)

    @rule(limit=st.integers(1, 3))
    def fire_due(self, limit: int) -> None:
        self.another_moment()
        reply = self.call("fire_due", limit, TICK)
        assert reply[1] == self.model.fire_due(limit)

    @precondition(lambda self: self.model.chains)
    @rule(
        data=st.data(), stale=st.sampled_from([False, False, False, True]), repeated=st.booleans()
    )
    def commit(self, data: st.DataObject, stale: bool, repeated: bool) -> None:
        chain = data.draw(st.sampled_from(sorted(self.model.chains)), label="chain")
        steps = [step] if (step := self._step(data, chain)) else []
        self.commits += 1
        expected = "9999-other" if stale else self.model.chains[chain].version
        new = f"{self.commits}-n" if steps else expected
        theirs = [
            n
            for n, row in self.model.entries.items()
            if row.stream == EVENTS and re.match(chain, row.message)
        ]
        acks = tuple(
            data.draw(st.lists(st.sampled_from(theirs), unique=True), label="acks")
            if theirs
            else ()
        )
        self._write(chain, expected, new, acks, steps, times=1 + repeated)

    def _write(
        self,
        chain: str,
        expected: str,
        new: str,
        acks: tuple[int, ...],
        steps: list[Step],
        *,
        times: int = 1,
    ) -> None:
        written = ChainWrites(
            chain,
            expected,
            new,
            [self.entry(ack) for ack in acks],
            self.operations(chain, new, steps),
        )
        for _ in range(times):
            reply = self.call("commit", 60_000, 0, pack(written))
            assert reply[1] == self.model.commit(chain, expected, new, acks, *steps)
            self.learn()

    @initialize(ticks=st.integers(0, 2))
    def one_chain_has_two_actions_that_workers_have_read_and_a_person_has_approved_one(
        self, ticks: int
    ) -> None:
        self.begin()
        self.submit("a", "x", 9)
        for number, repeatable in ((1, True), (2, False)):
            version = self.model.chains["a"].version
            self._write(
                "a", version, f"first-{number}", (), [Dispatch(f"a.s.{number}", repeatable)]
            )
        self.read(TOOLS, "one", 2)
        for number in (1, 2):
            version = self.model.chains["a"].version
            self._write("a", version, f"asked-{number}", (), [Ask(number, 4)])
        self.answer("a", 1, "{}", "t1", Approves("s.1", "x", 1))
        self.time_passes(ticks)

    def _step(self, data: st.DataObject, chain: str) -> Step | None:
        """Something that the executor might do to this chain now."""
        model = self.model
        if model.final(chain):
            return None
        action, number = f"{chain}.s.{data.draw(NUMBERS)}", data.draw(NUMBERS)
        thought, request = f"{chain}.s.t{number}.1", f"{chain}.r{number}"
        row = model.actions.get(action)
        choices: list[Step | None] = [None, Think(thought)]
        if row is None:
            choices += [Dispatch(action, repeatable=True), Dispatch(action, repeatable=False)]
        elif row.over():
            choices += [Dispatch(action, row.repeatable, again=True)] * 3 + [Resolve(action)]
        if request not in model.requests:
            choices.append(Ask(number, model.now + data.draw(st.integers(1, 4))))
        elif number in model.chains[chain].open:
            choices.append(Withdraw(number))
        if data.draw(st.integers(0, 19)) == 19:
            choices = [Finish()]
        return data.draw(st.sampled_from(choices), label="step")

    # ---- workers and planner
    # ----------------------------------------------------------------------------------------

    @rule(stream=st.sampled_from(sorted(GROUPS)), consumer=CONSUMERS, count=st.integers(1, 3))
    def read(self, stream: str, consumer: str, count: int) -> None:
        fresh = [
            n
            for n, row in sorted(self.model.entries.items())
            if row.stream == stream and n not in self.seen
        ]
        expected = fresh[:count]
        found = self.redis.xreadgroup(GROUPS[stream], consumer, {KEY + stream: ">"}, count=count)
        entries = [entry.decode() for entry, _ in found[0][1]] if found else []
        assert entries == [self.entry(n) for n in expected]
        self.seen.update(expected)
        self.model.pending.update(dict.fromkeys(expected, consumer))

    @precondition(lambda self: self.model.pending)
    @rule(data=st.data(), consumer=CONSUMERS)
    def take_over(self, data: st.DataObject, consumer: str) -> None:
        entry = data.draw(st.sampled_from(sorted(self.model.pending)), label="entry")
        stream = self.model.entries[entry].stream
        self.redis.xclaim(KEY + stream, GROUPS[stream], consumer, 0, [self.entry(entry)])
        self.model.pending[entry] = consumer

    @precondition(lambda self: any(row.stream == TOOLS for row in self.model.entries.values()))
    @rule(data=st.data(), other=CHAINS)
    def somebody_adds_a_copy_or_a_forgery(self, data: st.DataObject, other: str) -> None:
        row = self.model.entries[data.draw(st.sampled_from(self._orders()), label="entry")]
        message = data.draw(st.sampled_from([row.message, f"{other}.s.1/1"]))
        self.redis.xadd(KEY + TOOLS, {"__data__": f'{{"id":"{message}"}}', "__body__": "{}"})
        self.model.add(TOOLS, message, message.rpartition("/")[0])

    def _orders(self) -> list[int]:
        return sorted(n for n, row in self.model.entries.items() if row.stream == TOOLS)

    def _action_of(self, entry: int, data: st.DataObject) -> str:
        row = self.model.entries.get(entry)
        about = row.about if row else ""
        return about or f"{data.draw(CHAINS)}.s.{data.draw(NUMBERS)}"

    @rule(
        data=st.data(),
        lucky=st.booleans(),
        consumer=CONSUMERS,
        token=TOKENS,
        fresh=st.booleans(),
        start=st.booleans(),
        called=st.none() | CALLS,
    )
    def claim(
        self,
        data: st.DataObject,
        lucky: bool,
        consumer: str,
        token: str,
        fresh: bool,
        start: bool,
        called: str | None,
    ) -> None:
        waiting = (
            [row.entry for row in self.model.actions.values() if not row.over()] if lucky else []
        )
        entry = (
            data.draw(st.sampled_from(waiting), label="entry")
            if waiting
            else self.some_entry(data, TOOLS)
        )
        action = self._action_of(entry, data)
        consumer = self.model.pending.get(entry, consumer) if lucky else consumer
        self.commits += 1
        token = f"{consumer}/{token}/{self.commits}" if fresh else f"{consumer}/{token}"
        digest = "" if called is None else f"{action}/{called}"
        mode = "start" if start else "look"
        reply = self.call("claim", TOOLS, self.entry(entry), action, consumer, token, mode, digest)
        expected = self.model.claim(entry, action, consumer, token, start=start, digest=digest)
        assert (reply[0].decode(), reply[1]) == expected

    @rule(
        data=st.data(), lucky=st.booleans(), epoch=EPOCHS, consumer=CONSUMERS, doubt=st.booleans()
    )
    def complete(
        self, data: st.DataObject, lucky: bool, epoch: int, consumer: str, doubt: bool
    ) -> None:
        args: list[object] = [consumer]
        expected = []
        for _ in range(data.draw(st.integers(1, 2))):
            entry = self.some_entry(data, TOOLS)
            action = self._action_of(entry, data)
            row = self.model.actions.get(action)
            right = row.epoch if row and lucky else epoch
            attempt = row.attempt if row else 1
            head = f'{{"id":"{action}/{attempt}/done","outcome":'
            args += [TOOLS, self.entry(entry), action, right, int(doubt), '"said"', "{}", head, "}"]
            expected.append(
                self.model.complete(
                    entry, action, right, consumer, Receipt.IN_DOUBT if doubt else Receipt.OK
                )
            )
        assert [status.decode() for status in self.call("complete", *args)] == expected

    @rule(data=st.data(), lucky=st.booleans(), epoch=EPOCHS, consumer=CONSUMERS)
    def heartbeat(self, data: st.DataObject, lucky: bool, epoch: int, consumer: str) -> None:
        entry, stream, action, right = self._held(data, lucky, epoch)
        consumer = self.model.pending.get(entry, consumer) if lucky else consumer
        reply = self.call("heartbeat", stream, self.entry(entry), action, right, consumer)
        assert reply[0].decode() == self.model.heartbeat(entry, action, right, consumer)

    @rule(data=st.data(), lucky=st.booleans(), epoch=EPOCHS, consumer=CONSUMERS)
    def release(self, data: st.DataObject, lucky: bool, epoch: int, consumer: str) -> None:
        entry, stream, action, right = self._held(data, lucky, epoch)
        consumer = self.model.pending.get(entry, consumer) if lucky else consumer
        reply = self.call("release", stream, self.entry(entry), action, right, consumer)
        assert reply.decode() == self.model.release(entry, action, right, consumer)

    def _held(self, data: st.DataObject, lucky: bool, epoch: int) -> tuple[int, str, str, int]:
        stream = data.draw(st.sampled_from([TOOLS, PLANS]))
        entry = self.some_entry(data, stream)
        action = self._action_of(entry, data) if stream == TOOLS else ""
        row = self.model.actions.get(action)
        return entry, stream, action, row.epoch if row and lucky else epoch

    @rule(data=st.data(), chain=CHAINS)
    def record_thought(self, data: st.DataObject, chain: str) -> None:
        entry = self.some_entry(data, PLANS)
        row = self.model.entries.get(entry)
        thought = row.about if row else f"{chain}.s.t1.1"
        head = f'{{"id":"{thought}/reply","data":'
        reply = self.call("record_thought", self.entry(entry), thought, "kind", "{}", "raw", head)
        assert reply.decode() == self.model.record_thought(entry, thought, "{}")

    # ---- dead letters
    # ----------------------------------------------------------------------------------------------

    @precondition(lambda self: self.model.entries)
    @rule(data=st.data(), told=st.booleans(), known=st.booleans())
    def dead_letter(self, data: st.DataObject, told: bool, known: bool) -> None:
        entry = self.some_entry(data)
        row = self.model.entries[entry]
        args: list[object] = ["", row.about] if known and row.about else []
        told = told and row.stream in (TOOLS, PLANS)
        if told and row.stream == TOOLS:
            action = self.model.actions.get(row.about)
            head = f'{{"id":"{row.about}/{action.attempt if action else 1}/done","outcome":'
            args = ["action", row.about, head, '"failed"', '"in doubt"', "}"]
        elif told:
            args = ["thought", row.about, f'{{"id":"{row.about}/reply","data":', '"failed"']
        status, letter = self.call(
            "dead_letter", row.stream, self.entry(entry), "reason", "", "", *args
        )
        assert status.decode() == self.model.dead_letter(
            entry, "reason", row.about if args else "", told=told
        )
        self.letters[self.model.last_letter] = letter.decode()

    @precondition(lambda self: self.letters)
    @rule(data=st.data())
    def requeue(self, data: st.DataObject) -> None:
        letter = data.draw(st.sampled_from(sorted(self.letters)), label="letter")
        assert self.call("requeue", self.letters[letter]).decode() == self.model.requeue(letter)


@pytest.mark.timeout(600)
def test_the_functions_do_what_the_model_says(server: EmbeddedServer) -> None:
    Functions.url = server.url
    run_state_machine_as_test(
        Functions,
        settings=settings(
            max_examples=150,
            stateful_step_count=50,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
