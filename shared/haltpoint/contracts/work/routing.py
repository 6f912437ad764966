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
    """How the agent is chosen."""
    agents: tuple[Name, ...] = ()
    """The agents that it may choose from; empty: all agents of the file."""
    fallback: Name | None = None
    """The agent for tasks that no rule, skill or function decides; None: the agent without a name.
    """
    rules: tuple[Rule, ...] = ()
    """For `rule`: the first rule that fits decides."""
    function: Annotated[str, Meta(pattern=FUNCTION)] | None = None
    """For `function`: `module:function`, called in the planner."""
    tools: Strings = ()
    """For `llm`: globs over the tools that the model may call before it decides."""
    prompt: str = ""
    """For `llm`: text in front of the runtime's own prompt."""
    model: Name | None = None
    """For `llm`: a [models] section of the file; None: the configured model."""
    threshold: Share | None = None
    """For `llm`: the confidence below which a person decides."""
    max_tool_retries: Annotated[int, Meta(ge=0, le=20)] = 3
    """For `llm`: rounds of tool calls before each decision."""
    max_iterations: Annotated[int, Meta(ge=1, le=20)] = 10
    """For `llm`: decisions for one task."""
    verbose: bool = False
    """Write prompts and replies of routing to the planner's log."""
