"""Who is signed in to the pages, and whether a form that comes was one of ours.

A cookie names the digest of a key and the end of the session, signed; the key itself is in no
cookie. So a key that is revoked ends its sessions, and every gateway with the same admin key knows
a cookie of another.
"""

import hashlib
import hmac
import time
from dataclasses import field
from typing import Annotated, Final
from urllib.parse import parse_qs

from fastapi import Depends, Request

from haltpoint.contracts.base import MAX_BODY, value
from haltpoint_gateway.auth import Keyring, Principal, digest_of
from haltpoint_gateway.problems import Problem

COOKIE: Final = "haltpoint_session"
LASTS: Final = 8 * 3600
"""Seconds of a session."""


@value
class Typed:
    """A form that a person has sent, and what is wrong with it."""

    fields: dict[str, list[str]] = field(default_factory=dict)
    faults: tuple[tuple[str, str], ...] = ()
    """The names of fields, and a sentence about each."""

    def text(self, name: str, otherwise: str = "") -> str:
        """What was typed into a field."""
        return self.fields.get(name, [otherwise])[0].replace("\r\n", "\n")

    def refused(self, problem: Problem) -> "Typed":
        """The same with the faults of a problem. Raises it when it is about something
        else than the form.
        """
        if problem.status not in (422, 429):
            raise problem
        errors = problem.document.get("errors") or [{"message": str(problem)}]
        messages = [str(error["message"]) for error in errors]
        return Typed(self.fields, tuple((text.partition(":")[0], text) for text in messages))


class NotSignedInError(Exception):
    """The page is only for people who have signed in."""


class Sessions:
    """Signs and reads the cookies of a gateway."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        # Slow on purpose: a cookie must be no way to try out short admin keys.
        self._secret = hashlib.scrypt(keyring.admin_digest, salt=b"pages", n=1 << 14, r=8, p=1)

    async def cookie(self, key: str) -> str | None:
        """The cookie of a new session; None: no such key."""
        if await self._keyring.principal(key) is None:
            return None
        end = int(time.time()) + LASTS
        text = f"{digest_of(key).hex()}.{end}"
        return f"{text}.{self._signature(text)}"

    async def principal(self, cookie: str) -> Principal | None:
        """Who is signed in with this cookie; None: no session, or one that is over."""
        text, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(text).encode()):
            return None
        digest, _, end = text.partition(".")
        if int(end) < time.time():
            return None
        return await self._keyring.holder(bytes.fromhex(digest))

    def _signature(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()


def sessions(request: Request) -> Sessions:
    """Those of this gateway."""
    known: Sessions = request.app.state.sessions
    return known


async def signed_in(request: Request, known: Annotated[Sessions, Depends(sessions)]) -> Principal:
    """Who looks at a page. Raises NotSignedInError."""
    principal = await known.principal(request.cookies.get(COOKIE, ""))
    if principal is None:
        raise NotSignedInError
    return principal


Person = Annotated[Principal, Depends(signed_in)]


async def posted(request: Request) -> Typed:
    """The fields of a form that one of our own pages has sent. Raises Problem."""
    if not _is_ours(request):
        raise Problem(
            403,
            "other_origin",
            "This form was not sent by a page of this gateway.",
            hint="Open the page again and send it from there; programs use /v1.",
        )
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise Problem(
                413,
                "body_too_large",
                f"The form is larger than {MAX_BODY // 1024} KiB.",
                hint="Shorten it, or send the answer over /v1.",
            )
    return Typed(parse_qs(body.decode(errors="replace"), keep_blank_values=True))


Form = Annotated[Typed, Depends(posted)]


def _is_ours(request: Request) -> bool:
    """Whether the browser says that the page which sent a form is of this origin."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    return site == "same-origin" and request.headers.get("origin") == own
