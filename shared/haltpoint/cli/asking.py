"""Asking the person at the terminal: what may be typed for each kind of question, and what it means."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from haltpoint.cli.following import read_line
from haltpoint.contracts.humans import Choice, RequestKind

if TYPE_CHECKING:
    from haltpoint.client import Client
    from haltpoint.contracts.views import RequestView

ReadLine = Callable[[str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Said:
    """An answer before it is sent: an option, or a decision."""

    option_id: str | None = None
    decision: Choice = Choice.SELECT
    text: str = ""

    def arguments(self) -> dict[str, Any]:
        """As `Client.answer` takes them."""
        return {"option_id": self.option_id, "decision": self.decision, "text": self.text}


_KEYS: dict[RequestKind, dict[str, Choice]] = {
    RequestKind.CLARIFICATION: {"n": Choice.NONE, "a": Choice.ABORT},
    RequestKind.CONFIRMATION: {"y": Choice.APPROVE, "n": Choice.REJECT, "a": Choice.ABORT},
    RequestKind.IN_DOUBT: {"h": Choice.HAPPENED, "n": Choice.NOT_HAPPENED, "a": Choice.ABORT},
}


def understand(request: "RequestView", typed: str) -> Said | None:
    """What was meant: an option's number or id, or a letter; words behind it go to the model. None: not understood."""
    first, _, words = typed.strip().partition(" ")
    by_number = {str(number): one.id for number, one in enumerate(request.options, 1)}
    by_id = {one.id: one.id for one in request.options}
    if chosen := by_number.get(first) or by_id.get(first):
        return Said(option_id=chosen)
    decision = _KEYS[request.kind].get(first.lower()[:1]) if first else None
    return Said(decision=decision, text=words.strip()) if decision else None


def prompt_for(request: "RequestView") -> str:
    """What may be typed, in one line."""
    keys = ", ".join(f"{letter} {choice.value.replace('_', ' ')}" for letter, choice in _KEYS[request.kind].items())
    numbers = f"1-{len(request.options)}, " if len(request.options) > 1 else "1, " if request.options else ""
    return f"    Your choice ({numbers}{keys}): "


async def ask(client: "Client", request: "RequestView", read: ReadLine = read_line) -> None:
    """Ask until it is understood, then answer. Raises GatewayError when somebody else was faster, EOFError."""
    said = None
    while said is None:
        said = understand(request, await read(prompt_for(request)))
    await client.answer(request.id, **said.arguments())
