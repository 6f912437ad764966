"""What lies in Redis of one chain, action, request or thought, read as the product reads it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from msgspec.structs import asdict
from msgspec.structs import replace as replace_fields

from haltpoint.chain.model.references import Graph
from haltpoint.chain.model.state import StepRun
from haltpoint.contracts.base import JsonObject, chain_of
from haltpoint.contracts.work.plans import Plan
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.chain_codec import decode_chain
from haltpoint.runtime.store.log_lines import decode_line
from haltpoint.runtime.store.rows import (
    ActionRow,
    ActionState,
    Data,
    Fields,
    Key,
    Kind,
    Part,
    Receipt,
    StoredAction,
    StoredRequest,
    StoredThought,
    action_of,
    local,
    request_of,
    thought_of,
)
from haltpoint.runtime.streams.topology import Topology
from haltpoint.runtime.streams.wire import encode
from haltpoint.runtime.views.record import ChainRecord


class Stored:
    """Reads the keys of chains; what is missing is None."""

    def __init__(self, redis: Any, topology: Topology) -> None:
        self._redis = redis
        self._topology = topology

    async def _rows(self, any_id: str) -> tuple[Fields, Fields]:
        chain = chain_of(any_id)
        head, data = (self._topology.key_of(key, chain) for key in (Key.CHAIN, Key.DATA))
        async with self._redis.pipeline(
            transaction=True
        ) as both:  # a commit between two reads would tear them apart
            rows = await both.hgetall(head).hgetall(data).execute()
        return _in_text(rows[0]), _in_text(rows[1])

    async def action(self, name: str) -> StoredAction | None:
        return action_of(name, *await self._rows(name))

    async def receipts(self, name: str) -> dict[int, Receipt | None]:
        """Every word of a worker or a child on an action, by its attempt."""
        head, data = await self._rows(name)
        action = action_of(name, head, data)
        if action is None:
            return {}
        found: dict[int, Receipt | None] = {}
        for attempt in range(1, action.row.attempt):
            text = data.get(f"{local(name)}.{Part.RECEIPT}.{attempt}")
            if text:
                found[attempt] = Receipt.parse(text)
        return {**found, action.row.attempt: action.receipt}

    async def request(self, name: str) -> StoredRequest | None:
        return request_of(name, *await self._rows(name))

    async def thought(self, name: str) -> StoredThought | None:
        text = await self._redis.hget(self._topology.key_of(Key.DATA, chain_of(name)), local(name))
        return None if text is None else thought_of(text.decode(errors="replace"))

    async def head(self, chain: str, field: str) -> str | None:
        value = await self._redis.hget(self._topology.key_of(Key.CHAIN, chain), field)
        return None if value is None else str(value.decode())

    async def data(self, chain: str, field: Data) -> Any:
        return await self._redis.hget(self._topology.key_of(Key.DATA, chain), field)

    async def log(self, chain: str) -> list[JsonObject]:
        lines = await self._redis.lrange(self._topology.key_of(Key.LOG, chain), 0, -1)
        return [asdict(decode_line(chain, line)) for line in lines]

    async def change(self, name: str, **changed: Any) -> None:
        """Another row for an action, as if it had been written so."""
        found = await self.action(name)
        assert found is not None
        await self.write(replace(found, row=replace(found.row, **changed)))

    async def write(self, action: StoredAction) -> None:
        """An action as the functions would have left it."""
        chain, place = chain_of(action.id), local(action.id)
        row = action.row
        parts = (row.entry, row.epoch, row.attempt, int(row.repeatable), row.state, row.token)
        await self._redis.hset(
            self._topology.key_of(Key.CHAIN, chain), place, " ".join(map(str, parts))
        )
        receipts = {Part.RECEIPT.value: action.receipt, Part.RESOLUTION.value: action.resolution}
        if action.earlier is not None:
            receipts[f"{Part.RECEIPT}.{action.row.attempt}"] = action.earlier
        fields = {
            f"{place}.{part}": "\n".join((one.kind, one.outcome, one.data))
            for part, one in receipts.items()
            if one
        }
        fields[f"{place}.{Part.CALL}"] = f"{action.tool}\n{action.arguments}"
        await self._redis.hset(self._topology.key_of(Key.DATA, chain), mapping=fields)


def _in_text(fields: Mapping[bytes, bytes]) -> Fields:
    return {name.decode(): text.decode(errors="replace") for name, text in fields.items()}


def stored_action(
    name: str,
    tool: str = "note",
    args: str = "{}",
    *,
    receipt: str | bytes = "",
    data: str = "",
    in_doubt: str | bytes = "",
    resolution: str | bytes = "",
    resolution_data: str = "",
    earlier: str | None = None,
    attempt: int = 1,
    child: bool = False,
) -> StoredAction:
    """An action with these texts; what is empty is not there."""

    def recorded(outcome: str | bytes, data: str, kind: Kind = Kind.RECEIPT) -> Receipt | None:
        return (
            Receipt(kind, outcome.decode() if isinstance(outcome, bytes) else outcome, data)
            if outcome
            else None
        )

    row = ActionRow(
        "1-1",
        0,
        attempt,
        repeatable=True,
        state=ActionState.CHILD if child else ActionState.SENT,
        token="-",
    )
    first = recorded(receipt, data) or recorded(in_doubt, "", Kind.IN_DOUBT)
    before = Receipt(Kind.RECEIPT, earlier, "") if earlier else None
    return StoredAction(name, row, tool, args, first, recorded(resolution, resolution_data), before)


def chain_record(
    *,
    id: str,
    head: Mapping[str, str],
    task: Task,
    plan: Plan | None = None,
    runs: tuple[StepRun, ...] = (),
    end: Mapping[str, Any] | None = None,
    **parts: Any,
) -> ChainRecord:
    """What is kept of a chain with this head (as it is stored), plan and end."""
    data: Fields = {Data.TASK: encode(task).decode(), Data.END: encode(end or {}).decode()}
    chain = replace_fields(decode_chain(id, head, data), runs=runs)
    if plan is not None:
        chain = replace_fields(chain, plan=plan, graph=Graph.of(plan))
    return ChainRecord(chain=chain, **parts)
