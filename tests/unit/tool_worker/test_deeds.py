"""The worker writes into the receipt what a call did (F1): over the arguments that ran and the
data.
"""

from typing import Any

from haltpoint.contracts.doors import door
from haltpoint.contracts.results import DeedWords, ToolResult
from tests.unit.tool_worker.test_hooks import post, run_call


async def deed_of(name: str, arguments: str, *hooks: Any) -> DeedWords | None:
    return (await run_call(name, arguments, *hooks)).metadata.deed


async def test_a_success_with_an_effect_is_told_with_its_target() -> None:
    told = await deed_of("send_message", '{"to":"u1","text":"a\\nb"}')
    assert told == DeedWords(says='Send message: to "u1", text "a b"', target="u1")


async def test_what_reads_or_fails_is_no_deed() -> None:
    assert await deed_of("look", '{"query":"x"}') is None
    assert await deed_of("send_message", '{"to":7}') is None
    assert await deed_of("crashing", "{}") is None


async def test_what_happened_is_kept_also_where_a_hook_makes_an_error_of_the_result() -> None:
    def refuse(_: ToolResult) -> ToolResult:
        return door(ToolResult).validate_python(
            {"success": False, "next_action": "error", "error": "not like this"}
        )

    assert await deed_of("send_message", '{"to":"u1"}', post(refuse)) is not None
