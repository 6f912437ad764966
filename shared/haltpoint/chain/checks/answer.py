"""The answer of a chain (CONTRACT F1): the model's words, and beside them what was done and what
was not.

One function, which the core calls when a chain ends, and views while it runs. A deed is one
successful receipt with an effect; of a skill or an agent, the deeds of the chain that carried it
out, as its report brings them. Words say nothing here: no line without such a receipt, and no such
receipt without a line.

The words of a deed are the author's (`says`), else the tool's name and its arguments. A value can
neither break a line nor forge one: it is quoted, has no quotation mark, line break or backtick of
its own, secrets are starred, and what is invisible is spelt out.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from string import Formatter
from typing import Any, Final

from msgspec.structs import replace

from haltpoint.chain.checks.ledger import MAY_HAVE_ACTED
from haltpoint.chain.checks.plans import with_effects
from haltpoint.chain.model.canonical import spelt_out
from haltpoint.chain.model.limits import moment_of
from haltpoint.chain.model.references import KEYS, path_of, read_json, scalars_at, write_json
from haltpoint.chain.model.schemas import defaults
from haltpoint.chain.model.state import Action, Dropped, Lines
from haltpoint.contracts.answers import Deed, FinalAnswer, NotDone, WhyNot
from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.people.phrases import Phrases
from haltpoint.contracts.results import DeedWords, ErrorType
from haltpoint.contracts.secret_forms import names_secret
from haltpoint.contracts.secrets import (
    STARS,
    starred,
    stars_for,
    typed_in,
    without_secrets,
)
from haltpoint.contracts.tools import ASK_HUMAN, ToolSpec

_WHY: Final = {ErrorType.IN_DOUBT: WhyNot.IN_DOUBT, ErrorType.DENIED: WhyNot.DENIED}
_ALWAYS_TOLD: Final = (WhyNot.DENIED, WhyNot.IN_DOUBT)
_OF_PROMISES: Final = (WhyNot.LEFT_OUT, WhyNot.NOT_CALLED)
"""Lines without a call. Where a failed call of such a tool has one they say nothing more, nor does
that it was never called where a call never ran.
"""
_place: Final = attrgetter("step", "number")
"""The order of the plan; a call that never ran is behind the last one of its step that did."""

SpecOf = Callable[[str], ToolSpec]
"""What is declared of a tool, by its name."""


Missed = tuple[NotDone, int]
"""What was not done, and how many calls had succeeded before that was clear."""

MOST_SHOWN: Final = 80  # characters of one value
MOST_NAMED: Final = 5  # arguments that are named where the author gave no words
_LONGEST: Final = 1000
_UNKNOWN: Final = "…"
_UNKNOWN_VALUE: Final = re.compile('…(?!")')  # a value that is cut ends with a quotation mark
_MARKUP: Final = str.maketrans({'"': "'", "\uff02": "'", "`": "'"})


def answer(
    text: str,
    actions: Sequence[Action],
    dropped: Iterable[Dropped],
    due: Lines,
    spec_of: SpecOf,
    phrases: Phrases,
) -> FinalAnswer:
    """The answer of a chain with these actions. `due` is what it promised and never called, or left
    out.
    """
    successes = list[Deed | str]()
    missed = list[Missed]()
    calls: list[Action | Dropped] = [*actions, *dropped]
    for call in sorted(calls, key=_place):
        lines = _lines_of(call, spec_of(call.tool), phrases)
        if isinstance(call, Action):
            successes += deeds_of(call)
            if call.satisfies and call.told.deed is None:
                successes.append(call.tool)
        missed += [(line, len(successes)) for line in lines]
    deeds = [success for success in successes if isinstance(success, Deed)]
    lost = [line for line, before in missed if not _is_made_good(line, successes[before:])]
    lost = _without_doubles(lost, deeds)
    called = {line.tool for line in lost if line.action_id is not None}
    told_by = {WhyNot.LEFT_OUT: called, WhyNot.NOT_CALLED: {line.tool for line in lost}}
    untold = [line for line in due if told_by.get(line.why, set()).isdisjoint(line.tools)]
    return FinalAnswer(text, tuple(deeds), tuple(dict.fromkeys((*lost, *untold))))


def _lines_of(call: Action | Dropped, spec: ToolSpec, phrases: Phrases) -> Lines:
    """What a call did not do: of one whose chain lists the calls inside, these."""
    if isinstance(call, Dropped):
        return (not_done_line(spec, call.arguments, WhyNot.NEVER_EXECUTED, call.reason),)
    below = call.told.below.not_done
    if below or call.satisfies or call.tool == ASK_HUMAN:
        return below
    why, message = _reason(call, spec, phrases)
    return (not_done_line(spec, call.ran, why, message, call.id),)


def not_done_line(
    spec: ToolSpec, arguments: str, why: WhyNot, message: str, action_id: str | None = None
) -> NotDone:
    """The line of a call that did nothing."""
    words = deed_words(spec, arguments)
    return NotDone(
        action_id=action_id,
        tool=spec.name,
        says=words.says,
        target=words.target,
        why=why,
        message=message,
    )


def deeds_of(action: Action) -> Iterator[Deed]:
    """What a call did. One that has the receipt of an earlier call did nothing."""
    told = action.told
    if told.repeats:
        return
    by = told.by or (told.approval and told.approval.by) or None
    for deed in told.below.deeds:
        yield replace(deed, by=deed.by or by)
    if action.outcome is not None and action.satisfies and told.deed is not None:
        yield Deed(
            action_id=action.id,
            tool=action.tool,
            says=told.deed.says,
            target=told.deed.target,
            at=moment_of(told.started_at + told.duration_ms),
            by=by,
            warnings=action.outcome.warnings,
        )


def _reason(action: Action, spec: ToolSpec, phrases: Phrases) -> tuple[WhyNot, str]:
    """Why an action of a chain that is over has done nothing. With a deed it may have: a hook kept
    its result.
    """
    may_act = with_effects(spec) and not action.child
    if action.outcome is None and may_act:
        return WhyNot.IN_DOUBT, phrases.may_have_happened
    if action.outcome is None:
        return WhyNot.FAILED, phrases.stopped
    fault = action.error
    if fault is None:
        return WhyNot.NEVER_EXECUTED, phrases.not_approved
    if fault.undecided:
        return WhyNot.UNDECIDED, fault.message
    is_unknown = fault.error_type in MAY_HAVE_ACTED and not fault.no_effect
    if may_act and (is_unknown or action.told.deed is not None):
        return WhyNot.IN_DOUBT, fault.message
    return _WHY.get(fault.error_type, WhyNot.FAILED), fault.message


def _is_made_good(line: NotDone, later: Iterable[Deed | str]) -> bool:
    """Whether a later call did it: a deed with the same target, or where it has none with the same
    words. A tool that only reads has brought something by any success.
    """
    if line.why in _ALWAYS_TOLD:
        return False
    for success in later:
        is_made_good = success == line.tool
        if isinstance(success, Deed):
            is_made_good = _is_same(line, success)
        if is_made_good:
            return True
    return False


def _is_same(line: NotDone, deed: Deed) -> bool:
    if deed.tool not in line.tools:
        return False
    if line.why in _OF_PROMISES:
        return True
    if line.target is None:
        return line.says == deed.says
    return line.target == deed.target


def _without_doubles(lines: Iterable[NotDone], deeds: Iterable[Deed]) -> list[NotDone]:
    """The lines but for calls that never ran whose words are those of a deed, where they had a
    value that nobody knew. Each deed stands for one such call.
    """
    words = [deed.says for deed in deeds]
    told: list[NotDone] = []
    for line in dict.fromkeys(lines):
        parts = _UNKNOWN_VALUE.split(line.says)
        may_be = line.why is WhyNot.NEVER_EXECUTED and len(parts) > 1
        pattern = ".*".join(map(re.escape, parts))
        same = [said for said in words if may_be and re.fullmatch(pattern, said)]
        if same:
            words.remove(same[0])
        else:
            told.append(line)
    return told


# ---- the words of a deed


def deed_of(spec: ToolSpec, arguments: str, data: str) -> DeedWords | None:
    """What a successful call did; None when it had no effect, or when other calls had it: those
    inside of a skill. `arguments` (those that ran) and `data` are JSON text.
    """
    if spec.plan is not None or not with_effects(spec):
        return None
    return deed_words(spec, arguments, data)


def deed_words(spec: ToolSpec, arguments: str, data: str = "{}") -> DeedWords:
    """What a call does, in one line, and whom or what it is about, where it has a target."""
    typed = frozenset(typed_in(spec.parameters))
    given = starred(read_json(arguments), typed)
    known = {**starred(read_json(data)), **defaults(spec.parameters), **given}
    line = ""
    for text, name, *_ in Formatter().parse(spec.says or ""):
        line += text
        line += shown(name, known.get(name, ...)) if name is not None else ""
    if not spec.says:  # the tool's name, and its arguments
        named = [f"{_visible(name)} {shown(name, given[name])}" for name in given]
        if len(named) > MOST_NAMED:
            named[MOST_NAMED:] = ["…"]
        title = spec.name.replace("_", " ").capitalize()
        line = f"{title}: {', '.join(named)}" if named else title
    return DeedWords(_cut(line, _LONGEST), _target(spec, given))


def _target(spec: ToolSpec, given: JsonObject) -> str | None:
    """What is given at the first marked place that has something."""
    for place in (*spec.provenance, *spec.targets):
        values = [value for inner, value in scalars_at(given, path_of(place)) if KEYS not in inner]
        if any(values):
            return shown("", values).strip('"')
    return None


def shown(name: str, value: Any) -> str:
    """A value in a line: texts are quoted; `...` stands for one that is not known."""
    if value is ...:
        return _UNKNOWN
    if value is None:
        return "–"
    if value == STARS or names_secret(name):
        return _visible(stars_for(name, value) or STARS)
    if isinstance(value, int | float):
        return _visible(write_json(value))
    values = value if isinstance(value, list) else [value]
    parts = [part if isinstance(part, str) else write_json(part) for part in values]
    return f'"{_visible(", ".join(parts))}"'


def _visible(text: str) -> str:
    """One line of text in which nothing is hidden and nothing is markup, cut."""
    words = without_secrets(text[: 8 * MOST_SHOWN]).split()
    line = " ".join(words).translate(_MARKUP)
    return _cut(spelt_out(line), MOST_SHOWN)


def _cut(line: str, most: int) -> str:
    if len(line) <= most:
        return line
    return f"{line[: most - 1]}…"
