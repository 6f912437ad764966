"""One exchange with a model: `Prompt` is what a port is given, `Reply` is what it gives. Plain
values, the same for every provider.

Messages have the form of OpenAI's chat completions. `Reply.message` is the assistant's message as
the provider sent it, with all that it put beside words and calls: reasoning, signatures, ids. It is
stored with its thought. In later prompts the same model gets it back as it came, and another model
its words and calls alone. A port whose provider has another form of messages keeps the whole of
that form inside of this message, in a field of its own, and reads it from there.

Ids of calls are the provider's. Those that are missing, or that two calls of one message share, are
filled in before a message goes back; so the results behind it name each call.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.work.thoughts import Usage

Message = JsonObject
"""A message of a conversation, in the form of chat completions."""
OTHER_FORM: Final = "pydantic_ai"
"""The field of a message that holds it in the form of a port."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question to a model."""

    messages: tuple[Message, ...]
    """The conversation: messages of the roles system, user, assistant and tool."""
    tools: tuple[JsonObject, ...] = ()
    """The tools that it may call: name, description and parameters of each."""
    force: bool = False
    """It has to call one of the tools (C10)."""
    schema: JsonObject | None = None
    """The JSON Schema of its words where it has no tools; None: they are free."""


class Finish(StrEnum):
    """Why a model stopped."""

    STOP = "stop"
    """It has said all."""
    LENGTH = "length"
    """It had no tokens left."""
    FILTER = "filter"
    """The provider's content filter stopped it."""
    OTHER = "other"
    """The provider stopped it for another reason, as a call that it could not read."""
    BROKEN = "broken"
    """The provider had a fault: there may be a whole reply later."""


@dataclass(frozen=True, slots=True)
class NativeCall:
    """A call in the provider's own field."""

    name: str
    """The tool's name, to the letter."""
    arguments: object
    """Whatever is in its field: an object, JSON text, anything."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One thing that a model said."""

    content: str = ""
    """Its words, without those that the provider marks as thinking."""
    calls: tuple[NativeCall, ...] = ()
    """Its native calls, in order, equal ones too."""
    usage: Usage = field(default_factory=Usage)
    """Tokens, and the model's name."""
    finish: Finish = Finish.STOP
    """Why it ends here."""
    message: Message | None = None
    """The provider's own message, to be sent back; None: words and calls are all there is."""
