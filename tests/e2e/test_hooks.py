"""H1 to H4 with real processes: what hooks do to chains, what people are asked, and what receipts
say of it.
"""

from haltpoint.contracts.base import JsonObject
from tests.e2e.running import Running
from tests.e2e.test_command_line import document

ALLOWED = ["far_away allow", "not_the_moon allow", "signed modify"]


def deliver(system: Running, place: str, code: int = 0) -> JsonObject:
    chain: JsonObject = document(
        system.process("tool", "call", "deliver", f"place={place}", "--json"), code
    )
    return chain


def action_of(chain: JsonObject) -> JsonObject:
    action = chain["steps"][0]["actions"][0]
    found: JsonObject = action
    return found


def hooks_of(chain: JsonObject) -> list[str]:
    return [
        f"{one['name'].partition(':')[2]} {one['verdict']}"
        for one in action_of(chain)["receipt"]["metadata"]["hooks"]
    ]


def watched(system: Running, chain: str, code: int = 0) -> JsonObject:
    seen: JsonObject = document(system.process("chain", "watch", chain, "--json", "--quiet"), code)
    return seen


def test_h1_a_hook_asks_and_an_approval_runs_the_call(system: Running) -> None:
    stopped = deliver(system, "far Thule", 3)
    (request,) = stopped["requests"]
    assert stopped["status"] == "awaiting_confirmation"
    assert "far Thule is far. Deliver anyway?" in system.command("inbox").stdout
    assert system.command("answer", request["id"], "approve").returncode == 0
    done = watched(system, stopped["id"])
    assert done["steps"][0]["result"] == {
        "delivered": "far Thule",
        "confirmed": True,
        "signed": True,
    }
    assert hooks_of(done) == ["far_away ask", *ALLOWED[1:]]
