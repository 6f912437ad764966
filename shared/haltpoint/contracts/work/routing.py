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
from typing import Annotated, Any, Final

from msgspec import Meta

from haltpoint.contracts.base import Contract, Strict

NAME: Final = r"^[A-Za-z0-9_-]{1,64}$"
"""What agents and models may be called: an agent's name is that of a tool."""

FUNCTION: Final = r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$"
"""The dotted path of a function."""

SUPERVISOR: Final = "supervisor"
"""The name of the agent that routes; no other has it."""

ROUTE: Final = "route"
"""The built-in tool by which a model hands a task on to an agent (I3)."""

ROUTED: Final = "routed"
"""Why a call beside a decision never ran, in the log (I3)."""

Name = Annotated[str, Meta(pattern=NAME)]


class Strategy(StrEnum):
    """How it is decided who works on a task; only `llm` asks a model. `load`: who has the fewest open chains.
    `function`: code of the deployment.
    """

    LLM = "llm"
    RULE = "rule"
    SKILL = "skill"
    ROUND_ROBIN = "round_robin"
    LOAD = "load"
    FUNCTION = "function"


class Rule(Strict):
    """Which tasks go to an agent: those in whose goal `match` is found and whose context has these values. An empty
    half fits every task.
    """

    id: Name
    agent: Name
    match: str = ""
    """A regular expression, searched in the goal."""
    context: dict[str, Any] = {}


class Supervisor(Strict):
    """Who routes the tasks that name no agent. `agents` are those that it may choose from; empty: all of the file.
    `fallback` takes what no rule, skill or function decides; without it the agent without a name does.

    Of a model (`llm`): `tools` are globs over those that it may call before it decides, in `max_tool_retries` rounds
    for each decision; `threshold` is the confidence under which a person decides; `max_iterations` bounds the decisions
    for one task. `function` is `module:function`, called in the planner.
    """

    strategy: Strategy = Strategy.LLM
    agents: tuple[Name, ...] = ()
    fallback: Name | None = None
    rules: tuple[Rule, ...] = ()
    function: Annotated[str, Meta(pattern=FUNCTION)] | None = None
    tools: tuple[str, ...] = ()
    prompt: str = ""
    model: Name | None = None
    threshold: Annotated[float, Meta(ge=0, le=1)] | None = None
    max_tool_retries: Annotated[int, Meta(ge=0, le=20)] = 3
    max_iterations: Annotated[int, Meta(ge=1, le=20)] = 10
    verbose: bool = False
    """Prompts and replies of routing go into the planner's log."""


class Routed(Contract):
    """A decision: which agent works on the task, why, and how that was found. `timestamp` in ms since the epoch; `rule`
    is the id of the one that fits, `by` the person who chose.
    """

    target_agent: str | None
    strategy: Strategy
    timestamp: int
    reasoning: str = ""
    confidence: float = 0.0
    rule: str | None = None
    by: str | None = None
