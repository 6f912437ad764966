"""The ASGI application: all routes, with problems as the only form of error."""

from importlib.metadata import version
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.middleware.cors import CORSMiddleware

from haltpoint_gateway.api import (
    agents,
    chains,
    deployment,
    events,
    health,
    losses,
    requests,
    stats,
    tasks,
    tools,
)
from haltpoint_gateway.gateway import Gateway
from haltpoint_gateway.notices import api as notices
from haltpoint_gateway.pages.site import make_pages
from haltpoint_gateway.people import api as keys
from haltpoint_gateway.problems import ProblemDocument, documented, install

_DESCRIPTION = """Haltpoint's gateway: submit tasks, watch chains, answer their questions.

Every error is a problem document (RFC 9457) with a `hint`. Lists are `{items, next_cursor}`.
"""

_FROM_OTHER_PAGES: Final = (
    *("Authorization", "Content-Type", "Idempotency-Key", "If-Match", "Last-Event-ID"),
)
"""Headers that a page of an allowed origin may send."""

_PROBLEMS: Final = (400, 401, 403, 404, 409, 410, 412, 413, 415, 421, 422, 429, 503)
"""The statuses of the errors that a caller may meet."""


def make_api(gateway: Gateway) -> FastAPI:
    """The application for this gateway. No documentation page: those load scripts from
    elsewhere.
    """
    app = FastAPI(
        title="Haltpoint",
        version=version("haltpoint"),
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # we write our own spans
    )
    app.include_router(health.router)
    resources = (tasks, chains, events, requests, tools, agents, stats, deployment, losses, keys)
    for resource in (*resources, notices):
        app.include_router(resource.router, responses=documented(*_PROBLEMS))
    app.state.gateway = gateway
    install(app)
    if gateway.settings.gateway.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=gateway.settings.gateway.cors_origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=_FROM_OTHER_PAGES,
            expose_headers=["ETag"],
        )
    app.router.default = make_pages(gateway)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    """OpenAPI 3.1 of all routes, with the one form of error."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        schemas = schema["components"]["schemas"]
        schemas["ProblemDocument"] = ProblemDocument.model_json_schema()
        app.openapi_schema = schema
    return app.openapi_schema
