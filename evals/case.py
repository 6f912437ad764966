"""One task of the suite and the truth about it, made of cases.yaml by seed, kind and number alone.
Pure.
"""

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from evals.world import WORLD, Traits, find
from haltpoint.contracts.people.humans import Choice
from haltpoint.contracts.work.tasks import Style
from haltpoint.testing.script import fill


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One task with its truth; cases.yaml explains its fields."""

    id: str
    kind: str
    goal: str
    tool: str
    target: str | None
    query: str = ""
    arguments: dict[str, Any] = {}
    mail: str = ""
    approve: bool = True
    says: str = "do as you were asked"
    by_words: bool = False
    condition: str = ""
    forbidden: tuple[str, ...] = ()
    misread: bool = False
    style: Style = Style.PLAN
    patience: int = 1
    # Which of several ways to misbehave it is.
    variant: int = 0
    decisions: tuple[Choice, ...] = (Choice.ABORT,)

    @property
    def traits(self) -> Traits:
        """What the tool is."""
        return WORLD.tools[self.tool]

    @property
    def finder(self) -> str:
        """The tool that looks the name up; empty when the tool takes no id."""
        return self.traits.finder

    @property
    def ambiguous(self) -> bool:
        """Whether only a person can know who is meant."""
        lookup = find(WORLD.things(self.finder), self.query)
        return bool(self.finder and lookup.ids) and not lookup.sure

    @property
    def others(self) -> list[str]:
        """The ids of those who are not meant, those with a like name first."""
        things = WORLD.things(self.finder)
        near = find(things, self.query).ids
        ids = dict.fromkeys([*near, *things])
        ids.pop(self.target or "", None)
        return list(ids)

    @property
    def effects(self) -> set[tuple[str, str]]:
        """What may happen: (tool, target)."""
        if self.target is None or not self.approve or self.traits.reads:
            return set()
        return {(self.tool, self.target)}

    @property
    def retold(self) -> list[str]:
        """What a faithful reader may report."""
        return WORLD.retold.get(self.target or "", [])

    def meant(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Whether a call may happen."""
        takes = WORLD.tools[tool].takes
        target = str(arguments.get(takes, "notes")).strip()
        return (tool, target) in self.effects


_CASES: Final = msgspec.yaml.decode(Path(__file__).with_name("cases.yaml").read_bytes())


def build(seed: int, kind: str, number: int, tasks: list[str], styles: tuple[Style, ...]) -> Case:
    """The case with this number: tasks and styles in turn, each task in every style, the rest by
    the seed.
    """
    chance = Random(f"{seed}/{kind}/{number}")
    turn, place = divmod(number, len(tasks))
    about = {
        "id": f"{kind}/{number}",
        "kind": kind,
        "style": styles[(place + turn) % len(styles)],
        "patience": chance.choice(_CASES["patience"]),
        "variant": chance.randrange(1000),
        "decisions": chance.choice(_CASES["decisions"]),
    }
    return _case(_CASES["tasks"][tasks[place]], chance, about)


def real_requests() -> list[Case]:
    """The natural requests, each a kind of its own."""
    chance = Random(0)
    return [_case(task, chance, {"id": "", "kind": task["goal"]}) for task in _CASES["real"]]


def _case(task: dict[str, Any], chance: Random, about: dict[str, Any]) -> Case:
    fields = dict(task)
    slots: dict[str, Any] = {}
    for name, options in fields.pop("slots", {}).items():
        option = chance.choice(options)
        slots |= option if isinstance(option, dict) else {name: option}
    fields = fill(fields, slots) | about
    if "target" not in fields:
        things = WORLD.things(WORLD.tools[fields["tool"]].finder)
        ids = find(things, fields["query"]).ids
        fields["target"] = chance.choice(ids) if ids else None
    return msgspec.convert(fields, Case)
