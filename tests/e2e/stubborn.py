"""A model that says in words what it should do by a call, until somebody finds the words for it;
and one that asks.
"""

from typing import Any, Final

from haltpoint.contracts.base import JsonObject

PROSE: Final = "That room is a good choice for a meeting."
HEARD: Final = "call book_room with room R2"
"""Words that it obeys, when a person puts the step in them."""


def when(
    thought: str, goal: str, say: JsonObject, *, delay: float = 0.0, **more: Any
) -> JsonObject:
    """A rule of a script: what the model says to this kind of thought about this goal."""
    return {"when": {"thought": thought, "goal": goal, **more}, "say": say, "delay": delay}


def calls(name: str, /, **arguments: Any) -> JsonObject:
    """To say a call of this tool."""
    return {"calls": [{"name": name, "arguments": arguments}]}


_STEP = {"id": "book", "description": "Get a room", "required_tools": ["book_room"]}
_ASK = {"id": "ask", "description": "Find out the colour", "required_tools": ["askHuman"]}
_QUESTION = {"question": "Which colour?", "options": ["red", "blue"]}

STUBBORN: Final[list[JsonObject]] = [
    when("plan", "^Book", {"plan": {"steps": [_STEP]}}),
    when("act", "^Book", calls("book_room", room="R2"), last=HEARD),
    when("act", "^Book on retry", calls("book_room", room="R4"), attempt=4),
    when("act", "^Book slowly", {"content": PROSE}, delay=2.0, attempt=2),
    when("act", "^Book", {"content": PROSE}),
    when("answer", "^Book", {"content": "Here is what came of it."}),
    when("plan", "^Ask", {"plan": {"steps": [_ASK]}}),
    when("act", "^Ask", calls("askHuman", **_QUESTION)),
    when("answer", "^Ask", {"content": "The door: {{results.askHuman.data.answer}}."}),
]
