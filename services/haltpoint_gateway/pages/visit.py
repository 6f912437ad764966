"""One look at a page: who looks, at which gateway, and what templates get to see."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from fastapi import Depends
from msgspec import json
from pydantic import BaseModel
from starlette.responses import HTMLResponse, RedirectResponse

from haltpoint.contracts.base import JsonObject, value
from haltpoint.contracts.people.keys import Scope
from haltpoint.contracts.secrets import without_secrets_in
from haltpoint.contracts.tools import ToolSpec
from haltpoint_gateway.gateway import Gateway, Here, with_scope
from haltpoint_gateway.pages.door import Person
from haltpoint_gateway.pages.looks import html
from haltpoint_gateway.people.principal import Principal


@value
class Visit:
    """One look at a page."""

    gateway: Gateway
    who: Principal

    def needs(self, scope: Scope) -> None:
        """Raises Problem when the key of who looks has not this scope."""
        with_scope(self.who, scope)

    async def tools(self) -> Mapping[str, ToolSpec]:
        """What workers serve, by name."""
        return await self.gateway.catalogue.read()

    async def documents(self, views: Iterable[BaseModel]) -> list[JsonObject]:
        """Views as plain values, with stars in place of secrets."""
        catalogue = self.gateway.catalogue
        typed = await catalogue.typed_secrets()
        texts = [view.model_dump_json().encode() for view in views]
        return [json.decode(without_secrets_in(text, typed)) for text in texts]

    def html(self, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A page out of its template and these values."""
        agents = self.gateway.agents.agents
        return html(name, status, who=self.who, agents=agents, **values)


def to_chain(chain_id: str) -> RedirectResponse:
    """The way to the page of a chain."""
    where = f"/chains/{chain_id}"
    return RedirectResponse(where, 303)


def visit_of(gateway: Here, who: Person) -> Visit:
    """The look of this person. Raises Problem when their key may not see pages."""
    visit = Visit(gateway, who)
    visit.needs(Scope.READ)
    return visit


Looks = Annotated[Visit, Depends(visit_of)]
