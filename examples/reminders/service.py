"""A FastStream service that has an agent send reminders, and hears how each of them ends.

    REDIS_URL=redis://localhost:6379 faststream run examples.reminders.service:app

REDIS_URL is the address of Haltpoint's server; that of `haltpoint up` is
unix://STATE_DIR/data/server.sock.
"""

import os

from faststream import FastStream
from faststream.redis import RedisBroker, StreamSub
from pydantic import BaseModel

from haltpoint.faststream import ChainCompleted, ChainFailed, RequestOpened, TaskPublisher, facts

broker = RedisBroker(os.environ["REDIS_URL"])
partitions = int(os.environ.get("HALTPOINT_PARTITIONS", "4"))  # as many as the deployment has
app = FastStream(broker)
tasks = TaskPublisher(broker, source="reminders")


class Reminder(BaseModel):
    id: str
    to: str
    words: str


class News(BaseModel):
    chain_id: str
    line: str


@broker.subscriber(stream=StreamSub("reminders", group="reminders", consumer="reminders"))
async def on_reminder(reminder: Reminder) -> None:
    """Handled twice it is one task all the same: its id is the key."""
    await tasks.publish(f"Tell {reminder.to} {reminder.words}", id=reminder.id)


@facts(
    app,
    "request.opened",
    "chain.completed",
    "chain.failed",
    group="reminders",
    partitions=partitions,
)
async def on_fact(fact: RequestOpened | ChainCompleted | ChainFailed) -> None:
    """Facts come at least once: who reads the news may see one twice."""
    if isinstance(fact, RequestOpened):
        line = f"{fact.data.question} {', '.join(option.id for option in fact.data.options)}"
    elif isinstance(fact, ChainCompleted):
        line = fact.data.answer or "done"
    else:
        line = f"failed: {fact.data.message}"
    await broker.publish(News(chain_id=fact.subject, line=line), stream="reminders:news")
