"""Keys of the gateway: who holds one, and what it allows."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from haltpoint.contracts.doors import Form, View
from haltpoint.contracts.people.answerers import named, persons_name
from haltpoint.contracts.written import Name, Seconds


class Scope(StrEnum):
    """What a key allows. `admin` includes the others, sees all tenants and may name one in a
    task.
    """

    SUBMIT = "submit"
    READ = "read"
    ANSWER = "answer"
    ADMIN = "admin"


EVERYDAY = (Scope.SUBMIT, Scope.READ, Scope.ANSWER)
"""What a key allows unless its maker says otherwise."""


_LONGEST = 100 * 365 * 86400
"""Seconds of a hundred years: a moment that can be written down."""


class NewKey(Form):
    """A key that is to be made."""

    name: Annotated[Name, AfterValidator(persons_name)]
    """The person or program that holds it; two keys with one name belong to the same person."""
    scopes: Annotated[tuple[Scope, ...], Field(min_length=1)] = EVERYDAY
    """What it allows."""
    tenant: Name | None = None
    """Whose chains it sees; a key that allows `admin` sees all."""
    groups: tuple[Annotated[Name, AfterValidator(named)], ...] = ()
    """Groups of people that questions can be addressed to."""
    expires: Annotated[Seconds, Field(le=_LONGEST)] | None = None
    """After how many seconds it expires; without a value it never does."""

    @field_validator("tenant")
    @classmethod
    def _is_no_admins(cls, tenant: str | None, others: ValidationInfo) -> str | None:
        if tenant and Scope.ADMIN in others.data.get("scopes", ()):
            raise ValueError("a key that allows admin sees all tenants: leave it out")
        return tenant


class KeyView(View):
    """A key, without its text."""

    id: str
    """The id by which it is revoked."""
    name: str
    scopes: tuple[Scope, ...]
    tenant: str | None = None
    groups: tuple[str, ...] = ()
    made_by: str
    made_at: datetime
    used_at: datetime | None = None
    """Its last use, to the minute."""
    expires_at: datetime | None = None


class MadeKey(KeyView):
    """A new key."""

    key: str
    """The text of the key; it is shown only this once."""
