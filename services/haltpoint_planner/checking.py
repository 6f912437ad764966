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
from haltpoint_planner.exchange import Finish, Message, Prompt, Reply
from haltpoint_planner.models import Models
from haltpoint_planner.own_messages import Own, fresh_ids, sent_back

_TEXT: Final = {"type": "string"}
_ENOUGH: Final = 128
"""Tokens that a reply may have: a small model that repeats itself comes to an end."""


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


@dataclass(frozen=True, slots=True)
class _Trial:
    what: str
    prompt: Prompt
    is_passed: Callable[[Reply], bool]


def _asked(words: str) -> tuple[Message, ...]:
    return ({"role": "user", "content": words},)


def _to_note(words: str, **more: Any) -> Prompt:
    """It has to call a tool that notes a text; `more` are other parameters of it."""
    properties = {"text": _TEXT, **more}
    parameters = {"type": "object", "properties": properties, "required": ["text"]}
    if "place" in more:
        parameters["$defs"] = {"Place": {"type": "object", "properties": {"city": _TEXT}}}
    function = {"name": "note", "description": "Note a text.", "parameters": parameters}
    return Prompt(_asked(words), ({"type": "function", "function": function},), force=True)


def _noted(reply: Reply) -> list[JsonObject]:
    """The arguments of its calls, which may also be JSON in its words (C9)."""
    calls = draft_proposal(reply, {}).calls
    return [call.arguments for call in calls if call.tool == "note"]


_PRIORITY: Final = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
_FORM: Final = {
    "type": "object",
    "properties": {"fruit": _TEXT},
    "required": ["fruit"],
    "additionalProperties": False,
}
_OK: Final = Prompt(_asked("Say OK, and nothing else."))
_APPLE: Final = 'Note the text "apple".'
_ANSWERS: Final = _Trial("answers in words", _OK, lambda reply: bool(reply.content.strip()))
_CALLS: Final = _Trial(
    "calls a tool when it has to", _to_note(_APPLE), lambda reply: bool(_noted(reply))
)
_OTHERS: Final = (
    _Trial(
        "makes two calls at once",
        _to_note('Note "apple" and note "pear", by two calls.'),
        lambda reply: len(_noted(reply)) == 2,
    ),
    _Trial(
        "leaves out a parameter that need not be given",
        _to_note(_APPLE, priority=_PRIORITY),
        lambda reply: all("priority" not in given for given in _noted(reply)),
    ),
    _Trial(
        "takes references in the schema of a tool",
        _to_note(_APPLE, place={"$ref": "#/$defs/Place"}),
        lambda reply: bool(_noted(reply)),
    ),
    _Trial(
        "answers in a form",
        Prompt(_asked('Name a fruit, as JSON: {"fruit": "..."}'), schema=_FORM),
        lambda reply: reply.content.strip().startswith("{"),
    ),
    _Trial("tells how many tokens it took", _OK, lambda reply: not reply.usage.estimated),
    _Trial(
        "says when a reply is cut",
        Prompt(_asked("Count from 1 to 300, in digits.")),
        lambda reply: reply.finish is Finish.LENGTH,
    ),
)


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
        return list(map(str, self._port.refused.get(self._name, ())))

    async def findings(self) -> AsyncIterator[Finding]:
        """Each trial as soon as it is over. The first one ends it all when there is no reply."""
        finding, reply = await self._tried(_ANSWERS)
        yield finding
        if reply is None:
            return
        finding, reply = await self._tried(_CALLS)
        yield finding
        trials = list(_OTHERS)
        if reply is not None and reply.calls:
            trials.insert(0, _back(reply))
        for trial in trials:
            finding, _ = await self._tried(trial)
            yield finding

    async def _tried(self, trial: _Trial) -> tuple[Finding, Reply | None]:
        begun = time.monotonic()
        deadline = round((time.time() + self._patience) * 1000)
        request = ThoughtRequest(thought_id="check.t1.1", kind=ThoughtKind.ACT, deadline=deadline)
        reply: Reply | None = None
        try:
            reply = await self._port.ask(self._name, lambda _: trial.prompt, request)
            outcome, note = ("yes" if trial.is_passed(reply) else "no"), _words(reply)
        except HaltpointError as error:
            outcome, note = error.code, f"{error.what}: {error.why}. {error.fix}"
        return Finding(trial.what, outcome, time.monotonic() - begun, note), reply


def _back(reply: Reply) -> _Trial:
    """The model's own message goes back, with a result for each call."""
    own = Own("", 0, reply.message or {})
    said = sent_back(own, "", fresh_ids())
    result = {"role": "tool", "name": "note", "content": "Noted."}
    results = [{**result, "tool_call_id": call["id"]} for call in said["tool_calls"]]
    prompt = Prompt((*_asked(_APPLE), said, *results), _CALLS.prompt.tools)
    what = "takes its own message back, with results"
    return _Trial(what, prompt, lambda reply: bool(reply.content or reply.calls))


def _words(reply: Reply) -> str:
    calls = [f"{call.name}({call.arguments})" for call in reply.calls]
    words = " ".join([reply.content, *calls]).split()
    return " ".join(words)[:80]
