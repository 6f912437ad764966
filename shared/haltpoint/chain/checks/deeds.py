"""The line that says what a call did (CONTRACT F1): written by the runtime, from the arguments that ran and the data.

The words are the author's (`says`), else the tool's title, its target and its plain arguments. A value can neither
break a line nor forge one: it is quoted, has no quotation mark, line break, backtick or `[[` of its own, secrets are
starred, and what is invisible is spelt out.

Marks in a model's words stand for such a line (F2): `[[send.1]]` for that of the first action of step `send`. A mark
names a step of the chain and a number, outside of code. Anything else in brackets is text: `if [[ -f x ]]`, `[[1.5]]`.
"""

import re
import unicodedata
from collections.abc import Callable, Container, Mapping
from string import Formatter
from typing import Any, Final

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.goal import with_effects
from haltpoint.chain.checks.places import FORMATS, is_named
from haltpoint.chain.model.canonical import UNSEEN, words_of
from haltpoint.chain.model.references import read_json, write_json
from haltpoint.chain.model.state import Action
from haltpoint.chain.model.typed import said
from haltpoint.chain.model.work import Work
from haltpoint.contracts.base import action_id
from haltpoint.contracts.results import DeedWords
from haltpoint.contracts.secrets import STARS, names_secret, without_secrets
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, Violation

MOST_SHOWN: Final = 80  # characters of one value
MOST_NAMED: Final = 5  # arguments that are named where the author gave no words
_LONGEST: Final = 1000
_MARKUP: Final = str.maketrans({'"': "'", "\uff02": "'", "`": "'"})
_HIDDEN: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn"))


MOST_MARKS: Final = 100  # of one text; what is behind them stays as it is
_FENCED: Final = r"^ {0,3}(?P<fence>`{3,}|~{3,})[^\n]*(?:\n|\Z)(?s:.*?)(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)"
# Within a paragraph, and bounded, so that no text takes more than a moment.
_SPAN: Final = r"(?<!`)(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n|\n {0,3}(?:```|~~~))(?s:.)){1,2000}?(?<!`)(?P=ticks)(?!`)"
_CODE_OR_MARK: Final = re.compile(
    rf"{_FENCED}|{_SPAN}|\[\[(?P<step>[A-Za-z0-9_-]{{1,64}})\.(?P<number>[0-9]{{1,6}})\]\]", re.MULTILINE
)
_ENDS: Final = re.compile(r"(?<=[.!?…])(?=\s)|(?<=[。！？\n])")
Mark = re.Match[str]


def deed_of(spec: ToolSpec, arguments: str, data: str) -> DeedWords | None:
    """What a successful call did; None when it had no effect, or when other calls had it: those inside of a skill.
    `arguments` (those that ran) and `data` are JSON text.
    """
    if spec.read_only or spec.plan is not None or spec.name == human_tool.NAME:
        return None
    given = _object(arguments)
    name = _target(spec, given)
    target = None if name is None else shown(name, given[name]).strip('"')
    return DeedWords(says=deed_line(spec, arguments, data), target=target)


def deed_line(spec: ToolSpec, arguments: str, data: str) -> str:
    """What a call did, in one line."""
    given = _object(arguments)
    line = _title(spec, given) if spec.says is None else _filled(spec, given, data)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _filled(spec: ToolSpec, given: Mapping[str, Any], data: str) -> str:
    declared = spec.parameters.get("properties", {})
    known = dict(said(spec.parameters, "default")) | {name: one for name, one in given.items() if name in declared}
    parts = list(Formatter().parse(spec.says or ""))
    if any(name and name not in declared for _, name, *_ in parts):
        known |= {name: one for name, one in _object(data).items() if name not in declared}
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
    """The parameter that says whom or what the call is about: one with an origin, or named so."""
    marked = [re.split(r"[.\[]", place, maxsplit=1)[0] for place in spec.provenance]
    formed = [name for name, form in said(spec.parameters, "format") if form in FORMATS]
    told = (name for name in (*marked, *formed, *filter(is_named, given)) if given.get(name) not in (None, "", []))
    return next((name for name in told if not isinstance(given[name], dict)), None)


def _object(text: str) -> dict[str, Any]:
    value = read_json(text or "{}")
    return value if isinstance(value, dict) else {}


def marks_in(text: str, steps: Container[str]) -> list[Mark]:
    """The marks of a text, in their order: each has `step` and `number`."""
    found = _CODE_OR_MARK.finditer(text) if "[[" in text else ()
    return [mark for mark in found if mark["step"] in steps][:MOST_MARKS]


def rendered(
    text: str, steps: Container[str], line_of: Callable[[Mark], str | None], unproven: str
) -> tuple[str, tuple[str, ...]]:
    """The text with the line of each mark in its place, and the sentences with a mark for which there is none. Such a
    mark is shown as `[send.1: unproven]`; the last word is `unproven`.
    """
    parts, done, false = list[str](), 0, set[str]()
    for mark in marks_in(text, steps):
        line = line_of(mark)
        if line is None:
            false.add(line := f"{mark[0][1:-2]}: {unproven}]")
        parts += (text[done : mark.start()], line)
        done = mark.end()
    whole = "".join((*parts, text[done:]))
    sentences = (one.strip() for one in _ENDS.split(whole) if any(mark in one for mark in false))
    return whole, tuple(dict.fromkeys(sentences))


def false_marks(work: Work, index: int | None, words: str) -> tuple[Correction, ...]:
    """The marks that name no successful receipt, as one fault; where nobody counts (mode off) there is none."""
    marks = () if work.mode(index) is Mode.OFF else marks_in(words, work.graph.index)
    false = ", ".join(dict.fromkeys(mark[0] for mark in marks if _line_of(work, mark) is None))
    text = (
        f"{false[:300]}: no successful result of this chain has this mark. Copy marks from the results exactly as they "
        "are; where there is none, say in words that it was not done."
    )
    return (Correction(violation=Violation.FALSE_MARK, message=text),) if false else ()


def cite(work: Work, words: str) -> str:
    """The words as the user reads them; sentences whose marks prove nothing are noted as unproven."""
    work.cited = cites(work, words)
    off = work.mode(None) is Mode.OFF
    text, unproven = rendered(
        words, work.graph.index, lambda mark: _line_of(work, mark) or (mark[0] if off else None), work.own.unproven
    )
    work.unproven = tuple(dict.fromkeys((*work.unproven, *unproven)))
    return text


def in_words(work: Work, reason: str) -> str:
    """A reason of a model as people read it, with the lines of its marks."""
    return rendered(reason, work.graph.index, lambda mark: _line_of(work, mark), work.own.unproven)[0]


def cites(work: Work, words: str) -> bool:
    """Whether words cite a successful result of a tool without effects: it may show why an effect is not needed."""
    cited = (_action_of(work, mark) for mark in marks_in(words, work.graph.index))
    return any(one is not None and not with_effects(work.world.spec(one.tool)) for one in cited)


def _action_of(work: Work, mark: Mark) -> Action | None:
    """The action of a mark, if its receipt is a successful one."""
    action = work.actions.get(action_id(work.chain.id, mark["step"], int(mark["number"])))
    return action if action is not None and action.satisfies else None


def _line_of(work: Work, mark: Mark) -> str | None:
    """What the action of a mark did, if its receipt is a successful one; one that changed nothing is only named."""
    if (action := _action_of(work, mark)) is None:
        return None
    spec, deed = work.world.spec(action.tool), action.told.deed
    if deed is None and not with_effects(spec):
        return f"[{mark['step']}.{mark['number']}: {action.tool}]"
    return deed.says if deed else deed_line(spec, action.ran, action.data)
