import os

from faststream import FastStream
from faststream.redis import RedisBroker

from haltpoint.faststream import ChainCompleted, ChainFailed, TaskPublisher, facts

broker = RedisBroker(os.environ.get("REDIS_URL", "redis://localhost:6379"))
app = FastStream(broker)
tasks = TaskPublisher(broker, source="shop")


@facts(app, "chain.completed", "chain.failed", group="shop")
async def on_end(fact: ChainCompleted | ChainFailed) -> None:
    if isinstance(fact, ChainCompleted):
        print(fact.subject, "completed:", fact.data.answer)
    else:
        print(fact.subject, "failed:", fact.data.message)


@app.after_startup
async def place_order() -> None:
    chain_id = await tasks.publish("Tell John I'm running late", id="order-17")
    print(chain_id, "submitted")
