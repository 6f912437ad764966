"""docs/reference/events.md: every line of a chain's log, every public fact, every message."""

from typing import Final

from haltpoint.contracts.catalogue import CATALOGUE
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.public_facts import PUBLIC
from tests.reference.markdown import code, meanings, page, table, words

INTRODUCTION: Final = """\
A chain's log has one line for each thing that happened. `GET /v1/chains/{chain_id}/events` and
`GET /v1/events` show its lines, the *events*. Some of them are published for other programs, the
*public facts* ([FastStream](../guides/faststream.md)). Between the services there are *messages*;
they are for readers of the code.

`haltpoint schema events` prints messages and public facts as JSON Schema, `haltpoint schema
asyncapi` the streams."""


def written() -> str:
    """The page."""
    said = meanings(FactType)
    events = [(code(fact.value), words(meaning(fact, said))) for fact in FactType]
    facts = [(code(name.value), *about(kind)) for name, kind in PUBLIC.items()]
    messages = [
        (code(row.type), code(row.stream.value), f"{row.sender} → {row.receiver}", doc(row.message))
        for row in CATALOGUE
    ]
    return page(
        "Events",
        INTRODUCTION,
        "## Events of a chain",
        table(("event", "what happened"), events),
        "## Public facts",
        "Each is a CloudEvent in JSON. `subject` is the chain's id; a repeat has the same `id`.",
        table(("fact", "what happened", "`data`"), facts),
        "## Messages between services",
        table(("message", "stream", "from and to", "meaning"), messages),
    )


def meaning(fact: FactType, said: dict[str, str]) -> str:
    """What an event says happened."""
    return said.get(fact.name, "")


def about(kind: type) -> tuple[str, str]:
    """What a public fact says, and its data."""
    data = kind.model_fields["data"].annotation  # type: ignore[attr-defined]
    return doc(kind), ", ".join(map(code, data.model_fields))


def doc(kind: type) -> str:
    """The first sentence of a docstring."""
    return words((kind.__doc__ or "").partition("\n\n")[0])
