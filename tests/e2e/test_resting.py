"""A tool that refuses a call for now is called again when it said, over real processes (CONTRACT
E2).
"""

from haltpoint.client import Client
from tests.e2e.running import Running, executors_killed
from tests.support import wait_until


async def test_e2_an_action_rests_and_runs_again_also_when_the_executors_die_meanwhile(
    system: Running, client: Client
) -> None:
    step = {
        "id": "in",
        "required_tools": ["crowded"],
        "actions": [{"tool": "crowded", "arguments": {}}],
    }
    run = await client.run(task={"plan": {"steps": [step]}})

    async def rests() -> bool:
        current = (await client.chain(run.id)).current
        if current is None or current.resting is None:
            return False
        (action,) = (await client.chain(run.id)).steps[0].actions
        return "too many callers" in current.resting.why and (action.status, action.receipt) == (
            "resting",
            None,
        )

    await wait_until(rests)
    async with executors_killed(system):
        pass
    result = await run.result()

    (action,) = result.chain.steps[0].actions
    assert result.status == "completed"
    assert action.receipt is not None
    assert action.receipt.data == {"attempt": 2}
    assert action.id.endswith(".in.1")
