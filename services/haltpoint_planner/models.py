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
from haltpoint_planner.model import Model
from haltpoint_planner.providers import provided

_REMEMBERED: Final = 100


class Models:
    """A port for each address and key: what one has learnt of its server it keeps."""

    def __init__(self, configured: ModelSettings, connections: Connections) -> None:
        self._configured = configured
        self._connections = connections
        self._default: Model | None = None
        self._own: dict[ModelEndpoint, Model] = {}

    def name_of(self, endpoint: ModelEndpoint | None, *, another: bool) -> str:
        """What the model is called where it is; `another`: a person wants the other one to try, if
        there is one.
        """
        return self._configured.chosen(another) if endpoint is None else endpoint.name

    def port_to(self, section: str | None, endpoint: ModelEndpoint | None) -> Model:
        """The port to the model of this section of the agents file; None: the configured one.

        Raises HaltpointError HP-302 when the proxy before it cannot be used, HP-303 when the
        environment has no key for it, and HP-310 when its provider cannot be used.
        """
        if endpoint is None:
            return self._configured_port()
        if endpoint not in self._own:
            if len(self._own) >= _REMEMBERED:
                self._own.clear()
            self._own[endpoint] = self._port(section or "", endpoint)
        return self._own[endpoint]

    def _configured_port(self) -> Model:
        if self._default is None:
            http = self._connections.to(self._configured.base_url)
            self._default = ChatCompletions(self._configured, http)
        return self._default

    def _port(self, section: str, endpoint: ModelEndpoint) -> Model:
        key = _key(section, endpoint.api_key_env)
        if endpoint.provider is not None:
            return provided(section, endpoint, key)
        settings = ModelSettings(
            base_url=endpoint.base_url,
            name=endpoint.name,
            api_key=key,
            timeout=endpoint.timeout,
            max_tokens=endpoint.max_tokens,
            headers=self._configured.headers,
        )
        http = self._connections.to(endpoint.base_url)
        return ChatCompletions(settings, http, section=section)


def _key(section: str, variable: str | None) -> SecretStr | None:
    if variable is None:
        return None
    if not (key := os.environ.get(variable)):
        what, why = (
            f"the model {section} has no key",
            f"{variable} is not set in the planner's environment",
        )
        raise HaltpointError(
            "HP-303", what, why, f"Set {variable}, or correct api_key_env of [models.{section}]"
        )
    return SecretStr(key)
