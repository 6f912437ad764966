from orders import broker

from haltpoint.faststream import Task, TaskSubmitted, stream_of


async def place_two() -> None:
    task = TaskSubmitted(source="shop", id="order-18", data=Task(goal="Tell Jane I'm running late"))
    await broker.publish(task, stream=stream_of(task))

    body = {"goal": "Tell Mary I'm running late"}
    await broker.publish(body, stream="hp:{0}:events")
