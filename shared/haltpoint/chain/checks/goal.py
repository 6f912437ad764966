"""What the goal asks for, makes conditional or forbids (CONTRACT C2, C12): read before any data is.

An entry of the model counts when it quotes the goal. Beside them stand the entries that patterns find there. A literal
plan has no intent, and nothing is held against it. `intent` holds plans, calls and the end against it.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from haltpoint.chain.checks import human_tool
from haltpoint.chain.checks.contract import open_to_models
from haltpoint.chain.checks.knowledge import earlier_goals
from haltpoint.chain.checks.templates import with_those_inside
from haltpoint.chain.model.canonical import plain
from haltpoint.chain.model.state import goal_in_full
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.chain.words.patterns import ALL, conditions_of, fitting, required_by_words
from haltpoint.chain.words.patterns_english import DO_NOT
from haltpoint.contracts.policy import Pattern
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.intent import ChainIntent, Intent, IntentEntry, IntentOrigin
from haltpoint.contracts.work.thoughts import Correction, Violation

MOST_QUOTED: Final = 200
"""Characters of words that a correction or a reason quotes."""

SHOWN: Final = 5
"""Quotes, marks and tools that a correction names."""

_NO: Final = re.compile(
    r"""\W* (?: n \W* \Z | (?:no|nope|nein|nee) (?! [\w@] | [\-/._]?reply )
    (?! \.?[ ]?\#?\d+\W*\Z | [ ](?:problem|worr(?:y|ies)|objections?|issues?|doubt|kidding) \s* (?:[.!;:]|\Z) ))""",
    re.IGNORECASE | re.VERBOSE,
)
"""An answer that begins with a no. "No. 5" and "No problem" are none."""

_WORD: Final = re.compile(r"[^\W\d_]{3,}")


def with_effects(spec: ToolSpec) -> bool:
    """Whether a call may change something. Asking a person, or handing a task on to an agent, changes nothing."""
    return not spec.read_only and spec.name != human_tool.NAME and spec.kind is not ToolKind.AGENT


def is_read_for(spec: ToolSpec) -> bool:
    """Whether a goal is read for what it says of this tool (C12): one with effects that a model may call, or an agent,
    which the user may forbid.
    """
    return spec.kind is ToolKind.AGENT or (with_effects(spec) and not spec.internal)


def goal_of(work: Work) -> str:
    """What is asked for, as prompts and patterns have it."""
    return goal_in_full(work.task, work.goal, work.answers)


def users_goal(work: Work) -> str:
    """What the user asks for, whatever an agent has made of it (I1), with what persons said in the chain itself."""
    return "\n".join((_goal_alone(work), *work.answers))


def _goal_alone(work: Work) -> str:
    """The user's goal without what they said in the chain."""
    return goal_in_full(work.task, work.task.asked if work.goal is None else work.goal, ())


def inside_agents(work: Work) -> frozenset[str]:
    """The tools that the agents may call to which this one may hand the task on."""
    agents = (spec for spec in work.world.tools.values() if spec.kind is ToolKind.AGENT)
    return frozenset(name for spec in agents for name in spec.inside)


def condition_of(asked: Iterable[IntentEntry], spec: ToolSpec, tools: Mapping[str, ToolSpec]) -> str | None:
    """The condition under which the goal asks for what a tool does, or a tool inside of it; None where it asks without
    one, or does not ask. Patterns read no conditions.
    """
    inside = with_those_inside((spec.name,), tools)
    read = () if spec.read_only else (entry for entry in asked if entry.origin is not IntentOrigin.PATTERN)
    conditions = [entry.when for entry in read if fitting(entry.tools, inside)]
    return conditions[0] if all(conditions) and conditions else None


def intent_of(work: Work) -> ChainIntent:
    """What the goal asks for, as far as it was read."""
    return work.intent or ChainIntent()


def take_up(work: Work, drafted: Intent | None) -> tuple[str, ...]:
    """Keep the submitter's intent, else what is sound of the model's, with what the patterns find. Where another agent
    has written the goal, the intent was read from the user's before, and that one counts.

    What is wrong with the model's quotes comes back: such entries do not count.
    """
    wrong: tuple[str, ...] = ()
    given, kept = work.chain.task.intent, of_answers(work)
    if given is not None and work.task.asked is not None:
        work.intent = _joined(intent_of(work), kept, given)
        return ()
    if given is not None:
        own = _marked(given, lambda _: True, origin=IntentOrigin.SUBMITTER)
    else:
        read = drafted or Intent()
        own = _marked(read, lambda entry: not _misquoted(work, entry), origin=IntentOrigin.GOAL)
        entries = (*read.effects_asked, *read.ask_before, *read.forbidden)
        wrong = tuple(quote for entry in entries for quote in _misquoted(work, entry))
    work.intent = _joined(intent_of(work), kept, own, _by_patterns(work))
    return tuple(f'"{quote[:MOST_QUOTED]}" is no quote from the goal. Copy whole words of it.' for quote in wrong)


def ask_again(work: Work, wrong: tuple[str, ...]) -> tuple[Correction, ...]:
    """What is wrong with an intent, for the one time that the model is asked for a better one; later nothing is."""
    if not wrong or work.intent is None or work.intent.asked_again:
        return ()
    work.intent = msgspec.structs.replace(work.intent, asked_again=True)
    return tuple(Correction(violation=Violation.BAD_INTENT, message=text) for text in wrong[:SHOWN])


def note_look(work: Work, seen: Intent) -> None:
    """Keep what a look at the goal has found: the entries that quote the goal and name the tool that it was about."""
    intent = intent_of(work)
    tool = intent.looked_at[-1:]
    about = {"tools": tool, "origin": IntentOrigin.GOAL}
    found = _marked(seen, lambda one: bool(fitting(one.tools, tool)) and not _misquoted(work, one), **about)
    work.intent = _joined(intent, intent, found)


def of_answers(work: Work) -> Intent:
    """What persons' answers in this chain want to be asked about."""
    return _marked(intent_of(work), lambda one: one.origin is IntentOrigin.ANSWER)


def note_answer(work: Work, said: str) -> None:
    """Keep what a person's answer to a question of the model wants to be asked about from now on, whatever was allowed
    before: what patterns find in it, and after a no every effect. A literal plan has no intent.
    """
    no = [IntentEntry(tools=(ALL,), words=" ".join(said.split())[:MOST_QUOTED])] if _NO.match(plain(said)) else []
    found = Intent(ask_before=(*no, *conditions_of(said, _patterns(work), _limited(work))))
    if found.ask_before and work.origin is not PlanOrigin.LITERAL:
        intent, own = intent_of(work), _marked(found, lambda _: True, origin=IntentOrigin.ANSWER)
        work.intent = msgspec.structs.replace(_joined(intent, own, intent), approved=())


def _patterns(work: Work) -> list[Pattern]:
    off = work.chain.task.patterns_off
    return [one for one in work.world.policy.patterns if not {ALL, one.id}.intersection(off)]


def _limited(work: Work) -> dict[str, ToolSpec]:
    """The tools that a condition may be about."""
    return {name: spec for name, spec in work.world.tools.items() if with_effects(spec) and not spec.internal}


def _by_patterns(work: Work) -> Intent:
    task, patterns, limited, inside = work.chain.task, _patterns(work), _limited(work), inside_agents(work)
    words, session = users_goal(work), task.context.get("active_session")
    served = [name for name, spec in work.world.tools.items() if open_to_models(spec, task) or name in inside]
    conditions = conditions_of(_goal_alone(work), patterns, limited)
    if task.assigned is not None and task.assigned.floor:
        conditions += conditions_of(task.assigned.floor, patterns, limited)
    asking = [one for one in patterns if one.id != DO_NOT]  # of earlier tasks, too (C15)
    conditions += tuple(one for goal in earlier_goals(work) for one in conditions_of(goal, asking, limited))
    asked = required_by_words(words, session if isinstance(session, str) else "", patterns, served)
    return Intent(effects_asked=asked, ask_before=conditions)


def _marked(intent: Intent, keep: Callable[[IntentEntry], bool], **about: Any) -> Intent:
    """The entries that are to be kept, each with these values."""
    lists = {name: filter(keep, getattr(intent, name)) for name in Intent.__struct_fields__}
    return Intent(
        **{name: tuple(msgspec.structs.replace(one, **about) for one in entries) for name, entries in lists.items()}
    )


def _joined(intent: ChainIntent, *parts: Intent) -> ChainIntent:
    """The chain's intent with the entries of all parts, list by list."""
    lists = {name: tuple(one for part in parts for one in getattr(part, name)) for name in Intent.__struct_fields__}
    return msgspec.structs.replace(intent, **lists)


def _misquoted(work: Work, entry: IntentEntry) -> list[str]:
    """The words and the condition of an entry, if they quote neither the goal nor an earlier one of this user."""
    goals, quotes = (users_goal(work), *earlier_goals(work)), [entry.words, *([entry.when] if entry.when else [])]
    return [quote for quote in quotes if not any(is_quote(quote, goal) for goal in goals)]


def is_quote(words: str, goal: str) -> bool:
    """Whether words are in a goal, case, spacing and quotation marks aside: all of it, or a whole word of it, of three
    letters or of a script that writes none apart.
    """
    said, whole = _squeezed(words), _squeezed(goal)
    if len(said) < 2 or said not in whole:
        return False
    unparted = any(sign.isalpha() and sign.upper() == sign for sign in said)
    return said == whole or unparted or any(word in said for word in _WORD.findall(plain(goal).casefold()))


def _squeezed(text: str) -> str:
    return "".join(sign for sign in plain(text).casefold() if not sign.isspace() and sign not in "\"'`")
