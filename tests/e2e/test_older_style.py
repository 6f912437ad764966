"""B7 and E5 with real processes: tools in the older style, exceptions after an effect, and what a
person says then.
"""

from typing import Any

from tests.e2e.running import Running
from tests.e2e.test_command_line import document


def called(system: Running, name: str, *arguments: str, code: int = 0) -> dict[str, Any]:
    chain: dict[str, Any] = document(
        system.command("tool", "call", name, *arguments, "--json"), code
    )
    return chain


def ended(system: Running, chain: dict[str, Any], *answer: str, code: int = 0) -> dict[str, Any]:
    """The chain after this answer to its only question."""
    (request,) = (one for one in chain["requests"] if one["status"] == "open")
    said = system.command("answer", request["id"], *answer)
    assert said.returncode == 0, said.stderr
    shown: dict[str, Any] = document(
        system.command("chain", "watch", chain["id"], "--json", "--quiet"), code
    )
    return shown


def receipt_of(chain: dict[str, Any]) -> dict[str, Any]:
    (action,) = chain["steps"][0]["actions"]
    receipt: dict[str, Any] = action["receipt"]
    return receipt


def test_b7_a_tool_in_the_older_style_asks_and_runs_when_it_is_approved(system: Running) -> None:
    asked = called(system, "erase_page", "page=news", code=3)
    assert asked["status"] == "awaiting_confirmation"
    assert asked["requests"][0]["question"] == "Erase 'news' for good?"
    assert system.written(asked["id"]) == []
    done = ended(system, asked, "approve")
    assert done["status"] == "completed"
    assert done["steps"][0]["result"] == {"success": True, "erased": "news"}
    assert system.written(asked["id"]) == ["erased news"]
