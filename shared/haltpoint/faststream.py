"""For users of FastStream: tasks go in with `broker.publish`, and facts about what happens to them
come out.

broker = RedisBroker("redis://localhost:6379")
app = FastStream(broker)
tasks = TaskPublisher(broker, source="shop")

@facts(app, "chain.completed", "request.opened", group="shop")
async def on_fact(fact: ChainCompleted | RequestOpened) -> None: ...

chain_id = await tasks.publish("Tell John I'm running late", id="order-17")
"""

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal, TypeVar, cast
from weakref import WeakKeyDictionary

import msgspec
from faststream import AckPolicy, FastStream
from faststream.asgi import AsgiFastStream
from faststream.message import StreamMessage
from faststream.redis import RedisBroker, StreamSub
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_serializer,
    field_validator,
)
from redis.asyncio import Redis, RedisCluster

from haltpoint.chain.checks.plans import task_fault
from haltpoint.contracts.base import Ingress, derived_chain_id
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.public_facts import (
    PUBLIC,
    ChainCancelled,
    ChainCompleted,
    ChainFailed,
    OfferedOption,
    PublicFact,
    RequestAnswered,
    RequestExpired,
    RequestOpened,
    RequestWithdrawn,
)
from haltpoint.contracts.strict_json import fault_in
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.faults import in_places
from haltpoint.runtime.streams.topology import Topology, make_groups

__all__ = [
    "ChainCancelled",
    "ChainCompleted",
    "ChainFailed",
    "OfferedOption",
    "PublicFact",
    "RequestAnswered",
    "RequestExpired",
    "RequestOpened",
    "RequestWithdrawn",
    "Task",
    "TaskPublisher",
    "TaskSubmitted",
    "facts",
    "stream_of",
]

FactName = Literal[
    "chain.completed",
    "chain.failed",
    "chain.cancelled",
    "request.opened",
    "request.answered",
    "request.expired",
    "request.withdrawn",
]

Handler = TypeVar("Handler", bound=Callable[..., Any])

_AGAIN: Final = 60_000
"""Ms after which a fact whose handler failed, or whose process died, is handled again."""

_groups: WeakKeyDictionary[RedisBroker, set[str]] = WeakKeyDictionary()


class TaskSubmitted(BaseModel):
    """A task. `source` and `id` are its key: published again, it finds the same chain."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    type: Literal["task.submitted.v1"] = "task.submitted.v1"
    id: str = Field(default_factory=lambda: uuid.uuid4().hex, min_length=1, max_length=512)
    source: str = Field(default="faststream", min_length=1, max_length=512)
    data: Task

    @field_validator("data")
    @classmethod
    def _acceptable(cls, data: Task) -> Task:
        """An executor would refuse it, and no chain would have its id."""
        if fault := task_fault(data) or fault_in(msgspec.to_builtins(data)):
            raise ValueError(fault)
        return data

    @field_serializer("data")
    def _told(self, data: Task) -> dict[str, Any]:
        """Only the fields that are set: an executor of an older release refuses fields that it does
        not know.
        """
        told: dict[str, Any] = msgspec.to_builtins(data)
        return told

    @property
    def chain_id(self) -> str:
        """The id of the chain that this task starts: that of its facts."""
        return derived_chain_id(Ingress.STREAM, self.data.tenant, self.source, self.id)


def stream_of(task: TaskSubmitted, partitions: int = 1) -> str:
    """A stream that takes the task. Each partition does, and passes it on; to say how many there
    are spreads tasks.
    """
    topology = Topology(partitions)
    return topology.stream(topology.partition(task.chain_id), Stream.EVENTS)


class TaskPublisher:
    """Publishes tasks through a broker that is started or connected."""

    def __init__(
        self, broker: RedisBroker, *, source: str = "faststream", partitions: int = 1
    ) -> None:
        self._broker = broker
        self._source = source
        self._partitions = partitions

    async def publish(self, goal: str = "", *, id: str | None = None, **fields: Any) -> str:
        """Publish a goal, with more `fields` of the task, and return its chain's id. The same `id`
        is the same task.

        Raises ValueError for fields that do not fit, also for neither goal nor plan; redis-py's
        errors when Redis is unreachable.
        """
        key = {} if id is None else {"id": id}
        data = {"goal": goal, **fields}
        try:
            task = TaskSubmitted.model_validate({"source": self._source, "data": data, **key})
        except ValidationError as error:
            raise ValueError(in_places(error)) from None
        await self._broker.publish(task, stream=stream_of(task, self._partitions))
        return task.chain_id


def facts(
    app: FastStream | AsgiFastStream, *names: FactName, group: str, partitions: int = 4
) -> Callable[[Handler], Handler]:
    """Call a handler with each fact of these names (none: all), once for all processes of a group.

    A new group begins with the oldest fact that is kept. A fact is acknowledged when its handler
    has returned; one that fails, or takes longer than a minute, gets it again. So facts come at
    least once, each time with the same id.

    Raises ValueError for other names, and for a second handler of a group. HaltpointError when the
    app starts: HP-015 nothing is set up on this Redis, HP-016 it has another number of partitions.
    """
    if unknown := sorted(set(names) - {*PUBLIC}):
        raise ValueError(
            f"{', '.join(unknown)}: not a public fact; there are {', '.join(sorted(PUBLIC))}"
        )
    broker = getattr(app, "broker", None)
    if not isinstance(broker, RedisBroker):
        raise TypeError("facts are read through a RedisBroker: FastStream(RedisBroker(url))")
    topology = Topology(partitions)
    streams = [topology.key(partition, "facts") for partition in range(partitions)]
    app.on_startup(partial(_make_groups, broker, topology, streams, group))
    types = {f"{name}.v1" for name in names or PUBLIC}

    async def is_wanted(message: StreamMessage[Any]) -> bool:
        body = await message.decode()
        return isinstance(body, dict) and body.get("type") in types

    def subscribe(handler: Handler) -> Handler:
        if group in _groups.setdefault(broker, set()):
            raise ValueError(
                f"the group {group!r} has a handler already; a second "
                "one would take facts away from it"
            )
        _groups[broker].add(group)
        for partition, stream in enumerate(streams):
            # One by one: a fact that waits behind a slow handler would look as if its process had
            # died.
            new = StreamSub(
                stream, group=group, consumer=group, max_records=1, polling_interval=2000
            )
            left = StreamSub(
                stream, group=group, consumer=group, min_idle_time=_AGAIN, polling_interval=5000
            )
            for place, shown in ((new, True), (left, False)):
                subscriber = broker.subscriber(
                    stream=place,
                    ack_policy=AckPolicy.NACK_ON_ERROR,
                    title=f"{group}.facts.{partition}",
                    include_in_schema=shown,
                )
                subscriber(handler, filter=is_wanted)
                subscriber(_pass_by)
        return handler

    return subscribe


async def _pass_by() -> None:
    """Other facts of the stream: acknowledged, and that is all."""


async def _make_groups(
    broker: RedisBroker, topology: Topology, streams: list[str], group: str
) -> None:
    """FastStream would make them at the stream's end, and what was written before would never be
    read.
    """
    redis = cast("Any", await broker.connect())
    if not isinstance(redis, Redis | RedisCluster):
        return  # FastStream's TestRedisBroker, which has no server
    try:
        await topology.check(cast("Any", redis))
    except HaltpointError as error:
        if error.code != "HP-016":
            raise
        raise HaltpointError(
            error.code, error.what, error.why, "Correct facts(..., partitions=...)"
        ) from None
    await make_groups(cast("Any", redis), dict.fromkeys(streams, group))
