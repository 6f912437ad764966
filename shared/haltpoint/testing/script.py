"""What a scripted model says: a list of rules, the first that fits answers. docs/guides/testing.md
shows the format. Pure; the server is in `script_model`.
"""

import re
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final, Protocol, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from haltpoint.contracts.doors import Form
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.faults import in_words_of_json
from haltpoint.testing.conversation import Conversation

_BOUNDS: Final = ("required_tools", "optional_tools", "ask_before", "forbidden", "conditions")
_TEMPLATE: Final = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")


def _is_expression(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"{value!r} is not a regular expression: {error}") from error
    return value


Expression = Annotated[str, AfterValidator(_is_expression)]


def _several(given: object) -> object:
    return [given] if isinstance(given, str) else given


class When(Form):
    """Which requests a rule answers; what is not given fits everything."""

    thought: Annotated[tuple[ThoughtKind, ...], BeforeValidator(_several)] = ()
    step: str | None = None
    turn: int | None = None
    attempt: int | None = None
    goal: Expression = ""
    last: Expression = ""
    system: Expression = ""
    results: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    result: dict[str, Expression] = Field(default_factory=dict)

    def fits(self, talk: Conversation) -> bool:
        """Whether a request is one of these."""
        if self.thought and talk.thought not in self.thought:
            return False
        for name in ("step", "turn", "attempt"):
            if getattr(self, name) not in (None, getattr(talk, name)):
                return False
        for name in ("goal", "last", "system"):
            if not re.search(getattr(self, name), getattr(talk, name)):
                return False
        answered = set(talk.answered)
        if not answered.issuperset(self.results):
            return False
        if answered.intersection(self.without):
            return False
        result = talk.result
        return all(_matches(path, wanted, result) for path, wanted in self.result.items())

    def values(self, talk: Conversation) -> dict[str, Any]:
        """What the templates of a rule may refer to."""
        named = re.search(self.goal, talk.goal)
        return {
            "goal": named.groupdict() if named else {},
            "result": talk.result,
            "results": dict(talk.results),
        }


class SaidCall(Form):
    """One call that the model makes."""

    name: str
    arguments: Any = Field(default_factory=dict)


class Say(Form):
    """What the model answers."""

    content: Any = None
    plan: Any = None
    calls: tuple[SaidCall, ...] = ()


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
    times: int = Field(default=sys.maxsize, ge=1)

    @property
    def calls(self) -> tuple[SaidCall, ...]:
        """The calls that it makes."""
        return self.say.calls if self.say else ()

    def filled(self, values: Mapping[str, Any]) -> Self:
        """With its templates replaced. Raises KeyError with one that refers to nothing."""
        if self.say is None:
            return self
        said = Say.model_validate(fill(self.say.model_dump(), values))
        return self.model_copy(update={"say": said})

    @model_validator(mode="after")
    def _does_one_thing(self) -> Self:
        if (self.say is None) == (self.fault is None):
            raise ValueError("a rule has either say or fault")
        return self


SCRIPTS: Final = resources.files("haltpoint.testing") / "scripts"


class Script(Form):
    """A whole script."""

    model: str = "scripted"
    rules: tuple[Rule, ...]

    @property
    def known(self) -> str:
        """The goals that it answers, as the end of a sentence."""
        goals = dict.fromkeys(rule.when.goal for rule in self.rules if rule.when.goal)
        return f"; it answers goals that match {' or '.join(goals)}" if goals else ""

    @classmethod
    def read(cls, path: Path) -> Self:
        """From a JSON file, or one that comes with Haltpoint when `path` is its bare name, as
        `contacts_good`.

        Raises HaltpointError HP-041.
        """
        chosen = path if path.is_file() else SCRIPTS / f"{path}.json"
        try:
            text = chosen.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            names = sorted(script.name.removesuffix(".json") for script in SCRIPTS.iterdir())
            fix = f"Name a JSON file, or one of: {', '.join(names)}"
            why = error.strerror if isinstance(error, OSError) else error.reason
            raise HaltpointError(
                "HP-041", f"the script {path} cannot be read", str(why), fix
            ) from error
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the file"
            fix = "See https://github.com/haltpoint/haltpoint/blob/main/docs/guides/testing.md"
            raise HaltpointError(
                "HP-041", f"{path} is not a script", f"{place}: {in_words_of_json(first)}", fix
            ) from None


class Speaker(Protocol):
    """The voice of a model: a script, or a program in its place."""

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    def next(self, talk: Conversation) -> Rule | None:
        """What is answered; None: nothing. Raises KeyError with a template that refers to
        nothing.
        """


@dataclass(slots=True)
class Following:
    """A script being followed."""

    script: Script
    # How often each rule has answered.
    used: Counter[int] = field(default_factory=Counter)

    @property
    def model(self) -> str:
        """The model's name."""
        return self.script.model

    def next(self, talk: Conversation) -> Rule | None:
        """The first rule that fits, with its templates filled in; None when no rule fits. Raises
        KeyError.
        """
        about_goal = talk.thought == ThoughtKind.BOUNDS
        for number, rule in enumerate(self.script.rules):
            is_for_it = rule.when.thought or not about_goal
            if is_for_it and self.used[number] < rule.times and rule.when.fits(talk):
                self.used[number] += 1
                return rule.filled(rule.when.values(talk))
        return self._read(talk) if about_goal else None

    def _read(self, talk: Conversation) -> Rule:
        """What a goal asks of tools, for scripts that do not say it: all that they call may be
        called.
        """
        called = {call.name for rule in self.script.rules for call in rule.calls}
        return Rule(
            say=Say(content=bounds(optional=[name for name in talk.shown if name in called]))
        )


def bounds(**lists: list[str]) -> dict[str, list[str]]:
    """A reading of a goal: `required`, `optional`, `ask_before`, `forbidden`, `conditions`."""
    return {name: lists.get(name.removesuffix("_tools"), []) for name in _BOUNDS}


def fill(value: Any, values: Mapping[str, Any]) -> Any:
    """The value with its templates replaced; a text that is one template alone becomes the value
    with its type.

    Raises KeyError with the template that refers to nothing.
    """
    if isinstance(value, dict):
        return {key: fill(item, values) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [fill(item, values) for item in value]
    if not isinstance(value, str):
        return value
    if whole := _TEMPLATE.fullmatch(value):
        return _look_up(whole[1], values)
    return _TEMPLATE.sub(lambda match: str(_look_up(match[1], values)), value)


def _matches(path: str, wanted: str, result: Any) -> bool:
    try:
        value = str(_walk(path, result))
    except KeyError:
        return False
    return re.fullmatch(wanted, value, re.IGNORECASE) is not None


def _look_up(expression: str, values: Mapping[str, Any]) -> Any:
    for path in expression.split("|"):
        try:
            return _walk(path.strip(), values)
        except KeyError:
            continue
    raise KeyError(expression)


def _walk(path: str, value: Any) -> Any:
    try:
        for name in path.split("."):
            value = value[int(name)] if isinstance(value, list) else value[name]
    except (LookupError, TypeError, ValueError):
        value = None
    if value is None:
        raise KeyError(path)
    return value
