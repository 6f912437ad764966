"""The application of the pages: what is no address of the API is one of theirs."""

from urllib.parse import urlencode

from fastapi import FastAPI, Request
from starlette.responses import RedirectResponse, Response

from haltpoint_gateway.gateway import Gateway
from haltpoint_gateway.pages import chains, inbox, live, routes, start, system
from haltpoint_gateway.pages.assets import Assets
from haltpoint_gateway.pages.door import NotSignedInError
from haltpoint_gateway.pages.looks import html
from haltpoint_gateway.people import page
from haltpoint_gateway.problems import Problem, install


def make_pages(gateway: Gateway) -> FastAPI:
    """The pages of this gateway; every error ends as one."""
    pages = FastAPI(openapi_url=None, telemetry={"tracing": False, "metrics": False, "logs": False})
    for room in (start, routes, inbox, chains, system, live, page):
        pages.include_router(room.router)
    pages.mount("/static", Assets())
    pages.state.gateway = gateway
    install(pages, _as_page)

    @pages.exception_handler(NotSignedInError)
    async def not_signed_in(request: Request, _: NotSignedInError) -> Response:
        if request.headers.get("sec-fetch-site") == "cross-site":
            # A strict cookie does not come with a link on another site; it does with our own page.
            return html("arrive")
        here = str(request.url.replace(scheme="", netloc=""))
        where = here if request.method == "GET" else "/"
        return RedirectResponse(f"/login?{urlencode({'next': where})}", 303)

    return pages


def _as_page(request: Request, problem: Problem) -> Response:
    """A problem as people read it; below /v1 there are programs."""
    if request.url.path.startswith("/v1/"):
        return problem.response()
    return html("problem", status=problem.status, problem=problem.document)
