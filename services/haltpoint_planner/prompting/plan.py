"""Steps and bounds of a task (C1), and what a goal asks of tools and says against them (C12): asked
before any tool's data is read.
"""

from typing import Final

from haltpoint.chain.checks.bounds import nameable
from haltpoint.chain.checks.plans import with_effects
from haltpoint.contracts.base import JsonObject
from haltpoint_planner.prompting.about import known, own_goals, own_words
from haltpoint_planner.prompting.context import Context, Question
from haltpoint_planner.prompting.tool_forms import (
    MOST_ITEMS,
    TEXT,
    described,
    in_line,
    strict,
    texts,
)

_LISTS: Final = """\
- "required_tools": the tools that send, write, change or delete what the goal asks for. Each of them has to succeed.
- "optional_tools": those of which it depends on the results whether the goal needs them.
- "ask_before": the tools of which the goal says that the user wants to be asked first.
- "forbidden": the tools of which the goal says that they shall not be used.
- "conditions": other words of the goal that limit what is done, copied from it: "at most two", "not Bob", "only if".
Only what the goal itself says; what it does not speak of is in no list. Most lists are empty."""

_READER: Final = f"""\
You read what a goal asks of tools. You carry nothing out.

Answer with one JSON object:
{_LISTS}

Two examples.

Tools:
- book_room: Book a room that find_room has found.
- cancel_booking: Cancel a booking.
- find_room: Find a room by its name.
- order_food: Order food and drinks.

Goal: Which rooms are free on Friday?
{{"required_tools": [], "optional_tools": [], "ask_before": [], "forbidden": [], "conditions": []}}

Goal: Book the blue room for Monday, two hours at most, ask me before you cancel anything, and do not order food.
{{"required_tools": ["book_room"], "optional_tools": [], "ask_before": ["cancel_booking"], "forbidden": ["order_food"],
 "conditions": ["two hours at most"]}}"""

_AGAIN: Final = """\
Answer again with one JSON object: {"required_tools": [], "optional_tools": [], "ask_before": [], \
"forbidden": [], "conditions": []}"""

_TOGETHER: Final = 3
"""Tools that a drafted step may require: small models name all that there are."""

_PLANNER: Final = f"""\
You draw up plans. You do not carry them out and you call no tools.

A plan is a JSON object {{"bounds": {{...}}, "steps": [...]}}. "bounds" is what the goal itself says:
{_LISTS}

The steps are few, in the order of the work: only what the goal needs.
Two kinds of steps:
- "tool": something has to be found out or done. required_tools names the tools that must succeed in this step, as
  a rule one. Only names from the list of tools. Whoever carries out the step fills in the arguments then. Where any
  one of several tools will do, they are named in one_of instead.
- "reasoning": something has to be thought over or compared, from earlier results. required_tools and one_of are [].
Each tool of the bounds' required_tools is required by a step. optional is true when the results may show that a step is
not needed. each is true when its tool is called for each of several things. may_fail is true only when the goal can be
reached also if this step fails.

A tool that needs an id depends on the step that finds the id. No step asks the user: a tool that is not sure stops by
itself, and a person is asked. No step tells the user the result: that is done for you.

Three examples.

Tools:
- book_room(room_id, day): Book a room that find_room has found. [room_id must come from find_room.room_id]
- cancel_booking(booking_id): Cancel a booking. [booking_id must come from list_bookings.booking_id]
- find_room(name): Find a room by its name.
- list_bookings(day): Find the bookings of a day.
- order_food(what): Order food and drinks.

Goal: Order tea for six.
{{"bounds": {{"required_tools": ["order_food"], "optional_tools": [], "ask_before": [], "forbidden": [],
            "conditions": []}},
 "steps": [
  {{"id": "s1", "description": "Order tea for six", "step_type": "tool", "required_tools": ["order_food"],
   "one_of": [], "optional": false, "each": false, "may_fail": false, "dependencies": [],
   "expected_outcome": "the order is placed"}}
]}}

Goal: Which rooms are free on Friday?
{{"bounds": {{"required_tools": [], "optional_tools": [], "ask_before": [], "forbidden": [], "conditions": []}},
 "steps": [
  {{"id": "s1", "description": "Find the bookings of Friday", "step_type": "tool", "required_tools": ["list_bookings"],
   "one_of": [], "optional": false, "each": false, "may_fail": false, "dependencies": [],
   "expected_outcome": "the bookings"}}
]}}

Goal: Cancel my bookings on Monday, at most two, but do not order food.
{{"bounds": {{"required_tools": ["cancel_booking"], "optional_tools": [], "ask_before": [], "forbidden": ["order_food"],
            "conditions": ["at most two"]}},
 "steps": [
  {{"id": "s1", "description": "Find the bookings of Monday", "step_type": "tool", "required_tools": ["list_bookings"],
   "one_of": [], "optional": false, "each": false, "may_fail": false, "dependencies": [],
   "expected_outcome": "the ids of the bookings"}},
  {{"id": "s2", "description": "Cancel each of them, two at most", "step_type": "tool",
   "required_tools": ["cancel_booking"], "one_of": [], "optional": false, "each": true, "may_fail": false,
   "dependencies": ["s1"], "expected_outcome": "the bookings are cancelled"}}
]}}"""

