"""Two tools: one that finds people and asks when it is not sure, one that writes to them.

    haltpoint up --tools haltpoint.examples.contacts.tools

CONTACTS_OUTBOX names the outbox (default: outbox/outbox.jsonl).
"""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from haltpoint import Ctx, FromResult, Option, ToolError, ToolResult, tool
from haltpoint.examples.contacts.book import Book
from haltpoint.examples.contacts.matching import MOST_OPTIONS, Found, must_ask
from haltpoint.examples.contacts.outbox import Message, Outbox


class Match(BaseModel):
    """The person who is meant."""

    contact_id: str
    name: str
    email: str = ""


class Sent(BaseModel):
    """A message that went out."""

    message_id: str
    recipient_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Deps:
    """What the tools work with, opened once by each worker."""

    book: Book
    outbox: Outbox


@asynccontextmanager
async def lifespan() -> AsyncGenerator[Deps]:
    """The address book beside this file, and the outbox that the environment names."""
    path = os.environ.get("CONTACTS_OUTBOX", "outbox/outbox.jsonl")
    yield Deps(Book.read(), Outbox(Path(path)))


@tool(queue="contacts", read_only=True, may_clarify=True, timeout="5s")
async def lookup_contacts(
    query: Annotated[
        str, Field(description="a name, part of one, or an e-mail address", max_length=200)
    ],
    ctx: Ctx[Deps],
) -> ToolResult[Match]:
    """Find the person that a name means in the address book. Stops and asks when several may be
    meant.
    """
    found = ctx.deps.book.find(query)
    if not found:
        raise ToolError.not_found(
            f"The address book has no {query!r}.", suggestion="Check the spelling."
        )
    if must_ask(found):
        options = [_option(match) for match in found[:MOST_OPTIONS]]
        return ctx.clarify("contact_selection", _question(query, len(found)), options)
    return ctx.ok(_match(found[0]))


@tool(queue="contacts", timeout="60s", says="Message to {name}: {content}")
async def send_message(
    recipient_id: Annotated[str, FromResult("lookup_contacts.contact_id")],
    content: Annotated[str, Field(description="what to tell them", min_length=1, max_length=4000)],
    ctx: Ctx[Deps],
) -> Sent:
    """Send a message to a person whom lookup_contacts has found."""
    contact = ctx.deps.book.get(recipient_id)
    if contact is None:
        raise ToolError.not_found(
            f"There is no contact {recipient_id!r}.", suggestion="Look the person up first."
        )
    message = Message(ctx.idempotency_key, contact.id, contact.name, contact.email, content)
    sent, _ = await asyncio.to_thread(ctx.deps.outbox.send, message)
    return Sent(message_id=sent.key, recipient_id=sent.to, name=sent.name)


def _question(query: str, count: int) -> str:
    if count == 1:
        return f"Is this who you mean by {query!r}?"
    if count <= MOST_OPTIONS:
        return f"Which {query!r} do you mean?"
    return f"Which {query!r} do you mean (the likeliest {MOST_OPTIONS} of {count})?"


def _match(found: Found) -> Match:
    contact = found.contact
    return Match(contact_id=contact.id, name=contact.name, email=contact.email)


def _option(found: Found) -> Option:
    contact = found.contact
    last = contact.last_contact.isoformat() if contact.last_contact else None
    why = {"rule": found.rule.value, "is_recent": found.recent, "last_contact": last}
    return Option(
        id=contact.id,
        title=contact.name,
        subtitle=contact.email or contact.organization,
        confidence=found.confidence,
        metadata=why,
        value=_match(found).model_dump(),
    )
