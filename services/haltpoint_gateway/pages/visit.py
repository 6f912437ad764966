"""One look at a page: who looks, at which gateway, and what templates get to see."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from fastapi import Depends
from msgspec import json
from pydantic import BaseModel, model_validator
from starlette.responses import HTMLResponse, RedirectResponse

from haltpoint.contracts.base import JsonObject, value
from haltpoint.contracts.people.keys import Scope
from haltpoint.contracts.secrets import without_secrets_in
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.views.chains import Page
from haltpoint_gateway.gateway import Gateway, Here, with_scope
from haltpoint_gateway.pages.door import Person
from haltpoint_gateway.pages.looks import html
from haltpoint_gateway.people.principal import Principal


class Searched(BaseModel):
    """What a list is filtered by, as a form sends it: a field that is empty filters nothing."""

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, fields: JsonObject) -> JsonObject:
        return {name: text for name, text in fields.items() if text}

    def filters(self) -> JsonObject:
        """What the address of the list says, without its place in it."""
        return self.model_dump(mode="json", exclude_defaults=True, exclude={"cursor", "answered"})


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
        typed = await self.gateway.catalogue.typed_secrets()
        texts = [view.model_dump_json().encode() for view in views]
        return [json.decode(without_secrets_in(text, typed)) for text in texts]

    async def list(
        self,
        name: str,
        query: Searched,
        page: Page[Any],
        **values: Any,
    ) -> HTMLResponse:
        """The page of a list: its items, and what it may be filtered by."""
        return self.html(
            name,
            query=query,
            filters=query.filters(),
            items=await self.documents(page.items),
            next_cursor=page.next_cursor,
            tools=await self.tools(),
            **values,
        )

    def html(self, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A page out of its template and these values."""
        agents = self.gateway.agents.agents
        return html(name, status, who=self.who, agents=agents, **values)


def to_chain(chain_id: str) -> RedirectResponse:
    """The way to the page of a chain."""
    return RedirectResponse(f"/chains/{chain_id}", 303)


def _visit(gateway: Here, who: Person) -> Visit:
    visit = Visit(gateway, who)
    visit.needs(Scope.READ)
    return visit


Looks = Annotated[Visit, Depends(_visit)]
