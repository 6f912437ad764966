"""Trying a real model: what the planner asks of one, asked once each, as the planner asks it."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.work.agents import Agents
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint_planner.connections import Connections
from haltpoint_planner.drafting import draft_proposal
from haltpoint_planner.exchange import Finish, Prompt, Reply
from haltpoint_planner.models import Models
from haltpoint_planner.own_messages import Own, fresh_ids, sent_back
from haltpoint_planner.prompting.tool_forms import in_line
from haltpoint_planner.thoughts import sentence, words_of

_TEXT: Final = {"type": "string"}
_ENOUGH: Final = 128
"""Tokens that a reply may have: a small model that repeats itself comes to an end."""
_SHOWN: Final = 80
"""Characters of what a model said."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one trial showed."""

    what: str
    """What was tried, as "calls a tool when it has to"."""
    outcome: str
    """yes, no, or the code of an error."""
    seconds: float
    note: str
    """What the model said, or why it could not."""


def _asks(words: str, **more: Any) -> Prompt:
    return Prompt(({"role": "user", "content": words},), **more)


def _to_note(words: str, named: JsonObject, **more: JsonObject) -> Prompt:
    """A question for calls of a tool that notes a text; `named` are more parameters of it."""
    form = {"type": "object", "properties": {"text": _TEXT, **named}, "required": ["text"], **more}
    tool = {"name": "note", "description": "Note a text.", "parameters": form}
    return _asks(words, tools=(tool,), force=True)


def _noted(reply: Reply) -> list[JsonObject]:
    """The arguments of its calls, which may also be JSON in its words (C9)."""
    calls = draft_proposal(reply, {}).calls
    return [call.arguments for call in calls if call.tool == "note"]


def _says_something(reply: Reply) -> object:
    return reply.content.strip() or reply.calls


_APPLE: Final = 'Note the text "apple".'
_PRIORITY: Final = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
_PLACES: Final = {"Place": {"type": "object", "properties": {"city": _TEXT}}}
_FORM: Final = {
    "type": "object",
    "properties": {"fruit": _TEXT},
    "required": ["fruit"],
    "additionalProperties": False,
}
_SAY: Final = _asks("Say OK, and nothing else.")
_NOTE: Final = _to_note(_APPLE, {})
_TRIALS: Final[tuple[tuple[str, Prompt, Callable[[Reply], object]], ...]] = (
    ("answers in words", _SAY, _says_something),
    ("calls a tool when it has to", _NOTE, _noted),
    (
        "makes two calls at once",
        _to_note('Note "apple" and note "pear", by two calls.', {}),
        lambda reply: len(_noted(reply)) == 2,
    ),
    (
        "leaves out an optional parameter",
        _to_note(_APPLE, {"priority": _PRIORITY}),
        lambda reply: all("priority" not in given for given in _noted(reply)),
    ),
    (
        "accepts references in a tool's schema",
        _to_note(_APPLE, {"place": {"$ref": "#/$defs/Place"}}, **{"$defs": _PLACES}),
        _noted,
    ),
    (
        "answers in a given JSON form",
        _asks('Name a fruit, as JSON: {"fruit": "..."}', schema=_FORM),
        lambda reply: reply.content.strip().startswith("{"),
    ),
    ("reports how many tokens it used", _SAY, lambda reply: not reply.usage.estimated),
    (
        "says when a reply is cut",
        _asks("Count from 1 to 300, in digits."),
        lambda reply: reply.finish is Finish.LENGTH,
    ),
)
"""What is tried: the question, and whether a reply passes."""
_BACK: Final = "accepts its own message back, with results"


class Checking:
    """The trials of one model; afterwards `refused` names what its server did not take."""

    def __init__(self, settings: ModelSettings, connections: Connections) -> None:
        self._name = settings.chosen(another=False)
        self._patience = settings.timeout
        settings = settings.model_copy(update={"max_tokens": _ENOUGH})
        self._port = Models(settings, Agents(), connections).port_to(None)

    @property
    def refused(self) -> Sequence[str]:
        """The parts of a question that its server refuses, as the planner learns them."""
        return list(map(str, self._port.refused[self._name].parts))

    async def findings(self) -> AsyncIterator[Finding]:
        """Each trial as soon as it is over. The first one ends it all when there is no reply."""
        for what, prompt, is_passed in _TRIALS:
            finding, reply = await self._tried(what, prompt, is_passed)
            yield finding
            if reply is None and prompt is _SAY:
                return
            if reply is not None and reply.calls and prompt is _NOTE:
                finding, _ = await self._tried(_BACK, _back(reply), _says_something)
                yield finding

    async def _tried(
        self, what: str, prompt: Prompt, is_passed: Callable[[Reply], object]
    ) -> tuple[Finding, Reply | None]:
        begun = time.monotonic()
        deadline = round((time.time() + self._patience) * 1000)
        request = ThoughtRequest(thought_id="check.t1.1", kind=ThoughtKind.ACT, deadline=deadline)
        reply: Reply | None = None
        try:
            reply = await self._port.ask(self._name, lambda _: prompt, request)
            outcome = "yes" if is_passed(reply) else "no"
            note = in_line(words_of(reply))[:_SHOWN]
        except HaltpointError as error:
            outcome = error.code
            note = sentence(error)
        return Finding(what, outcome, time.monotonic() - begun, note), reply


def _back(reply: Reply) -> Prompt:
    """The model's own message goes back, with a result for each call."""
    said = sent_back(Own("", 0, reply.message or {}), "", fresh_ids())
    result = {"role": "tool", "name": "note", "content": "Noted."}
    results = [{**result, "tool_call_id": call["id"]} for call in said["tool_calls"]]
    return Prompt((*_NOTE.messages, said, *results), _NOTE.tools)
