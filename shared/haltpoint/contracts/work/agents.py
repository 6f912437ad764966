"""Agents and models, as the agents file names them (HALTPOINT_AGENTS_FILE). Every service reads it
when it starts.

[models.small]
base_url = "http://127.0.0.1:8080/v1"
name = "qwen2.5-1.5b"

[[agents]]
name = "billing"
description = "Invoices, payments and refunds."
prompt = "You work for the billing team."
model = "small"
tools = ["find_invoice", "refund"]
"""

from typing import Annotated

from msgspec import Meta

from haltpoint.contracts.base import Count, NonEmpty, Strict, Strings
from haltpoint.contracts.work.routing import SUPERVISOR, Name, Strategy, Supervisor
from haltpoint.contracts.work.tasks import Budget, Mode, Style, Turns
from haltpoint.contracts.written import Duration


class ModelEndpoint(Strict):
    """A model that agents name."""

    name: NonEmpty
    """The model's name on that server."""
    base_url: Annotated[str, Meta(pattern="^https?://")] | None = None
    """The address of its server, which speaks OpenAI's chat completions; with `provider`, in place
    of the provider's address.
    """
    provider: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9/_-]{0,63}$")] | None = None
    """A provider of pydantic-ai, `anthropic` for example (haltpoint[providers])."""
    api_key_env: Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    """The planner's environment variable that holds the key; None: a provider reads its own."""
    timeout: Duration = 600.0
    """How long one reply may take."""
    max_tokens: Count = 2048
    """Tokens of one reply."""

    def __post_init__(self) -> None:
        if self.base_url is None and self.provider is None:
            raise ValueError("base_url or provider is missing")


class Agent(Strict):
    """How a task is worked on, and within which limits: what it says only narrows what the task may
    do (CONTRACT I).
    """

    name: Name
    """Its name in tasks and decisions."""
    description: NonEmpty
    """What another agent reads before it hands a task over."""
    prompt: str = ""
    """Text in front of the runtime's own prompt."""
    model: Name | None = None
    """A [models] section of the file; None: the configured model."""
    tools: Strings | None = None
    """Globs over the tools that it may call; None: all tools that are not internal."""
    agents: tuple[Name, ...] = ()
    """The agents that it may hand a task over to."""
    mode: Mode | None = None
    """How strictly its model is held to its word; the stricter of the task's mode and this one
    applies.
    """
    style: Style | None = None
    """How it works on a task; None: as the task says."""
    strikes: Count | None = None
    """How many violations in a row until a person decides (D3)."""
    max_turns: Turns | None = None
    """Proposals that one step may ask for; the smaller number holds."""
    budget: Budget = Budget()
    """What its chain may use up; the smaller numbers apply."""
    skills: tuple[Annotated[str, Meta(pattern=r"[^\W_]")], ...] = ()
    """Words of goals that suit it."""
    verbose: bool = False
    """Write prompts and replies to the planner's log."""


class Agents(Strict):
    """The whole file."""

    agents: tuple[Agent, ...] = ()
    models: dict[Name, ModelEndpoint] = {}
    supervisor: Supervisor | None = None

    def named(self, name: str | None) -> Agent | None:
        """The agent of this name, if there is one; the supervisor is one, too."""
        if name == SUPERVISOR and self.supervisor is not None:
            return self._routing(self.supervisor)
        return next((agent for agent in self.agents if agent.name == name), None)

    @property
    def choices(self) -> tuple[Agent, ...]:
        """Those that the supervisor may choose from, in the order of the file: it decides ties."""
        if self.supervisor is None or not self.supervisor.agents:
            return self.agents
        names = self.supervisor.agents
        return tuple(agent for agent in self.agents if agent.name in names)

    def _routing(self, supervisor: Supervisor) -> Agent:
        """The supervisor as an agent: its own tools, and those that it hands tasks on to."""
        choices = self.choices if supervisor.strategy is Strategy.LLM else ()
        return Agent(
            name=SUPERVISOR,
            description="Decides who works on a task.",
            prompt=supervisor.prompt,
            model=supervisor.model,
            tools=supervisor.tools,
            agents=tuple(agent.name for agent in choices),
            verbose=supervisor.verbose,
        )

    @property
    def names(self) -> str:
        """The names that there are, for a sentence."""
        return ", ".join(agent.name for agent in self.agents) or "none"
