"""A model that says in words what it should do by a call, until somebody finds the words for it; and one that asks."""

from typing import Any, Final

PROSE: Final = "That room is a good choice for a meeting."
HEARD: Final = "call book_room with room R2"
"""Words that it obeys, when a person puts the step in them."""


def _when(thought: str, goal: str, say: dict[str, Any], *, delay: float = 0.0, **more: Any) -> dict[str, Any]:
    return {"when": {"thought": thought, "goal": goal, **more}, "say": say, "delay": delay}


def _book(room: str) -> dict[str, Any]:
    return {"calls": [{"name": "book_room", "arguments": {"room": room}}]}


_STEP = {"id": "book", "description": "Get a room", "required_tools": ["book_room"]}
_ASK = {"id": "ask", "description": "Find out the colour", "required_tools": ["askHuman"]}
_QUESTION = {"question": "Which colour?", "options": ["red", "blue"], "context": "It is the front door."}

STUBBORN: Final[list[dict[str, Any]]] = [
    _when("plan", "^Book", {"plan": {"steps": [_STEP]}}),
    _when("act", "^Book", _book("R2"), last=HEARD),
    _when("act", "^Book on retry", _book("R4"), attempt=4),
    _when("act", "^Book slowly", {"content": PROSE}, delay=2.0, attempt=2),
    _when("act", "^Book", {"content": PROSE}),
    _when("answer", "^Book", {"content": "Here is what came of it."}),
    _when("plan", "^Ask", {"plan": {"steps": [_ASK]}}),
    _when("act", "^Ask", {"calls": [{"name": "askHuman", "arguments": _QUESTION}]}),
    _when("answer", "^Ask", {"content": "The door: {{results.askHuman.data.answer}}."}),
]
