"""Trying a real model: what the planner asks of one, asked once each, as the planner asks it."""

import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint_planner.connections import Connections
from haltpoint_planner.exchange import Finish, Message, Prompt, Reply
from haltpoint_planner.model import PassingError, Port, TooLongError
from haltpoint_planner.models import Models
from haltpoint_planner.parsing.reading import read

_TEXT: Final = {"type": "string"}
_ENOUGH: Final = 256
"""Tokens that a reply may have: a small model that repeats itself comes to an end."""
_CUT: Final = 32
"""Tokens to which a long reply is held."""


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


def _asked(words: str) -> Message:
    return {"role": "user", "content": words}


def _note(**more: Any) -> dict[str, Any]:
    """A tool that notes a text."""
    properties = {"text": _TEXT, **more.pop("properties", {})}
    parameters = {"type": "object", "properties": properties, "required": ["text"], **more}
    function = {"name": "note", "description": "Note a text.", "parameters": parameters}
    return {"type": "function", "function": function}


def _arguments(reply: Reply) -> list[dict[str, Any]]:
    """Of the calls of `note`, which may also be JSON in its words (C9)."""
    found: list[dict[str, Any]] = []
    for call in reply.calls or read(reply, {"note"}, due=True).calls:
        given = call.arguments
        value = json.loads(given) if isinstance(given, str) else given
        if call.name == "note" and isinstance(value, dict):
            found.append(value)
    return found


def _is_form(reply: Reply) -> bool:
    return set(json.loads(reply.content)) == {"fruit"}


_PRIORITY: Final = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
_PLACE: Final = {"Place": {"type": "object", "properties": {"city": _TEXT}}}
_FORM: Final = {
    "type": "object",
    "properties": {"fruit": _TEXT},
    "required": ["fruit"],
    "additionalProperties": False,
}
_APPLE: Final = (_asked('Note the text "apple".'),)
_TRIALS: Final = (
    _Trial(
        "answers in words",
        Prompt((_asked("Say OK, and nothing else."),)),
        lambda reply: bool(reply.content.strip()),
    ),
    _Trial(
        "calls a tool when it has to",
        Prompt(_APPLE, (_note(),), force=True),
        lambda reply: bool(_arguments(reply)),
    ),
    _Trial(
        "makes two calls at once",
        Prompt((_asked('Note "apple" and note "pear", by two calls.'),), (_note(),), force=True),
        lambda reply: len(_arguments(reply)) == 2,
    ),
    _Trial(
        "leaves out a parameter that need not be given",
        Prompt(_APPLE, (_note(properties={"priority": _PRIORITY}),), force=True),
        lambda reply: all("priority" not in given for given in _arguments(reply)),
    ),
    _Trial(
        "takes references in the schema of a tool",
        Prompt(
            _APPLE,
            (_note(properties={"place": {"$ref": "#/$defs/Place"}}, **{"$defs": _PLACE}),),
            force=True,
        ),
        lambda reply: bool(_arguments(reply)),
    ),
    _Trial(
        "answers in a form",
        Prompt((_asked('Name a fruit, as JSON: {"fruit": "..."}'),), schema=_FORM),
        _is_form,
    ),
    _Trial(
        "tells how many tokens it took",
        Prompt((_asked("Say OK, and nothing else."),)),
        lambda reply: not reply.usage.estimated,
    ),
)


class Checking:
    """The trials of one model; afterwards `refused` names what its server did not take."""

    def __init__(self, settings: ModelSettings, connections: Connections) -> None:
        self._settings = settings
        self._name = settings.chosen(another=False)
        enough = settings.model_copy(update={"max_tokens": _ENOUGH})
        brief = settings.model_copy(update={"max_tokens": _CUT})
        self._port = Models(enough, connections).port_to(None, None)
        self._brief = Models(brief, connections).port_to(None, None)

    @property
    def refused(self) -> Sequence[str]:
        """The parts of a question that its server refuses, as the planner learns them."""
        return self._port.refused(self._name)

    async def findings(self) -> AsyncIterator[Finding]:
        """Each trial as soon as it is over. The first one ends it all when there is no reply."""
        for trial in _TRIALS:
            finding, reply = await self._tried(trial, self._port)
            yield finding
            if reply is None and trial is _TRIALS[0]:
                return
            if reply is not None and trial is _TRIALS[1] and reply.message and reply.calls:
                yield (await self._tried(_back(reply, reply.message), self._port))[0]
        count = Prompt((_asked("Count from 1 to 300, in digits."),))
        cut = _Trial("says when a reply is cut", count, lambda reply: reply.finish is Finish.LENGTH)
        yield (await self._tried(cut, self._brief))[0]

    async def _tried(self, trial: _Trial, port: Port) -> tuple[Finding, Reply | None]:
        begun = time.monotonic()
        deadline = round((time.time() + self._settings.timeout) * 1000)
        request = ThoughtRequest(thought_id="check.t1.1", kind=ThoughtKind.ACT, deadline=deadline)
        reply: Reply | None = None
        try:
            reply = await port.ask(self._name, trial.prompt, request)
            outcome, note = ("yes" if _passed(trial, reply) else "no"), _words(reply)
        except (PassingError, TooLongError) as failure:
            outcome, note = failure.error.code, f"{failure.error.why}. {failure.error.fix}"
        except HaltpointError as error:
            outcome, note = error.code, f"{error.why}. {error.fix}"
        return Finding(trial.what, outcome, time.monotonic() - begun, note), reply


def _back(reply: Reply, message: Message) -> _Trial:
    """The model's own message goes back, with a result for each call."""
    ids = [call.id or f"call_{number}" for number, call in enumerate(reply.calls)]
    results = [{"role": "tool", "tool_call_id": name, "content": "Noted."} for name in ids]
    prompt = Prompt((*_APPLE, {**message, "role": "assistant"}, *results), (_note(),))
    what = "takes its own message back, with results"
    return _Trial(what, prompt, lambda reply: bool(reply.content or reply.calls))


def _passed(trial: _Trial, reply: Reply) -> bool:
    try:
        return trial.is_passed(reply)
    except ValueError:
        return False


def _words(reply: Reply) -> str:
    calls = [f"{call.name}({call.arguments})" for call in reply.calls]
    return " ".join(" ".join([reply.content, *calls]).split())[:80]
