"""Who asks: a person or a program, by a key or by the word of a proxy that has signed them in."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from haltpoint.contracts.base import Strings
from haltpoint.contracts.people.humans import Way
from haltpoint.contracts.people.keys import Scope


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks. `name` is what is recorded when this person answers; an admin's `tenant` may be
    None.
    """

    name: str
    tenant: str | None
    scopes: Collection[Scope]
    groups: Strings = ()
    key: str = ""
    """The digest of the key; empty for a person whom a proxy has signed in."""
    way: Way = Way.HTTP
    """By which way the request came."""
    address: str = ""
    """From where."""

    @property
    def admin(self) -> bool:
        """Whether every tenant is visible."""
        return Scope.ADMIN in self.scopes

    def may(self, scope: Scope) -> bool:
        """Whether the key has this scope, or admin."""
        return self.admin or scope in self.scopes

    def can_see(self, tenant: str | None) -> bool:
        """Whether a chain of this tenant exists at all as far as this person is concerned."""
        return self.admin or self.tenant == tenant


def between_commas(text: str) -> Strings:
    """The names between commas, without the blanks around them."""
    names = re.findall(r"[^\s,](?:[^,]*[^\s,])?", text)
    return tuple(names)
