"""The line that says what a call did (CONTRACT F1): written by the runtime, from the arguments that ran and the data.

The words are the author's (`says`), else the tool's title, its target and its plain arguments. A value can neither
break a line nor forge one: it is quoted, has no quotation mark, line break, backtick or `[[` of its own, secrets are
starred, and what is invisible is spelt out.
"""

import re
import unicodedata
from collections.abc import Mapping
from string import Formatter
from typing import Any, Final

from haltpoint.chain.checks import human_tool
from haltpoint.chain.model.canonical import UNSEEN, words_of
from haltpoint.chain.model.references import read_json, write_json
from haltpoint.chain.model.schemas import declared
from haltpoint.contracts.results import DeedWords
from haltpoint.contracts.secrets import STARS, names_secret, without_secrets
from haltpoint.contracts.tools import ToolSpec

MOST_SHOWN: Final = 80  # characters of one value
MOST_NAMED: Final = 5  # arguments that are named where the author gave no words
_LONGEST: Final = 1000
_MARKUP: Final = str.maketrans({'"': "'", "\uff02": "'", "`": "'"})
_HIDDEN: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn"))


def deed_of(spec: ToolSpec, arguments: str, data: str) -> DeedWords | None:
    """What a successful call did; None when it had no effect, or when other calls had it: those inside of a skill.
    `arguments` (those that ran) and `data` are JSON text.
    """
    if spec.read_only or spec.plan is not None or spec.name == human_tool.NAME:
        return None
    return DeedWords(says=deed_line(spec, arguments, data), target=target_in(spec, arguments))


def target_in(spec: ToolSpec, arguments: str) -> str | None:
    """Whom or what a call is about, as its deed says it; None when it has no target. `arguments` are JSON text."""
    given = _object(arguments)
    name = _target(spec, given)
    return None if name is None else shown(name, given[name]).strip('"')


def deed_line(spec: ToolSpec, arguments: str, data: str) -> str:
    """What a call did, in one line."""
    given = _object(arguments)
    line = _title(spec, given) if spec.says is None else _filled(spec, given, data)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _filled(spec: ToolSpec, given: Mapping[str, Any], data: str) -> str:
    parameters = spec.parameters.get("properties", {})
    known = dict(declared(spec.parameters, "default"))
    known |= {name: value for name, value in given.items() if name in parameters}
    parts = list(Formatter().parse(spec.says or ""))
    if any(name and name not in parameters for _, name, *_ in parts):
        known |= {name: one for name, one in _object(data).items() if name not in parameters}
    return "".join(text + ("" if name is None else shown(name, known.get(name, ...))) for text, name, *_ in parts)


def _title(spec: ToolSpec, given: Mapping[str, Any]) -> str:
    """The first sentence of the description, else the name in words; then the target, and other plain arguments."""
    first = re.split(r"(?<=[^.])[.!?](?:\s|$)|\n", spec.description.strip(), maxsplit=1)[0]
    title = _visible(first) or words_of(spec.name).replace("_", " ").strip().capitalize() or _visible(spec.name)
    target = _target(spec, given)
    plain = [name for name, value in given.items() if not isinstance(value, dict | list | None)]
    names = list(dict.fromkeys(plain if target is None else (target, *plain)))
    told = [f"{_visible(name)} {shown(name, given[name])}" for name in names[:MOST_NAMED]]
    told += ["…"] if len(names) > MOST_NAMED else []
    return f"{title}: {', '.join(told)}" if told else title


def shown(name: str, value: Any) -> str:
    """A value in a line: texts are quoted; `...` stands for one that nobody knows."""
    if value is ...:
        return "…"
    if value is None:
        return "–"
    if names_secret(name):
        return STARS
    if isinstance(value, bool | int | float):
        return _visible(write_json(value))
    plain = isinstance(value, list) and not any(isinstance(one, dict | list) for one in value)
    parts = (one if isinstance(one, str) else write_json(one) for one in (value if plain else [value]))
    return f'"{_visible(", ".join(parts))}"'


def _visible(text: str) -> str:
    """One line of text in which nothing is hidden and nothing is markup, cut."""
    line = " ".join(without_secrets(text[: 8 * MOST_SHOWN]).split()).translate(_MARKUP)
    line = re.sub(r"\[(?=\[)", "[ ", line)
    line = spelt_out(line)
    return line if len(line) <= MOST_SHOWN else f"{line[: MOST_SHOWN - 1]}…"


def spelt_out(line: str) -> str:
    """The same line with what is invisible in it spelt out."""
    return line if line.isascii() and line.isprintable() else "".join(map(_spelt, line))


def _spelt(sign: str) -> str:
    if unicodedata.category(sign) not in _HIDDEN and not UNSEEN.match(sign):
        return sign
    return f"\\u{ord(sign):04x}" if sign <= "\uffff" else f"\\U{ord(sign):08x}"


def _target(spec: ToolSpec, given: Mapping[str, Any]) -> str | None:
    """The parameter that says whom or what the call is about: the first marked one that is given."""
    marked = (re.split(r"[.\[{]", place, maxsplit=1)[0] for place in (*spec.provenance, *spec.targets))
    filled = (name for name in marked if given.get(name) not in (None, "", []))
    return next((name for name in filled if not isinstance(given[name], dict)), None)


def _object(text: str) -> dict[str, Any]:
    value = read_json(text or "{}")
    return value if isinstance(value, dict) else {}
