"""What the routes work with, chosen in `app.py`."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from fastapi import Depends, Security
from fastapi.security import HTTPBearer
from starlette.requests import HTTPConnection

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.keys import Scope
from haltpoint.contracts.policy import PolicyFile
from haltpoint.contracts.views.deployment import QueueState
from haltpoint.contracts.work.agents import Agents
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.observability.telemetry import Tracing
from haltpoint.runtime.store.dead_letters import DeadLetters
from haltpoint.runtime.store.inbox import Inbox
from haltpoint.runtime.store.recovery import Recovery
from haltpoint.runtime.store.store import Store
from haltpoint.runtime.streams.connection import Functions
from haltpoint.runtime.streams.pauses import Pauses
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint.runtime.views.feeds import Feeds
from haltpoint.runtime.views.history import History
from haltpoint.runtime.views.views import Views
from haltpoint_gateway.measuring import Measures
from haltpoint_gateway.people.audit import Audit
from haltpoint_gateway.people.keys import Keyring
from haltpoint_gateway.people.principal import Principal
from haltpoint_gateway.problems import Problem
from haltpoint_gateway.shared_logs import SharedLogs
from haltpoint_gateway.watchers import Watchers

_BEGINNINGS: Final = 4
"""Event streams that begin side by side: a thousand that come at once leave time for others."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """The things behind the API. `faults` says in words why the gateway is not ready; empty when it
    is. `queues` are those of the deployment, none while Redis does not answer; `services` what each
    process that is alive says of itself.
    """

    settings: Settings
    redis: Any  # redis-py's hints say what any protocol version may answer
    functions: Functions
    agents: Agents
    policy: PolicyFile
    store: Store
    inbox: Inbox
    audit: Audit
    catalogue: ToolCatalogue
    pauses: Pauses
    dead_letters: DeadLetters
    recovery: Recovery
    views: Views
    feeds: Feeds
    history: History
    measures: Measures
    keyring: Keyring
    tracing: Tracing
    faults: Callable[[], Awaitable[list[str]]]
    queues: Callable[[], Awaitable[list[QueueState]]]
    services: Callable[[], Awaitable[list[JsonObject]]]
    logs: SharedLogs
    watchers: Watchers = field(default_factory=Watchers)
    beginnings: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_BEGINNINGS))


async def _here(request: HTTPConnection) -> Gateway:
    """The gateway that a request came to."""
    gateway: Gateway = request.app.state.gateway
    return gateway


Here = Annotated[Gateway, Depends(_here)]


class _Allowed(HTTPBearer):
    """The principal that the guard has found, when its key has the scope; in OpenAPI a bearer's
    key.
    """

    def __init__(self, scope: Scope) -> None:
        super().__init__(scheme_name="HTTPBearer", description="A key of this gateway.")
        self._scope = scope

    async def __call__(self, request: HTTPConnection) -> Any:
        """The principal. Raises Problem."""
        return with_scope(request.state.principal, self._scope)


def with_scope(principal: Principal, scope: Scope) -> Principal:
    """The principal, when its key has the scope. Raises Problem."""
    if not principal.may(scope):
        raise Problem(
            403,
            "scope_missing",
            f"The key {principal.name!r} does not have the scope '{scope}'.",
            hint=f"Use a key with the scope {' or '.join(dict.fromkeys((scope, 'admin')))}.",
            scopes=sorted(principal.scopes),
        )
    return principal


Reader = Annotated[Principal, Security(_Allowed(Scope.READ))]
Submitter = Annotated[Principal, Security(_Allowed(Scope.SUBMIT))]
Answerer = Annotated[Principal, Security(_Allowed(Scope.ANSWER))]
Admin = Annotated[Principal, Security(_Allowed(Scope.ADMIN))]
