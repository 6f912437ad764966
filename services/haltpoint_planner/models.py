"""The models that thoughts go to: the configured one, and those that agents name in the agents
file.
"""

import os
from dataclasses import dataclass, field
from typing import Final

from pydantic import SecretStr

from haltpoint.contracts.work.agents import Agents
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint_planner.chat_completions import ChatCompletions
from haltpoint_planner.connections import Connections
from haltpoint_planner.model import Port, Send
from haltpoint_planner.providers import provided
from haltpoint_planner.servers import Server

_OF_AN_ENDPOINT: Final = ("base_url", "name", "provider", "timeout", "max_tokens")


@dataclass
class Models:
    """A port for each section of the agents file: what one has learnt of its server it keeps."""

    configured: ModelSettings
    agents: Agents
    connections: Connections
    ports: dict[str | None, Port] = field(default_factory=dict)

    def port_to(self, section: str | None) -> Port:
        """The port to the model of this section of the agents file; None: the configured one.

        Raises HaltpointError HP-302 when the proxy before it cannot be used, HP-303 when the
        environment has no key for it, and HP-310 when its provider cannot be used.
        """
        if section in self.ports:
            return self.ports[section]
        settings = self.configured
        if section is not None:
            endpoint = self.agents.models[section]
            own = {name: getattr(endpoint, name) for name in _OF_AN_ENDPOINT}
            key = _key(section, endpoint.api_key_env)
            others = {"api_key": key, "context": None, "retry_name": None}
            settings = settings.model_copy(update=own | others)
        server = Server(settings, section)
        port = self.ports[section] = Port(settings, server, self._send(settings, server))
        return port

    def _send(self, settings: ModelSettings, server: Server) -> Send:
        if settings.provider not in (None, "openai"):
            return provided(settings, server).send
        http = self.connections.to(settings.base_url)
        return ChatCompletions(settings, http, server).send


def check(configured: ModelSettings, agents: Agents) -> None:
    """Whether each model of a provider can be asked here. Raises HaltpointError HP-303, HP-310."""
    models = Models(configured, agents, Connections())
    named = [name for name, endpoint in agents.models.items() if endpoint.provider is not None]
    for section in [*named, None] if configured.provider else named:
        models.port_to(section)


def _key(section: str, variable: str | None) -> SecretStr | None:
    if variable is None:
        return None
    key = os.environ.get(variable)
    if key:
        return SecretStr(key)
    raise HaltpointError(
        "HP-303",
        f"the model {section} has no key",
        f"{variable} is not set in the planner's environment",
        f"Set {variable}, or correct api_key_env of [models.{section}]",
    )
