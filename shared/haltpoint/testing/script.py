r"""What a scripted model says: a list of rules, the first that fits answers. Pure; the server is in `script_model`.

    {"model": "contacts", "rules": [
      {"when": {"thought": "plan", "goal": "^Tell (?P<name>\\w+) (?P<words>.+)"},
       "say": {"plan": {"steps": [...]}}},
      {"when": {"thought": "act", "without": ["lookup_contacts"]},
       "say": {"calls": [{"name": "lookup_contacts", "arguments": {"query": "{{goal.name}}"}}]}},
      {"when": {"thought": "act"}, "times": 1, "fault": {"status": 429, "retry_after": 1}},
      {"when": {"thought": "act", "results": ["lookup_contacts"]}, "delay": 0.5,
       "say": {"calls": [{"name": "send_message", "arguments": {
           "recipient_id": "{{results.lookup_contacts.data.contact_id}}", "content": "{{goal.words}}"}}]}}]}

`when`, all of it optional: thought (one or a list of intent, plan, act, reason, route, answer), step, turn, attempt;
goal, last and system are regular expressions, searched in the goal, in the last message of the user, and in what comes
before all messages, which begins with an agent's own prompt; results and without name tools that have or have not
answered yet; result gives, by dotted path, regular expressions for values of the last result (any case).
`say`: content (text, or JSON that is written as text), plan (JSON as text), calls (native, or with "native": false as
JSON in the content). `fault`: status (with retry_after and words), cut (the connection breaks off) or malformed (no
JSON). `delay` in seconds. `times`: how often the rule answers; after that it is passed over.

A thought about the goal (intent) is answered by rules that name it. Without one the goal asks, where that is needed,
for each tool that the script calls.

{{...}} is replaced: goal.<group> and last.<group> are named groups of the expressions, result.<path> is in the last
result, results.<tool>.<path> in the last one of a tool; `|` separates alternatives, the first that exists counts.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Final, Protocol, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from haltpoint.contracts.doors import Form
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.testing.conversation import Conversation

_TEMPLATE: Final = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")


class When(Form):
    """Which requests a rule answers; what is not given fits everything."""

    thought: ThoughtKind | tuple[ThoughtKind, ...] | None = None
    step: str | None = None
    turn: int | None = None
    attempt: int | None = None
    goal: str | None = None
    last: str | None = None
    system: str | None = None
    results: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    result: dict[str, str] = Field(default_factory=dict)

    @field_validator("goal", "last", "system", "result")
    @classmethod
    def _are_expressions(cls, value: str | dict[str, str] | None) -> str | dict[str, str] | None:
        for expression in value.values() if isinstance(value, dict) else (value or "",):
            try:
                re.compile(expression)
            except re.error as error:
                raise ValueError(f"{expression!r} is not a regular expression: {error}") from error
        return value


class SaidCall(Form):
    """One call that the model makes."""

    name: str
    arguments: Any = Field(default_factory=dict)


class Say(Form):
    """What the model answers."""

    content: Any = None
    plan: Any = None
    calls: tuple[SaidCall, ...] = ()
    native: bool = True


class Trouble(Form):
    """What goes wrong instead of an answer."""

    status: int | None = Field(default=None, ge=400, le=599)
    retry_after: str | float | None = None
    words: str = "the script says so"
    cut: bool = False
    malformed: bool = False


class Rule(Form):
    """When to say what, how often and how fast."""

    when: When = When()
    say: Say | None = None
    fault: Trouble | None = None
    delay: float = Field(default=0.0, ge=0)
    times: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _does_one_thing(self) -> Self:
        if (self.say is None) == (self.fault is None):
            raise ValueError("a rule has either say or fault")
        return self


class Script(Form):
    """A whole script."""

    model: str = "scripted"
    rules: tuple[Rule, ...]

    @classmethod
    def read(cls, path: Path) -> Self:
        """From a JSON file, or one that comes with Haltpoint when `path` is its bare name, as `contacts_good`.

        Raises HaltpointError HP-041.
        """
        scripts = resources.files("haltpoint.testing") / "scripts"
        ready_made = scripts / f"{path}.json"
        chosen = ready_made if ready_made.is_file() and not path.is_file() else path
        try:
            return cls.model_validate_json(chosen.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            names = sorted(one.name.removesuffix(".json") for one in scripts.iterdir())
            fix = f"Name a JSON file, or one of: {', '.join(names)}"
            raise HaltpointError("HP-041", f"the script {path} cannot be read", str(error), fix) from error
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            why = f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"
            fix = "Correct it; haltpoint.testing.script says how"
            raise HaltpointError("HP-041", f"{path} is not a script", why, fix) from None


class Speaker(Protocol):
    """The voice of a model: a script, or a program in its place."""

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    def next(self, talk: Conversation) -> tuple[int, Rule, dict[str, Any]] | None:
        """What is answered: a number for the record, a rule, and what its templates may refer to; None: nothing."""


@dataclass(slots=True)
class Following:
    """A script being followed: counts how often each rule has answered."""

    script: Script
    used: dict[int, int] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """The model's name."""
        return self.script.model

    def next(self, talk: Conversation) -> tuple[int, Rule, dict[str, Any]] | None:
        """The first rule that fits, its number, and what its templates may refer to; None when there is none."""
        about_goal = talk.thought == ThoughtKind.INTENT
        for number, rule in enumerate(self.script.rules):
            if about_goal and rule.when.thought is None:
                continue
            values = _fits(rule.when, talk)
            if values is not None and (rule.times is None or self.used.get(number, 0) < rule.times):
                self.used[number] = self.used.get(number, 0) + 1
                return number, rule, values
        called = {call.name for rule in self.script.rules if rule.say is not None for call in rule.say.calls}
        return (len(self.script.rules), Rule(say=reads(talk, called)), {}) if about_goal else None


