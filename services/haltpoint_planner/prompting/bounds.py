"""What a goal asks of tools and says against them (C12): asked before any tool's data is read."""

from typing import Final

from haltpoint.contracts.base import JsonObject
from haltpoint_planner.prompting.about import own_goals
from haltpoint_planner.prompting.context import Context
from haltpoint_planner.prompting.question import Question
from haltpoint_planner.prompting.tool_forms import in_line, strict, texts

LISTS: Final = """\
- "required_tools": the tools that send, write, change or delete what the goal asks for. Each of them has to succeed.
- "optional_tools": those of which it depends on the results whether the goal needs them.
- "ask_before": the tools of which the goal says that the user wants to be asked first.
- "forbidden": the tools of which the goal says that they shall not be used.
- "conditions": other words of the goal that limit what is done, copied from it: "at most two", "not Bob", "only if".
Only what the goal itself says; what it does not speak of is in no list. Most lists are empty."""

_READER: Final = f"""\
You read what a goal asks of tools. You carry nothing out. The tools send, write, change or delete something.

Answer with one JSON object:
{LISTS}

Example.

Tools:
- book_room: Book a room that find_room has found.
- cancel_booking: Cancel a booking.
- order_food: Order food and drinks.

Goal: Book the blue room for Monday, two hours at most, ask me before you cancel anything, and do not order food.
{{"required_tools": ["book_room"], "optional_tools": [], "ask_before": ["cancel_booking"], "forbidden": ["order_food"],
 "conditions": ["two hours at most"]}}"""

_FORM: Final = """\
Answer again with one JSON object: {"required_tools": [], "optional_tools": [], "ask_before": [], \
"forbidden": [], "conditions": []}"""


def question(context: Context) -> Question:
    """The goal, and tools by their names and descriptions: no data of any tool, and not what the
    task knows besides.
    """
    task = context.task
    tools = context.tools
    menu = [f"- {spec.name}: {in_line(spec.description)}" for spec in tools.values()]
    lines = ["Tools:", *menu, "", *own_goals(task), f"Goal: {task.own_goal}"]
    form = schema(list(tools))
    return Question(_READER, "\n".join(lines), _FORM, schema=form, is_first=True)


def schema(names: list[str]) -> JsonObject:
    """The JSON Schema of what a goal asks of these tools and says against them."""
    lists = ("required_tools", "optional_tools", "ask_before", "forbidden")
    return strict({**dict.fromkeys(lists, texts(names)), "conditions": texts()})
