"""What people read of chains has no secrets: the one place where it gets its stars. An event has
them before: `Views` knows the secrets of its whole chain.

Rows keep the values, since calls, undos and edits need them.
"""

from fastapi import Request, Response

from haltpoint.contracts.secrets import without_secrets_in
from haltpoint_gateway.guard import Guarded, Handler


class Starred(Guarded):
    """A route whose JSON has stars in place of secrets."""

    def get_route_handler(self) -> Handler:
        """The handler, and the stars."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            response = await handler(request)
            if getattr(response, "body", b""):
                typed = await request.app.state.gateway.catalogue.typed_secrets()
                response.body = without_secrets_in(bytes(response.body), typed)
                response.headers["Content-Length"] = str(len(response.body))
            return response

        return handle
