"""What the routes work with, chosen in `app.py`."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer

from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.observability.telemetry import Tracing
from haltpoint.runtime.store.inbox import Inbox
from haltpoint.runtime.store.store import Store
from haltpoint.runtime.streams.tool_catalogue import ToolCatalogue
from haltpoint.runtime.views.history import History
from haltpoint.runtime.views.views import Views
from haltpoint_gateway.auth import Keyring, Principal, Scope
from haltpoint_gateway.problems import Problem
from haltpoint_gateway.watchers import Watchers

_BEARER = HTTPBearer(auto_error=False, description="A key of this gateway.")


@dataclass(frozen=True, slots=True)
class Gateway:
    """The things behind the API. `faults` says in words why the gateway is not ready; empty when it is."""

    settings: Settings
    store: Store
    inbox: Inbox
    catalogue: ToolCatalogue
    views: Views
    history: History
    keyring: Keyring
    tracing: Tracing
    faults: Callable[[], Awaitable[list[str]]]
    watchers: Watchers = field(default_factory=Watchers)


def _allowed(scope: Scope) -> Callable[..., Awaitable[Principal]]:
    async def check(request: Request, _: Annotated[object, Security(_BEARER)]) -> Principal:  # sync: it takes a thread
        principal: Principal = request.state.principal
        if not principal.may(scope):
            raise Problem(
                403,
                "scope_missing",
                f"The key {principal.name!r} does not have the scope {scope.value!r}.",
                hint=f"Use a key with the scope {' or '.join(dict.fromkeys((scope.value, 'admin')))}.",
                scopes=sorted(one.value for one in principal.scopes),
            )
        return principal

    return check


Reader = Annotated[Principal, Depends(_allowed(Scope.READ))]
Submitter = Annotated[Principal, Depends(_allowed(Scope.SUBMIT))]
Answerer = Annotated[Principal, Depends(_allowed(Scope.ANSWER))]
Admin = Annotated[Principal, Depends(_allowed(Scope.ADMIN))]
