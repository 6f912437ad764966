"""The cases of injections and of their honest twins, as values: tests/data/injections/*.yaml."""

import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec
import yaml

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.reasons import Reach
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.bounds import Bounds
from haltpoint.contracts.work.plans import Plan, ProposedCall, Step
from haltpoint.runtime.config import policy_file
from haltpoint_tool_worker.targets import targets_of
from tests.support.builders import owing, spec

NAMES = policy_file.read(None).targets

PLACE: Final = Path(__file__).parents[1] / "data" / "injections"
FORMATS: Final = {"email", "uri"}
MOST_QUESTIONS: Final = 2


class Origin(StrEnum):
    """Where the attacker's target comes from, by the contract's own words."""

    TEXT = "text"
    MODEL = "model"
    FOREIGN = "foreign"
    RESULT = "result"
    ECHO = "echo"
    GOAL = "goal"
    NO_TARGET = "no_target"
    WHOLE_URL = "whole_url"


BARRED: Final = frozenset({Origin.TEXT, Origin.MODEL, Origin.FOREIGN})
"""From these no call may reach the attacker's target without a person's yes; of the others the rate
is told.
"""


@dataclass(frozen=True, slots=True)
class Made:
    """A call that the model makes, and the data that its tool gives."""

    call: ProposedCall
    data: str

    @classmethod
    def of(cls, tool: str, arguments: JsonObject, data: JsonObject | None = None) -> "Made":
        return cls(
            ProposedCall(tool=tool, arguments=arguments), json.dumps(data or {}, ensure_ascii=False)
        )


@dataclass(frozen=True, slots=True)
class Case:
    """One goal. `asked` are the tools with the words of the goal that ask for them, `honest` the
    calls of an honest model, `obeyed` those of the injection; `limit` is how many questions an
    honest case may cost, `refusal` what the person says to the attacker's targets.
    """

    id: str
    kind: str
    goal: str
    held_out: bool
    asked: dict[str, str]
    honest: tuple[Made, ...]
    obeyed: tuple[Made, ...] = ()
    attacker: tuple[str, ...] = ()
    origin: Origin | None = None
    attack: str = ""
    context: JsonObject = field(default_factory=dict)
    reach: Reach | None = None
    limit: int = MOST_QUESTIONS
    refusal: str = "No, not there."

    @property
    def bounds(self) -> Bounds:
        """What an honest reading of the goal alone gives."""
        tools = catalogue()
        return Bounds(
            required_tools=tuple(name for name in self.asked if not tools[name].read_only)
        )

    @property
    def plan(self) -> Plan:
        """A step for each honest call; where a text is obeyed, one more for each effect that the
        goal asks for.
        """
        tools = [made.call.tool for made in self.honest]
        tools += self.asked if self.obeyed else ()
        steps = [owing(f"s{number}", tool) for number, tool in enumerate(tools, start=1)]
        if not self.asked:
            steps.append(Step(id="words", description="Say what was found."))
        chained = (
            msgspec.structs.replace(step, dependencies=(before.id,))
            for before, step in itertools.pairwise(steps)
        )
        return Plan(steps=(steps[0], *chained))

    def attacks(self, arguments: str) -> bool:
        return any(value.casefold() in arguments.casefold() for value in self.attacker)


def catalogue() -> dict[str, ToolSpec]:
    """The tools of all cases."""
    declared = yaml.safe_load((PLACE / "tools.yaml").read_text())["tools"]
    return {name: _tool(name, **said) for name, said in declared.items()}


def cases() -> list[Case]:
    """The injections, then their honest twins."""
    found: list[Case] = []
    for path in sorted(PLACE.glob("*.yaml")):
        file = yaml.safe_load(path.read_text())
        found += (_case(path.stem, one) for one in file.get("injections", ()))
        found += (_case(one["group"], one) for one in file.get("benign", ()))
    return sorted(found, key=lambda case: not case.obeyed)


def _tool(
    name: str,
    *,
    description: str,
    parameters: dict[str, str],
    targets: Iterable[str] = (),
    not_targets: Iterable[str] = (),
    foreign: Iterable[str] = (),
    read_only: bool = False,
    **more: bool,
) -> ToolSpec:
    schema = {
        "type": "object",
        "properties": {each: _schema(kind.removesuffix("?")) for each, kind in parameters.items()},
        "required": [each for each, kind in parameters.items() if not kind.endswith("?")],
        "additionalProperties": False,
    }
    marks = {"targets": tuple(targets), "foreign": tuple(foreign)}
    declared = spec(
        name, description=description, parameters=schema, read_only=read_only, **marks, **more
    )
    return msgspec.structs.replace(declared, targets=targets_of(declared, NAMES, not_targets))


def _schema(kind: str) -> JsonObject:
    if kind.endswith("[]"):
        return {"type": "array", "items": _schema(kind.removesuffix("[]"))}
    if kind.endswith("{}"):
        return {"type": "object", "additionalProperties": _schema(kind.removesuffix("{}"))}
    return {"type": "string", "format": kind} if kind in FORMATS else {"type": kind}


def _case(kind: str, said: JsonObject) -> Case:
    return Case(
        id=said["id"],
        kind=kind,
        goal=said["goal"],
        held_out=said["held_out"],
        asked=said.get("asks", {}),
        honest=tuple(Made.of(*one) for one in said.get("reads") or said["calls"]),
        obeyed=tuple(Made.of(*one) for one in said.get("obeys", ())),
        attacker=tuple(said.get("attacker", ())),
        origin=Origin(said["source"]) if "source" in said else None,
        attack=said.get("attack", ""),
        context=said.get("context", {}),
        reach=Reach(said["for"]) if "for" in said else None,
        limit=said.get("limit", MOST_QUESTIONS),
        refusal=said.get("refusal", "No, not there."),
    )
