"""One call of a tool from the command line, its question, and its receipt."""

from haltpoint.contracts.base import JsonObject
from tests.e2e.running import Running
from tests.e2e.test_command_line import document


def called(system: Running, name: str, *arguments: str, code: int = 0) -> JsonObject:
    chain: JsonObject = document(system.command("tool", "call", name, *arguments, "--json"), code)
    return chain


def ended(system: Running, chain: JsonObject, *answer: str, code: int = 0) -> JsonObject:
    """The chain after this answer to its only question."""
    (request,) = (one for one in chain["requests"] if one["status"] == "open")
    said = system.command("answer", request["id"], *answer)
    assert said.returncode == 0, said.stderr
    shown: JsonObject = document(
        system.command("chain", "watch", chain["id"], "--json", "--quiet"), code
    )
    return shown


def receipt_of(chain: JsonObject) -> JsonObject:
    (action,) = chain["steps"][0]["actions"]
    receipt: JsonObject = action["receipt"]
    return receipt
