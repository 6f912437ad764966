"""Eight tools of a content management system, over a site in one SQLite file.

    haltpoint up --tools examples.cms.tools

CMS_DATABASE names the file (default: site.db).
"""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from examples.cms.site import Hit, Page, SectionType, Site, WholeSection
from haltpoint import Ctx, FromResult, NotTarget, tool

PageId = Annotated[
    str, FromResult("findResource.hits[].id", "getPage.page_id", "createPage.page_id")
]
SectionId = Annotated[
    str,
    FromResult("findResource.hits[].id", "getPage.sections[].section_id", "addSection.section_id"),
]
Text = Annotated[str, Field(max_length=4000)]


class Hits(BaseModel):
    """What a search has found."""

    hits: list[Hit]


class Template(BaseModel):
    """A type of section, and what it is for."""

    type: SectionType
    purpose: str


TEMPLATES = [
    Template(type="hero", purpose="the first thing that visitors see: a promise and a sentence"),
    Template(type="features", purpose="what there is, one paragraph for each thing"),
    Template(type="cta", purpose="what visitors should do next"),
    Template(type="text", purpose="anything else"),
]


@asynccontextmanager
async def lifespan() -> AsyncGenerator[Site]:
    """The site that the environment names."""
    yield Site(Path(os.environ.get("CMS_DATABASE", "site.db")))


@tool(name="findResource", read_only=True)
def find_resource(query: Annotated[str, Field(max_length=200)], ctx: Ctx[Site]) -> Hits:
    """Find pages by name or slug, and sections by heading or type."""
    return Hits(hits=ctx.deps.find(query))


@tool(name="getPage", read_only=True, one_of_parameters=(("slug", "id"),))
def get_page(
    ctx: Ctx[Site], slug: str | None = None, id: str | None = None, *, include_content: bool = False
) -> Page:
    """Get a page and the list of its sections; with include_content also all their texts, which may
    be long.
    """
    return ctx.deps.page(slug, id, whole=include_content)


@tool(name="getSectionContent", read_only=True)
def get_section_content(section_id: SectionId, ctx: Ctx[Site]) -> WholeSection:
    """Get one section with its text."""
    return ctx.deps.section(section_id)


@tool(name="listSectionTemplates", read_only=True)
def list_section_templates() -> list[Template]:
    """List the types of sections, and what each is for."""
    return TEMPLATES


@tool(name="createPage", idempotent=True, says="Created the page {name} at {slug}")
def create_page(
    name: Annotated[str, Field(min_length=1, max_length=200)],
    slug: Annotated[str, NotTarget, Field(pattern="^[a-z0-9-]{1,64}$")],
    ctx: Ctx[Site],
) -> Page:
    """Create a page without sections."""
    return ctx.deps.create_page(ctx.idempotency_key, name, slug)


@tool(name="addSection", idempotent=True, says="Added the section {heading} ({type})")
def add_section(
    page_id: PageId, type: SectionType, heading: Text, text: Text, ctx: Ctx[Site]
) -> WholeSection:
    """Add a section to the end of a page that was found or created."""
    return ctx.deps.add_section(ctx.idempotency_key, page_id, type, heading, text)


@tool(
    name="updateSection",
    idempotent=True,
    one_of_parameters=(("heading", "text"),),
    says="Changed the {type} section {section_id}",
)
def update_section(
    section_id: SectionId, ctx: Ctx[Site], heading: Text | None = None, text: Text | None = None
) -> WholeSection:
    """Give a section another heading, another text, or both."""
    return ctx.deps.update_section(ctx.idempotency_key, section_id, heading, text)


def describe_section(section_id: str, ctx: Ctx[Site]) -> str:
    """What deleting a section takes away."""
    section = ctx.deps.section(section_id)
    return f"Deletes the {section.type} section {section.heading!r} with its text:\n{section.text}"


def restore_section(result: dict[str, Any], ctx: Ctx[Site]) -> None:
    """Undo a deletion: the result is the section as it was."""
    ctx.deps.restore_section(ctx.idempotency_key, WholeSection.model_validate(result))


@tool(
    name="deleteSection",
    destructive=True,
    idempotent=True,
    preview=describe_section,
    undo=restore_section,
    says="Deleted {heading}",
)
def delete_section(section_id: SectionId, ctx: Ctx[Site]) -> WholeSection:
    """Delete a section. Gives it as it was, so that it can be made again."""
    return ctx.deps.delete_section(ctx.idempotency_key, section_id)
