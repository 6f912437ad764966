"""Who is signed in to the pages, and whether a form that comes was one of ours.

A cookie names the digest of a key and the beginning of the session, signed; the key itself is in no
cookie. So a key that is revoked ends its sessions, and every gateway with the same admin key knows
a cookie of another.
"""

import hashlib
from dataclasses import field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Final, TypeVar
from urllib.parse import parse_qs

from fastapi import Depends, Request
from itsdangerous import BadSignature, TimestampSigner
from pydantic import ValidationError

from haltpoint.contracts.base import JsonObject, Strings, value
from haltpoint.contracts.doors import door
from haltpoint.contracts.people.humans import Way
from haltpoint.runtime.config.faults import in_places
from haltpoint_gateway.guard import bounded, calling, check_origin
from haltpoint_gateway.people.keys import Keyring, digest_of
from haltpoint_gateway.people.principal import Principal
from haltpoint_gateway.problems import Problem

T = TypeVar("T")
COOKIE: Final = "haltpoint_session"
LASTS: Final = 28_800
"""Seconds of a session: 8 h."""


@value
class Typed:
    """A form that a person has sent, and what is wrong with it."""

    fields: dict[str, list[str]] = field(default_factory=dict)
    status: int = 200
    """Of the page that shows it again."""
    faults: Strings = ()
    """Sentences; one about a field begins with its name."""

    def text(self, name: str, otherwise: str = "") -> str:
        """What was typed into a field."""
        return self.fields.get(name, [otherwise])[0].replace("\r\n", "\n")

    def refused(self, problem: Problem) -> "Typed":
        """The same with the faults of a problem."""
        errors = problem.document.get("errors") or [{"message": str(problem)}]
        faults = tuple(str(error["message"]) for error in errors)
        return Typed(self.fields, problem.status, faults)


class NotSignedInError(Exception):
    """The page is only for people who have signed in."""


def cookie_of(keyring: Keyring, key: str) -> str:
    """The cookie of a new session with this key."""
    return _signer(keyring.admin_digest).sign(digest_of(key)).decode()


async def signed_in(request: Request) -> Principal:
    """The person that looks at a page. Raises NotSignedInError."""
    keyring = request.app.state.gateway.keyring
    holder = await _holder(keyring, request.cookies.get(COOKIE, ""))
    principal = holder or getattr(request.state, "signed_on", None)
    if principal is None:
        raise NotSignedInError
    return calling(principal, request, Way.PAGE)


Person = Annotated[Principal, Depends(signed_in)]


async def _holder(keyring: Keyring, cookie: str) -> Principal | None:
    """The holder of this cookie; None: there is no session, or it is over."""
    try:
        digest, begun = _signer(keyring.admin_digest).unsign(cookie, return_timestamp=True)
    except BadSignature:
        return None
    # The clock of the gateway that has signed it may be ahead: `max_age` would refuse that.
    if begun + timedelta(seconds=LASTS) < datetime.now(UTC):
        return None
    return await keyring.holder(digest.decode())


@lru_cache(maxsize=1)
def _signer(admin_digest: str) -> TimestampSigner:
    """Slow to make on purpose: a cookie must be no way to try out short admin keys."""
    secret = hashlib.scrypt(bytes.fromhex(admin_digest), salt=b"pages", n=16_384, r=8, p=1)
    return TimestampSigner(secret, digest_method=hashlib.sha256)


def fitted(kind: type[T], given: JsonObject) -> T:
    """The value that a form makes out of what was typed: nothing in an empty field. Raises Problem
    when it does not fit.
    """
    said = {name: words for name, words in given.items() if words not in ("", None)}
    try:
        return door(kind).validate_python(said)
    except ValidationError as error:
        hint = "Go back, change this, and send the form again."
        raise Problem(422, "invalid_fields", in_places(error), hint=hint) from None


async def posted(request: Request) -> Typed:
    """The fields of a form that one of our own pages has sent. Raises Problem."""
    check_origin(request)
    body = await bounded(request)
    return Typed(parse_qs(body.decode(errors="replace"), keep_blank_values=True))


Form = Annotated[Typed, Depends(posted)]
