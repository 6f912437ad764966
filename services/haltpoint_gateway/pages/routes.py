"""Routes of the API behind the door of the pages: what one gives is shown by a template, and what
one does is done by a form.
"""

from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from msgspec import json
from starlette.responses import RedirectResponse

from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.secrets import without_secrets_in
from haltpoint_gateway.api import agents, chains, deployment, losses, requests, stats, tasks, tools
from haltpoint_gateway.guard import Handler, Read
from haltpoint_gateway.pages.door import posted, signed_in
from haltpoint_gateway.pages.visit import visit_of
from haltpoint_gateway.people import api as keys


class Shown(APIRoute):
    """A page: the template with the name of the route shows what the API's route gives."""

    def get_route_handler(self) -> Handler:
        """The API's handler behind the door."""
        read = super().get_route_handler()

        async def handle(request: Request) -> Response:
            gateway = request.app.state.gateway
            visit = visit_of(gateway, await signed_in(request))
            query = dict(parse_qsl(request.url.query))  # a field that is empty filters nothing
            answered = query.pop("answered", "")
            request.scope["query_string"] = urlencode(query).encode()
            request.state.principal = visit.who
            reply = await read(request)
            typed = await gateway.catalogue.typed_secrets()
            found = json.decode(without_secrets_in(bytes(reply.body), typed))
            return visit.html(
                self.name,
                found=found,
                query=query,
                answered=answered,
                tools=await visit.tools(),
                statuses=[*ChainStatus],
            )

        return handle


class Done(APIRoute):
    """A form: the API's route gets its fields as JSON, and the page that it is about follows."""

    def get_route_handler(self) -> Handler:
        """The API's handler behind the door."""
        act = super().get_route_handler()

        async def handle(request: Request) -> Response:
            form = await posted(request)
            who = await signed_in(request)
            request.state.principal = who
            fields = {name: form.text(name) for name in form.fields}
            key = form.text("key").encode()
            request.scope["headers"] = [
                (b"content-type", b"application/json"),
                (b"idempotency-key", key),
            ]
            reply = await act(Read(request, json.encode(fields)))
            _, page, name, *_ = request.url.path.split("/")
            if page == "chains":
                name = json.decode(reply.body)["chain_id"] or name
            path = f"/{page}"
            if page in ("chains", "inbox"):
                path += f"/{name}"
            return RedirectResponse(path, 303)

        return handle


router = APIRouter(route_class=Shown)
_acts = APIRouter(route_class=Done)
_Routes = dict[str, Callable[..., object]]
_PAGES: Final[_Routes] = {
    "tools": tools.list_tools,
    "agents": agents.list_agents,
    "workers": deployment.list_workers,
    "queues": deployment.list_queues,
    "stats": stats.stats,
    "chains": chains.list_chains,
    "inbox": requests.list_requests,
    "keys": keys.list_keys,
}
_ACTS: Final[_Routes] = {
    "/chains/{chain_id}/cancel": chains.cancel,
    "/chains/{chain_id}/undo": chains.undo,
    "/chains/{chain_id}/again": tasks.again,
    "/queues/{queue}/pause": deployment.pause,
    "/queues/{queue}/resume": deployment.resume,
    "/dead-letters/{letter:path}/requeue": deployment.requeue,
    "/dead-letters/{letter:path}/drop": deployment.drop,
    "/dead-letters/accept": losses.accept,
    "/inbox/{request_id}/claim": requests.claim,
    "/inbox/{request_id}/release": requests.release,
    "/keys/{key_id}/revoke": keys.revoke_key,
}
for _name, _read in _PAGES.items():
    router.get(f"/{_name}", name=_name)(_read)
for _path, _act in _ACTS.items():
    _acts.post(_path)(_act)
router.include_router(_acts)
