"""Submit a task, answer its question, print what was done."""

import asyncio
import os

from haltpoint import Client


async def main() -> None:
    url = os.environ.get("HALTPOINT_URL", "http://127.0.0.1:8700")
    async with Client(url, os.environ["HALTPOINT_KEY"]) as client:
        run = await client.run("Tell John I'm running late", idempotency_key="order-17")
        question = await run.expects_request("clarification")
        await client.answer(question.id, option_id=question.options[0].id)
        result = await run.result(timeout=60)
        print(result.status, [deed.says for deed in result.answer.deeds])


if __name__ == "__main__":
    asyncio.run(main())
