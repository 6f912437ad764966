"""C6 once more in the worker (H3), over real processes: an id that nobody looked up does not reach
the tool.

The model's own made-up ids are refused before (test_five_cases.py). Here it copies the id that it
has found, and a hook puts another one in its place, which only the worker can see.
"""

from haltpoint.client import Client
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.views.steps import ActionView
from tests.e2e.running import Running


async def unlocked(client: Client, goal: str, mode: str = "strict") -> tuple[str, str, ActionView]:
    """The chain and its status, and the call that unlocks."""
    result = await (await client.run(task={"goal": goal, "mode": mode})).result()
    (_, action) = result.chain.steps[0].actions
    return result.chain.id, result.status, action


def hooks(action: ActionView) -> list[tuple[str, str]]:
    assert action.receipt is not None
    return [
        (hook.name.rpartition(":")[2], hook.verdict.value) for hook in action.receipt.metadata.hooks
    ]


async def test_c6_the_worker_refuses_an_id_that_a_hook_made_up(
    system: Running, client: Client
) -> None:
    chain, status, action = await unlocked(client, "Unlock the attic")
    assert (status, system.written(chain)) == ("failed", [])
    assert action.arguments == {"door_id": "door of the attic"}  # the model did as it should
    assert action.receipt is not None
    assert action.receipt.error is not None
    assert (action.receipt.error.error_type, action.receipt.error.recoverable) == (
        ErrorType.BLOCKED,
        False,
    )
    assert action.receipt.error.message == (
        "unlock was not called: its door_id must come from find_door.door_id, and no result of "
        "this chain holds the "
        "value that it has since tests.e2e.hooks:another_door changed the arguments"
    )
    assert hooks(action) == [
        ("another_door", "modify"),
        ("not_the_moon", "allow"),
        ("provenance", "block"),
    ]
    shown = (await system.typed("chain", "show", chain)).stdout
    assert "its door_id must come from find_door.door_id" in shown
