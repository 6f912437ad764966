"""The line that says what a call did (CONTRACT F1): written by the runtime, from the arguments that ran and the data.

The words are the author's (`says`), else the tool's name and its arguments. A value can neither break a line nor forge
one: it is quoted, has no quotation mark, line break or backtick of its own, secrets are starred, and what is
invisible is spelt out.
"""

import re
from collections.abc import Mapping
from string import Formatter
from typing import Any, Final

from haltpoint.chain.model.canonical import UNSEEN
from haltpoint.chain.model.references import read_json, write_json
from haltpoint.chain.model.schemas import declared
from haltpoint.contracts.results import DeedWords
from haltpoint.contracts.secrets import STARS, names_secret, without_secrets
from haltpoint.contracts.tools import ASK_HUMAN, ToolSpec

MOST_SHOWN: Final = 80  # characters of one value
MOST_NAMED: Final = 5  # arguments that are named where the author gave no words
_LONGEST: Final = 1000
_MARKUP: Final = str.maketrans({'"': "'", "\uff02": "'", "`": "'"})
_NAME: Final = re.compile(r"[^.\[{]*")


def deed_of(spec: ToolSpec, arguments: str, data: str) -> DeedWords | None:
    """What a successful call did; None when it had no effect, or when other calls had it: those inside of a skill.
    `arguments` (those that ran) and `data` are JSON text.
    """
    if spec.read_only or spec.plan is not None or spec.name == ASK_HUMAN:
        return None
    return deed_words(spec, arguments, data)


def deed_words(spec: ToolSpec, arguments: str, data: str = "{}") -> DeedWords:
    """What a call does, in one line, and whom or what it is about, where it has a target."""
    given = _object(arguments)
    line = _titled(spec, given) if spec.says is None else _filled(spec, spec.says, given, _object(data))
    return DeedWords(says=_cut(line, _LONGEST), target=_target(spec, given))


def _filled(spec: ToolSpec, says: str, given: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    known = {**data, **dict(declared(spec.parameters, "default")), **given}
    line = ""
    for text, name, *_ in Formatter().parse(says):
        line += text if name is None else text + shown(name, known.get(name, ...))
    return line


def _titled(spec: ToolSpec, given: Mapping[str, Any]) -> str:
    """The tool's name, and its arguments."""
    title = spec.name.replace("_", " ").capitalize()
    named = [f"{_visible(name)} {shown(name, value)}" for name, value in given.items()]
    more = ["…"] if len(named) > MOST_NAMED else []
    arguments = ", ".join(named[:MOST_NAMED] + more)
    return f"{title}: {arguments}" if arguments else title


def _target(spec: ToolSpec, given: Mapping[str, Any]) -> str | None:
    """The first marked parameter that is given."""
    for place in (*spec.provenance, *spec.targets):
        name = _NAME.match(place)
        value = given.get(name[0]) if name is not None else None
        if value and name is not None and not isinstance(value, dict):
            return shown(name[0], value).strip('"')
    return None


def shown(name: str, value: Any) -> str:
    """A value in a line: texts are quoted; `...` stands for one that nobody knows."""
    if value is ... or value is None:
        return "…" if value is ... else "–"
    if names_secret(name):
        return STARS
    if isinstance(value, bool | int | float):
        return _visible(write_json(value))
    values = value if isinstance(value, list) else [value]
    parts = [part if isinstance(part, str) else write_json(part) for part in values]
    return f'"{_visible(", ".join(parts))}"'


def _visible(text: str) -> str:
    """One line of text in which nothing is hidden and nothing is markup, cut."""
    line = " ".join(without_secrets(text[: 8 * MOST_SHOWN]).split()).translate(_MARKUP)
    return _cut(spelt_out(line), MOST_SHOWN)


def _cut(line: str, most: int) -> str:
    return line if len(line) <= most else f"{line[: most - 1]}…"


def spelt_out(line: str) -> str:
    """The same line with what is invisible in it spelt out."""
    return "".join(_spelt(sign) if not sign.isprintable() or UNSEEN.match(sign) else sign for sign in line)


def _spelt(sign: str) -> str:
    return f"\\u{ord(sign):04x}" if sign <= "\uffff" else f"\\U{ord(sign):08x}"


def _object(text: str) -> dict[str, Any]:
    value = read_json(text or "{}")
    return value if isinstance(value, dict) else {}
