"""How well a check of an answer's words tells made-up deeds from honest texts (CONTRACT F3), by set, kind and language.

The texts are tests/data/claims/*.yaml, in YAML's JSON form. A set says who wrote it and whether the rules of the hint
were written with it; a group says which tools there are, which deeds the goal asks for, what has succeeded, and whether
its texts claim what was not done.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx

from haltpoint.chain.turns.thinking import unproven
from haltpoint.chain.words import hint
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.results import NextAction, Outcome
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import Finding, ThoughtKind
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint_planner.chat_completions import ChatCompletions
from haltpoint_planner.model import Model
from haltpoint_planner.prompting import prompts, verifying
from haltpoint_planner.prompting.context import Context, Receipt

PLACE: Final = Path(__file__).parents[3] / "tests" / "data" / "claims"
AT_ONCE: Final = 4
"""Texts that a model looks at at a time."""

_OK: Final = Outcome(success=True, next_action=NextAction.CONTINUE)
_HOUR: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Text:
    """One text and what is true of it."""

    set: str
    held_out: bool
    kind: str
    language: str
    text: str
    claims: bool
    tools: dict[str, ToolSpec] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    succeeded: tuple[str, ...] = ()
    data: str = ""
    goal: str = ""

    @property
    def looked_for(self) -> tuple[str, ...]:
        """The tools with effects that the goal asks for and that have not succeeded."""
        return tuple(name for name in self.asked if name not in self.succeeded and not self.tools[name].read_only)

    @property
    def context(self) -> Context:
        """What a check that reads is given."""
        request = ThoughtRequest(
            thought_id="c.verify.t0.1",
            kind=ThoughtKind.VERIFY,
            words=self.text,
            deadline=int(time.time() * 1000) + _HOUR,
        )
        receipts = tuple(
            Receipt("s1", tool, "{}", _OK, self.data or "{}", f"c.s1.{number}")
            for number, tool in enumerate(self.succeeded, start=1)
        )
        effects = {name: spec for name, spec in self.tools.items() if not spec.read_only}
        return Context(request, Task(goal=self.goal or "Do what is to be done."), receipts=receipts, tools=effects)


@dataclass(slots=True)
class Count:
    """Texts by what they are and what the check said."""

    honest: int = 0
    made_up: int = 0
    flagged: int = 0
    found: int = 0

    def add(self, text: Text, *, alarm: bool) -> None:
        """Count one text."""
        if text.claims:
            self.made_up += 1
            self.found += alarm
        else:
            self.honest += 1
            self.flagged += alarm

    def as_json(self) -> dict[str, Any]:
        """The numbers, with precision and recall; null where there is nothing to divide by."""
        alarms = self.found + self.flagged
        return {
            "honest": self.honest,
            "honest_flagged": self.flagged,
            "made_up": self.made_up,
            "made_up_found": self.found,
            "precision": round(self.found / alarms, 4) if alarms else None,
            "recall": round(self.found / self.made_up, 4) if self.made_up else None,
        }


Alarm = Callable[[Text], Awaitable[bool]]


def read(place: Path = PLACE) -> list[Text]:
    """All texts of all sets; none where the sets are not installed."""
    found: list[Text] = []
    for path in sorted(place.glob("*.yaml")):
        said = json.loads(path.read_text(encoding="utf-8"))
        for group in said["groups"]:
            tools = {one["name"]: ToolSpec(**one) for one in group.get("tools", said["tools"])}
            found += [
                Text(
                    set=said["set"],
                    held_out=said["held_out"],
                    kind=group["kind"],
                    language=group["language"],
                    text=text,
                    claims=group["claims"],
                    tools=tools,
                    asked=tuple(group.get("asked", ())),
                    succeeded=tuple(group.get("succeeded", ())),
                    data=group.get("data", ""),
                    goal=group.get("goal", ""),
                )
                for text in group["texts"]
            ]
    return found


async def by_hint(text: Text) -> bool:
    """What the runtime's own hint says."""
    return bool(hint.claims(text.text, text.looked_for))


def by_function(path: str) -> Alarm:
    """What an operator's function says. Raises HaltpointError when there is none."""
    check = verifying.load(path)

    async def alarm(text: Text) -> bool:
        return _alarm(text, await verifying.run(check, verifying.case_of(text.context)))

    return alarm


def by_model(model: Model, name: str) -> Alarm:
    """What a model says that is asked as the planner asks it."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def alarm(text: Text) -> bool:
        context = text.context
        async with gate:
            reply = await model.ask(name, prompts.build(context), context.request)
        return _alarm(text, verifying.findings_in(reply))

    return alarm


async def measure(texts: Sequence[Text], check: str, settings: ModelSettings) -> list[bool]:
    """Whether the check named so raises an alarm, for each text. Raises HaltpointError."""
    async with httpx.AsyncClient() as http:
        alarm = {
            "hint": by_hint,
            "model": by_model(ChatCompletions(settings, http), settings.chosen(another=False)),
        }.get(check) or by_function(check)
        return await asyncio.gather(*map(alarm, texts))


def figures(texts: Iterable[Text], alarms: Iterable[bool]) -> dict[str, dict[str, Count]]:
    """The counts by set, by kind (`set: kind`) and by language."""
    found: dict[str, dict[str, Count]] = {"sets": {}, "kinds": {}, "languages": {}}
    for text, alarm in zip(texts, alarms, strict=True):
        places = (("sets", text.set), ("kinds", f"{text.set}: {text.kind}"), ("languages", text.language))
        for table, name in places:
            found[table].setdefault(name, Count()).add(text, alarm=alarm)
    return found


def _alarm(text: Text, findings: Sequence[Finding]) -> bool:
    done = {f"c.s1.{number}" for number in range(1, len(text.succeeded) + 1)}
    return bool(unproven(text.text, findings, done))
