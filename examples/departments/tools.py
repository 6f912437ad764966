"""One tool that reads the handbook of a company, `handbook.json`.

haltpoint up --tools examples.departments.tools
"""

import json
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field, TypeAdapter

from haltpoint import ToolError, tool


class Entry(BaseModel):
    """What a department says about one topic."""

    department: Literal["hr", "security", "code", "legal"]
    topic: str
    text: str


HANDBOOK: Final = TypeAdapter(list[Entry]).validate_python(
    json.loads(Path(__file__).with_name("handbook.json").read_text(encoding="utf-8"))
)


@tool(read_only=True)
def read_handbook(
    department: Literal["hr", "security", "code", "legal"],
    topic: Annotated[str, Field(description="one or two words", max_length=100)],
) -> Entry:
    """Read what the handbook says about a topic of one department."""
    own = [entry for entry in HANDBOOK if entry.department == department]
    found = [
        entry for entry in own if entry.topic in topic.casefold() or topic.casefold() in entry.topic
    ]
    if not found:
        topics = ", ".join(entry.topic for entry in own)
        raise ToolError.not_found(
            f"{department} has nothing about {topic!r}.", suggestion=f"It has: {topics}."
        )
    return found[0]