def reads(talk: Conversation, tools: Collection[str]) -> Say:
    """What a goal asks for, for scripts that do not say it: any of these tools, where it is needed."""
    named = [name for name in talk.shown if name in tools]
    entry = {"tools": named, "words": talk.goal, "when": talk.goal}
    return Say(content={"effects_asked": [entry] if named else [], "ask_before": [], "forbidden": []})


def fill(value: Any, values: Mapping[str, Any]) -> Any:
    """The value with its templates replaced; a text that is one template alone becomes the value with its type.

    Raises KeyError with the template that refers to nothing.
    """
    if isinstance(value, dict):
        return {key: fill(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [fill(item, values) for item in value]
    if not isinstance(value, str):
        return value
    if whole := _TEMPLATE.fullmatch(value):
        return _look_up(whole[1], values)
    return _TEMPLATE.sub(lambda match: str(_look_up(match[1], values)), value)


def _fits(when: When, talk: Conversation) -> dict[str, Any] | None:
    kinds: Sequence[ThoughtKind] = (when.thought,) if isinstance(when.thought, ThoughtKind) else when.thought or ()
    latest = dict(talk.results)
    goal = re.search(when.goal, talk.goal) if when.goal is not None else None
    last = re.search(when.last, talk.last) if when.last is not None else None
    values = {
        "goal": goal.groupdict() if goal else {},
        "last": last.groupdict() if last else {},
        "result": talk.results[-1][1] if talk.results else {},
        "results": latest,
    }
    fits = (
        (not kinds or talk.thought in {kind.value for kind in kinds})
        and when.step in (None, talk.step)
        and when.turn in (None, talk.turn)
        and when.attempt in (None, talk.attempt)
        and (when.goal is None or goal is not None)
        and (when.last is None or last is not None)
        and (when.system is None or re.search(when.system, talk.system) is not None)
        and all(tool in latest for tool in when.results)
        and not any(tool in latest for tool in when.without)
        and all(_matches(path, wanted, values["result"]) for path, wanted in when.result.items())
    )
    return values if fits else None


def _matches(path: str, wanted: str, result: Any) -> bool:
    try:
        return re.fullmatch(wanted, str(_walk(path, result)), re.IGNORECASE) is not None
    except KeyError:
        return False


def _look_up(expression: str, values: Mapping[str, Any]) -> Any:
    for path in expression.split("|"):
        try:
            return _walk(path.strip(), values)
        except KeyError:
            continue
    raise KeyError(expression)


def _walk(path: str, value: Any) -> Any:
    for name in path.split("."):
        if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, Mapping) and name in value:
            value = value[name]
        else:
            raise KeyError(path)
    if value is None:
        raise KeyError(path)
    return value
