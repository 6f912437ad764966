"""The real functions beside their model: choices, arguments, and what can be seen of both.

One tick of the model is 1000 s of the server's clock, and deadlines lie between ticks, so that the
time that the test itself takes decides nothing.
"""

import re
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant
from redis import Redis

from haltpoint.contracts.base import chain_of
from haltpoint.runtime.store import operations as ops
from haltpoint.runtime.store.rows import ActionState, Head, Kind, Part, action_of, local, request_of
from haltpoint.runtime.streams.topology import PREFIX
from tests.integration.store.functions_model import (
    Ask,
    Dispatch,
    Finish,
    FunctionsModel,
    Resolve,
    Step,
    Think,
    Withdraw,
)
from tests.integration.store.functions_rows import EVENTS, HUMANS, PLANS, TOOLS, EntryRow
from tests.support.function_rules import Approval, Receipt

TICK = 1_000_000  # ms
KEY = "hp:{0}:"
GROUPS = {EVENTS: "executor", PLANS: "planner", HUMANS: "gateway", TOOLS: "tool-worker"}


class FunctionsBeside(RuleBasedStateMachine):
    """The functions and the model side by side; the invariant reads all that can be seen of
    both.
    """

    url = ""

    def __init__(self) -> None:
        super().__init__()
        self.redis: Any = Redis.from_url(self.url)
        self.model = FunctionsModel()
        self.ids: dict[int, str] = {}
        self.letters: dict[int, str] = {}
        self.commits = 0

    def teardown(self) -> None:
        self.redis.close()

    def begin(self) -> None:
        """Empty the server; before any command."""
        self.redis.flushall()
        for stream, group in GROUPS.items():
            self.redis.xgroup_create(KEY + stream, group, id="0", mkstream=True)
        seconds, micros = self.redis.time()
        self.seen: set[int] = set()
        self.start: int = seconds * 1000 + micros // 1000 - TICK // 2

    def call(self, name: str, *args: object) -> Any:
        return self.redis.fcall(f"{PREFIX}{name}", 1, f"{KEY}events", *args)

    def entry(self, number: int) -> str:
        return self.ids.get(number, "1-1")

    def time(self, tick: int) -> int:
        return self.start + tick * TICK

    def another_moment(self) -> None:
        """Wait until the server's clock shows another millisecond: the order of timers is then that
        of the commands.
        """
        moment = self.redis.time()[1] // 1000
        while self.redis.time()[1] // 1000 == moment:
            pass

    # ---- choices
    # ----------------------------------------------------------------------------------------------

    def some_entry(self, data: st.DataObject, stream: str | None = None) -> int:
        """Mostly one that is there, sometimes one that was, in `stream` if that is given."""
        numbers = [n for n, row in self.model.entries.items() if stream in (None, row.stream)]
        entry: int = data.draw(
            st.sampled_from([*numbers, 0] if stream else numbers or [0]), label="entry"
        )
        return entry

    def stream_of(self, entry: int, default: str) -> str:
        row = self.model.entries.get(entry)
        return row.stream if row else default

    def operations(self, chain: str, new: str, steps: list[Step]) -> list[ops.Operation]:
        if not steps:
            return []
        row = self.model.chains[chain]
        written: list[ops.Operation] = [ops.WriteHead([Head.VERSION, new])]
        match steps[0]:
            case Dispatch(action, repeatable, again):
                attempt = self.model.actions[action].attempt + 1 if again else 1
                data = f'{{"id":"{action}/{attempt}"}}'
                order = (
                    local(action),
                    "default",
                    str(attempt),
                    str(int(repeatable)),
                    "t",
                    "{}",
                    data,
                )
                written.append(ops.Dispatch(*order, again=again))
            case Think(thought):
                written.append(ops.AskModel(f'{{"id":"{thought}"}}'))
            case Ask(number, deadline):
                at, message = self.time(deadline), f'{{"id":"{chain}.r{number}"}}'
                written += [
                    ops.WriteHead(["open", " ".join(map(str, (*row.open, number)))]),
                    ops.OpenRequest(f"r{number}", "{}", str(at), 1, message),
                    ops.SetTimer(min(at, self.time(row.deadline[0]))),
                ]
            case Withdraw(number):
                written.append(
                    ops.WithdrawRequest(f"r{number}", f'{{"id":"{chain}.r{number}/withdrawn"}}')
                )
            case Resolve(action):
                written.append(ops.ResolveAction(local(action), "{}", "{}"))
            case Finish():
                written += [
                    ops.WriteHead(["status", "completed", "open", ""]),
                    ops.EndChain("1000"),
                ]
        return written

    # ---- what can be seen
    # -------------------------------------------------------------------------------------------

    def learn(self) -> None:
        """Tell the ids of new entries from their order; what lies on each stream must be what the
        model says.
        """
        for stream in GROUPS:
            found = [(entry.decode(), fields) for entry, fields in self.redis.xrange(KEY + stream)]
            rows = {n: row for n, row in sorted(self.model.entries.items()) if row.stream == stream}
            assert [_message(fields) for _, fields in found] == [
                row.message for row in rows.values()
            ], stream
            for (entry, _), number in zip(found, rows, strict=True):
                assert self.ids.setdefault(number, entry) == entry

    @invariant()
    def all_that_can_be_seen_is_the_same(self) -> None:
        self.learn()
        self._see_pending()
        rows = {
            chain: (self._hash("chain", chain), self._hash("data", chain))
            for chain in self.model.chains
        }
        for chain, row in self.model.chains.items():
            head, _ = rows[chain]
            version = head[Head.VERSION.encode()].decode()
            assert (version, head[b"status"] == b"completed") == (
                row.version,
                row.end == "completed",
            )
        for name, action in self.model.actions.items():
            found = action_of(name, *rows[chain_of(name)])
            assert found is not None
            assert (found.row.entry, found.row.epoch) == (self.entry(action.entry), action.epoch), (
                name
            )
            started = found.row.state in (ActionState.STARTED, ActionState.IN_DOUBT)
            assert (started, found.resolution is not None) == (action.started, action.resolution), (
                name
            )
            doubt, over = action.receipt is Receipt.IN_DOUBT, action.over()
            assert (found.receipt is not None) is over, name
            assert found.receipt is None or (found.receipt.kind is Kind.IN_DOUBT) is doubt, name
        self._see_approvals({chain: data for chain, (_, data) in rows.items()})
        for name, request in self.model.requests.items():
            asked = request_of(name, *rows[chain_of(name)])
            assert asked is not None
            assert asked.status == request.status
        open_now = {
            name for name, request in self.model.requests.items() if request.status == "open"
        }
        assert {
            one.decode() for one in self.redis.zrange(f"{KEY}index:requests", 0, -1)
        } == open_now
        assert all(local(name).encode() in rows[chain_of(name)][1] for name in self.model.thoughts)
        letters = [entry.decode() for entry, _ in self.redis.xrange(f"{KEY}dead")]
        assert letters == [self.letters[number] for number in self.model.letters]
        timers = {
            chain.decode(): at
            for chain, at in self.redis.zrange(f"{KEY}timers", 0, -1, withscores=True)
        }
        assert {chain: round((at - self.start) / TICK - 0.25) for chain, at in timers.items()} == {
            chain: tick for chain, (tick, _) in self.model.timers.items()
        }

    def _see_approvals(self, rows: dict[str, dict[bytes, bytes]]) -> None:
        found = {}
        for chain, data in rows.items():
            for field, text in data.items():
                name, _, part = field.decode().rpartition(".")
                if part == Part.APPROVAL:
                    digest, deadline, state = text.decode().partition("\n")[0].split()
                    tick = round((int(deadline) - self.start) / TICK - 0.25)
                    found[f"{chain}.{name}"] = Approval(digest, tick, state == "consumed")
        assert found == self.model.approvals

    def _see_pending(self) -> None:
        for stream, group in GROUPS.items():
            found = self.redis.xpending_range(KEY + stream, group, "-", "+", 100)
            held = {one["message_id"].decode(): one["consumer"].decode() for one in found}
            ours = {n: who for n, who in self.model.pending.items() if self._stream(n) == stream}
            assert held == {self.entry(n): who for n, who in ours.items()}

    def _stream(self, number: int) -> str:
        row: EntryRow | None = self.model.entries.get(number)
        return row.stream if row else ""

    def _hash(self, kind: str, name: str) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = self.redis.hgetall(f"{KEY}{kind}:{name}")
        return found


def _message(fields: dict[bytes, bytes]) -> str:
    """The id of a message; when a timer went off is left out, for it is told in ms."""
    found = re.search(r'"id":"([^"]*)"', fields[b"__data__"].decode())
    assert found is not None
    return re.sub(r"/due/\d+", "/due", found[1])
