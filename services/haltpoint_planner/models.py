"""The models that thoughts go to: the configured one, and those that agents name in the agents
file.
"""

import os
from typing import Final

from pydantic import SecretStr

from haltpoint.contracts.work.agents import ModelEndpoint
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint_planner.chat_completions import ChatCompletions
from haltpoint_planner.connections import Connections
from haltpoint_planner.model import Port, Send
from haltpoint_planner.providers import provided
from haltpoint_planner.servers import Server

_REMEMBERED: Final = 100


class Models:
    """A port for each address and key: what one has learnt of its server it keeps."""

    def __init__(self, configured: ModelSettings, connections: Connections) -> None:
        self._configured = configured
        self._connections = connections
        self._ports: dict[ModelEndpoint | None, Port] = {}

    def name_of(self, endpoint: ModelEndpoint | None, *, another: bool) -> str:
        """What the model is called where it is; `another`: a person wants the other one to try, if
        there is one.
        """
        return self._configured.chosen(another) if endpoint is None else endpoint.name

    def provider_of(self, endpoint: ModelEndpoint | None) -> str:
        """Whose API the model speaks."""
        place = self._configured if endpoint is None else endpoint
        return place.provider or "openai"

    def port_to(self, section: str | None, endpoint: ModelEndpoint | None) -> Port:
        """The port to the model of this section of the agents file; None: the configured one.

        Raises HaltpointError HP-302 when the proxy before it cannot be used, HP-303 when the
        environment has no key for it, and HP-310 when its provider cannot be used.
        """
        if endpoint not in self._ports:
            if len(self._ports) >= _REMEMBERED:
                self._ports.clear()
            self._ports[endpoint] = self._port(section, endpoint)
        return self._ports[endpoint]

    def _port(self, section: str | None, endpoint: ModelEndpoint | None) -> Port:
        settings = self._configured
        if endpoint is not None:
            own = {name: getattr(endpoint, name) for name in _OF_AN_ENDPOINT}
            key = _key(section, endpoint.api_key_env)
            settings = settings.model_copy(update={**own, "api_key": key, "context": None})
        server = Server(settings, section)
        return Port(settings, server, self._send(settings, server))

    def _send(self, settings: ModelSettings, server: Server) -> Send:
        if settings.provider not in (None, "openai"):
            return provided(settings, server).send
        http = self._connections.to(settings.base_url)
        return ChatCompletions(settings, http, server).send


_OF_AN_ENDPOINT: Final = ("base_url", "name", "provider", "timeout", "max_tokens")


def _key(section: str | None, variable: str | None) -> SecretStr | None:
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
