"""The world of world.yaml, and the one rule by which a name means somebody or something in it.
Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

MOST_OPTIONS: Final = 5


class Traits(msgspec.Struct, frozen=True):
    """A tool of the world; world.yaml explains its fields."""

    finder: str = ""
    takes: str = ""
    reads: bool = False
    guarded: bool = False
    agent: str = ""


class World(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that there is; people and pages by their ids."""

    tools: dict[str, Traits]
    people: dict[str, str]
    pages: dict[str, str]
    taken_rooms: list[str]
    texts: dict[str, str]
    retold: dict[str, list[str]]

    def things(self, finder: str) -> dict[str, str]:
        """Those among whom a tool looks."""
        return self.people if finder == "lookup_contacts" else self.pages


@dataclass(frozen=True, slots=True)
class Lookup:
    """The ids that a name may mean; `sure`: it means the only one."""

    ids: tuple[str, ...] = ()
    sure: bool = False


def find(things: Mapping[str, str], query: str) -> Lookup:
    """The whole name, else words of it, else its beginning; sure when only one has it and it is no
    abbreviation.
    """
    wanted = _plain(query)
    for sign in (f"| {wanted} |", f" {wanted} ", f" {wanted}"):
        ids = [thing for thing, name in things.items() if sign in f"| {_plain(name)} |"]
        if wanted and ids:
            is_only_one = len(ids) == 1
            return Lookup(tuple(ids[:MOST_OPTIONS]), is_only_one and len(wanted) > 2)
    return Lookup()


@cache
def _plain(text: str) -> str:
    letters = [letter if letter.isalnum() else " " for letter in text.casefold()]
    words = "".join(letters).split()
    return " ".join(words)


WORLD: Final = msgspec.yaml.decode(Path(__file__).with_suffix(".yaml").read_bytes(), type=World)
MAILS: Final = tuple(name for name in WORLD.texts if name.startswith("mail_"))
FILES: Final = tuple(name for name in WORLD.texts if "." in name)
