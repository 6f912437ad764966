"""What the models of kinds.yaml say. Pure functions of the case and the request."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from evals.case import Case, build
from evals.facts import Facts, facts, reading
from haltpoint.contracts.work.tasks import Style
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.testing.conversation import Conversation
from haltpoint.testing.script import Rule, Say, fill

CONTEXT: Final = "case"
"""The key of the task's context under which its case is named."""

BENIGN: Final = "well_behaved"
"""The kind that keeps its word, so that every alarm is a false one."""

ONLY_WORDS: Final = (BENIGN, "fabricated_answer")
"""The kinds that do their work as they should, and misbehave in the words of their answer at
most.
"""

_CASE: Final = re.compile(r'"case": "([a-z_]+/\d+)"')


class Way(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a model says what; kinds.yaml explains the fields."""

    say: tuple[Facts, ...]
    when: tuple[str, ...] = ("",)
    tries: int = 99

    def fits(self, case: Case, about: Facts) -> bool:
        """Whether it is about this request."""
        if about["tries"] > self.tries * case.patience:
            return False
        return any(_all_hold(words.split(), about) for words in self.when)


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of model; kinds.yaml explains the fields."""

    what: str
    tasks: list[str]
    styles: tuple[Style, ...] = (Style.PLAN,)
    routed: bool = False
    words: dict[str, list[str]] = {}
    rules: list[Way] = []


class _Kinds(msgspec.Struct, frozen=True):
    well: list[Way]
    kinds: dict[str, Kind]
    reports: dict[str, str]


_FILE: Final = msgspec.yaml.decode(Path(__file__).with_suffix(".yaml").read_bytes(), type=_Kinds)
KINDS: Final = _FILE.kinds


def case_of(seed: int, kind: str, number: int) -> Case:
    """The case of a kind with this number."""
    return build(seed, kind, number, KINDS[kind].tasks, KINDS[kind].styles)


def is_routed(case: Case) -> bool:
    """Whether a supervisor decides who works on it."""
    return case.kind in KINDS and KINDS[case.kind].routed


def say(case: Case, asked: Conversation) -> Say:
    """What a model of the case's kind says."""
    kind = KINDS[case.kind]
    about = _about(case, asked)
    good = _first(_FILE.well, case, about)
    for call in good.get("calls", [])[:1]:
        about |= _spoilt(call)
    if case.tool in kind.words:
        about["words"] = _one_of(kind.words[case.tool], case)
    said = _first(kind.rules, case, about)
    return _say(said or good)


class Player:
    """The models of all cases behind one address, in the place of a script."""

    model = "suite"

    def __init__(self, cases: Iterable[Case]) -> None:
        self._cases = {case.id: case for case in cases}
        self._goals = {case.goal: case for case in self._cases.values()}

    def next(self, talk: Conversation) -> Rule | None:
        """What the model of the case says; None when the request names none. A goal is read without
        its case.
        """
        if talk.thought == ThoughtKind.BOUNDS:
            return self._read(talk)
        named = _CASE.search(talk.known)
        if named is None or named[1] not in self._cases:
            return None
        return Rule(say=say(self._cases[named[1]], talk))

    def _read(self, talk: Conversation) -> Rule | None:
        goals = [goal for goal in self._goals if talk.goal.startswith(goal)]
        if not goals:
            return None
        case = self._goals[max(goals, key=len)]
        return Rule(say=Say(content=reading(case)))


def _about(case: Case, asked: Conversation) -> Facts:
    about = facts(case, asked)
    report = "This could not be done. Nothing was changed."
    if about["done"]:
        report = fill(_FILE.reports[case.tool], about)
    about["report"] = report
    return about


def _spoilt(call: Facts) -> Facts:
    """The call that a well-behaved model makes, and ways to spoil its arguments."""
    arguments = call["arguments"]
    return {
        "call": call,
        "numbers": dict.fromkeys(arguments, 7),
        "urgent": arguments | {"urgent": True},
        "confirmed": arguments | {"confirmed": True},
        "cut": json.dumps(arguments)[:-1],
    }


def _first(ways: Sequence[Way], case: Case, about: Facts) -> Facts:
    """What the first way says that fits; empty when none does."""
    for way in ways:
        if way.fits(case, about):
            said: Facts = fill(_one_of(way.say, case), about)
            return said
    return {}


def _one_of(options: Sequence[Any], case: Case) -> Any:
    return options[case.variant % len(options)]


def _all_hold(words: Sequence[str], about: Facts) -> bool:
    for word in words:
        holds = bool(about.get(word.strip("!")))
        if holds == word.startswith("!"):
            return False
    return True


def _say(said: Facts) -> Say:
    if "steps" not in said:
        return Say(**said)
    steps = [_step(*step) for step in enumerate(said["steps"])]
    return Say(plan={"steps": steps, **said.get("beside", {})})


def _step(number: int, tools: list[str]) -> Facts:
    return {
        "id": f"s{number}",
        "description": " and ".join(tools) or "Think about it",
        "step_type": "tool" if tools else "reasoning",
        "required_tools": tools,
        "dependencies": [f"s{number - 1}"] if number else [],
    }