_BOTH: Final = '{"bounds": {...}, "steps": [...]}'
_STEPS: Final = '{"steps": [...]}'


def bounds(context: Context) -> Question:
    """The goal, and tools by their names and descriptions: no data of any tool, and not what the
    task knows besides.
    """
    task = context.task
    tools = context.tools
    menu = [f"- {spec.name}: {in_line(spec.description)}" for spec in tools.values()]
    lines = ["Tools:", *menu, "", *own_goals(task), f"Goal: {task.own_goal}"]
    form = _bounds_schema(list(tools))
    return Question(_READER, "\n".join(lines), _AGAIN, schema=form, is_first=True)


def _bounds_schema(names: list[str]) -> JsonObject:
    """The JSON Schema of what a goal asks of these tools and says against them. They are all that
    the model may think of: where the form has no place for a lookup that the goal needs, a model
    that is held to it names an effect instead.
    """
    lists = ("required_tools", "optional_tools", "ask_before", "forbidden")
    return strict({**dict.fromkeys(lists, texts(names)), "conditions": texts()})


def plan(context: Context) -> Question:
    """The tools before the goal: what all plans have in common a server has read already."""
    task = context.task
    tools = context.tools
    title = "Tools:" if tools else "There are no tools: plan reasoning steps only."
    lines = [title, *map(described, tools.values()), *_of_agents(context), ""]
    lines += [*own_goals(task), *own_words(task), *known(task)]
    form = _STEPS if context.bounds_known else _BOTH
    again = f"Answer again with the whole plan as one JSON object: {form}"
    return Question(_PLANNER, "\n".join(lines), again, schema=_plan_schema(context), is_first=True)


def _of_agents(context: Context) -> list[str]:
    names = {name for spec in context.tools.values() for name in spec.inside}
    others = sorted(names - context.tools.keys())
    specs = map(context.known.__getitem__, others)
    changing = [described(spec) for spec in specs if with_effects(spec)]
    title = "For the bounds only, the tools of the agents: no step names these."
    if not changing:
        return []
    return ["", title, *changing]


def _plan_schema(context: Context) -> JsonObject:
    """The JSON Schema of a drafted plan, in the strict subset that providers enforce; tools only by
    their names.
    """
    tools = texts(list(context.tools), _TOGETHER)
    flag = {"type": "boolean"}
    step = strict(
        {
            "id": TEXT,
            "description": TEXT,
            "step_type": {"type": "string", "enum": ["tool", "reasoning"]},
            "required_tools": tools,
            "one_of": tools,
            "optional": flag,
            "each": flag,
            "may_fail": flag,
            "dependencies": texts(),
            "expected_outcome": TEXT,
        }
    )
    steps = {"type": "array", "items": step, "maxItems": MOST_ITEMS}
    if context.bounds_known:
        return strict({"steps": steps})
    names = {*context.tools, *nameable(context.known, context.task)}
    own = _bounds_schema(sorted(names))
    return strict({"bounds": own, "steps": steps})
