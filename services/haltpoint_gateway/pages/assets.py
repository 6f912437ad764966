"""The files that pages load: style, scripts, the sign in the tab. An address has the digest of what
is in the file, so a browser may keep it for ever.
"""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any, Final

from starlette.responses import Response
from starlette.staticfiles import StaticFiles

FOLDER: Final = Path(__file__).with_name("static")


_FOR_EVER: Final = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
}


class Assets(StaticFiles):
    """The folder of these files."""

    def __init__(self) -> None:
        super().__init__(directory=FOLDER)

    def file_response(self, *args: Any, **more: Any) -> Response:
        """One file, which never changes under its address."""
        response = super().file_response(*args, **more)
        response.headers.update(_FOR_EVER)
        return response


@cache
def address_of(name: str) -> str:
    """Where a file is."""
    digest = hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()
    return f"/static/{name}?{digest[:16]}"
