"""Routing: who works on a task that names no agent, and how that was decided (CONTRACT I1 to I3).

[supervisor]
strategy = "llm"
agents = ["billing", "technical"]
tools = ["find_order"]

[[supervisor.rules]]
id = "invoices"
match = "invoice|refund"
agent = "billing"
"""

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta

from haltpoint.contracts.base import JsonObject, Share, Strict, Strings

NAME: Final = r"^[A-Za-z0-9_-]{1,64}$"
"""What agents and models may be called: an agent's name is that of a tool."""

FUNCTION: Final = r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$"
"""The dotted path of a function."""

SUPERVISOR: Final = "supervisor"
"""The name of the agent that routes; no other has it."""

ROUTE: Final = "route"
"""The built-in tool by which a model hands a task on to an agent (I3)."""

Name = Annotated[str, Meta(pattern=NAME)]


class Strategy(StrEnum):
    """How it is decided who works on a task; only `llm` asks a model. `load`: who has the fewest
    open chains. `function`: code of the deployment.
    """

    LLM = "llm"
    RULE = "rule"
    SKILL = "skill"
    ROUND_ROBIN = "round_robin"
    LOAD = "load"
    FUNCTION = "function"


class Rule(Strict):
    """Which tasks go to an agent. An empty half fits every task."""

    id: Name
    """Its name in decisions."""
    agent: Name
    """The agent that gets the task."""
    match: str = ""
    """A regular expression, searched in the goal."""
    context: JsonObject = {}
    """Values that the task's context has."""


class Supervisor(Strict):
    """Who routes the tasks that name no agent."""

    strategy: Strategy = Strategy.LLM
    """How that is decided."""
    agents: tuple[Name, ...] = ()
    """Those that it may choose from; empty: all of the file."""
    fallback: Name | None = None
    """Takes what no rule, skill or function decides; None: the agent without a name does."""
    rules: tuple[Rule, ...] = ()
    """Of `rule`: the first that fits decides."""
    function: Annotated[str, Meta(pattern=FUNCTION)] | None = None
    """Of `function`: `module:function`, called in the planner."""
    tools: Strings = ()
    """Of a model: globs over those that it may call before it decides."""
    prompt: str = ""
    """Of a model: goes before the runtime's own words."""
    model: Name | None = None
    """Of a model: a section of the file; None: the configured one."""
    threshold: Share | None = None
    """Of a model: the confidence under which a person decides."""
    max_tool_retries: Annotated[int, Meta(ge=0, le=20)] = 3
    """Of a model: rounds of tools before each decision."""
    max_iterations: Annotated[int, Meta(ge=1, le=20)] = 10
    """Of a model: decisions for one task."""
    verbose: bool = False
    """Prompts and replies of routing go into the planner's log."""
