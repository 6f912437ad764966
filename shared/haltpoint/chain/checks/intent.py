"""Calls held against what the goal asks for, makes conditional and forbids (CONTRACT C12).

Limits that patterns found or that the submitter set hold in every mode but off; those that the model read, and the
question whether the goal asks for an effect at all, in strict.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from haltpoint.chain.checks.contract import in_scope, may_call
from haltpoint.chain.checks.goal import (
    MOST_QUOTED,
    intent_of,
    is_quote,
    users_goal,
    with_effects,
)
from haltpoint.chain.checks.knowledge import earlier_goals
from haltpoint.chain.model import limits
from haltpoint.chain.model.work import Work
from haltpoint.chain.words.patterns import fitting
from haltpoint.contracts.policy import Treatment
from haltpoint.contracts.tools import ToolKind
from haltpoint.contracts.work.intent import Intent, IntentEntry, IntentOrigin
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Correction, Proposal, Violation

_NAMING: Final = re.compile(r"[^\W_]").search
"""Whether a glob has a letter or a digit: one without names no tool in particular."""

_ASKING: Final = (IntentOrigin.GOAL, IntentOrigin.SUBMITTER)
"""Whose conditions are on effects that the goal asks for."""


def forbidden(work: Work, mode: Mode, tool: str) -> Correction | None:
    """Why the user's words forbid a tool, in a step or in a plan that requires it."""
    entry = limit_on(work, intent_of(work).forbidden, mode, tool)
    if entry is None:
        return None
    text = f"{tool} may not be called{said_of(work, entry)}. Continue without it."
    return Correction(violation=Violation.NOT_ALLOWED, tool=tool, message=text)


def note_approval(work: Work, tool: str) -> None:
    """A person has allowed a call: when the words want to be asked first, this tool is not asked about again."""
    intent = intent_of(work)
    if limit_on(work, intent.ask_before, Mode.STRICT, tool) is not None and tool not in intent.approved:
        work.intent = msgspec.structs.replace(intent, approved=(*intent.approved, tool))


def look_at_goal(work: Work, index: int, proposal: Proposal) -> str | None:
    """The first tool of a proposal that no entry names: the goal is looked at for it now, and never again. None: there
    is none.
    """
    step, tools, intent = work.steps[index], work.world.tools, intent_of(work)
    new = [call.tool for call in proposal.calls if call.tool in tools and call.tool not in intent.looked_at]
    mode = work.mode(index)
    open_ones = [tool for tool in new if may_call(step, tools[tool], mode, work.chain.task)]
    free = (tool for tool in open_ones if forbidden(work, mode, tool) is None)
    for tool in (one for one in free if unasked(work, mode, one) is not Treatment.ALLOW):
        work.intent = msgspec.structs.replace(intent, looked_at=(*intent.looked_at, tool))
        return tool
    return None


def tellable(work: Work, index: int | None) -> frozenset[str]:
    """The tools that a correction may name: without effects, or asked for by the step or the goal and not forbidden;
    none that the task keeps from models (D1, C15).
    """
    due = () if index is None else work.steps[index].promised_tools
    known = (one for one in work.world.tools.values() if not one.internal and in_scope(one, work.task))
    asked = (one.name for one in known if not with_effects(one) or one.name in due or _named(work, one.name))
    return frozenset(name for name in asked if forbidden(work, work.mode(index), name) is None)


def bounds_inside(work: Work, index: int, tool: str) -> Intent:
    """What the user's words say of the calls inside of a skill: what is forbidden, and what a person is to be asked
    about, unless that is the skill too, which was asked about itself.
    """
    intent, mode = work.intent or work.chain.task.intent or Intent(), work.mode(index)
    asks = tuple(_holding(intent.ask_before, mode))
    names = effects_of(work, tool) if asks else []
    return Intent(
        ask_before=tuple(one for one in asks if not fitting(one.tools, names)),
        forbidden=tuple(_holding(intent.forbidden, mode)),
    )


def _holding(entries: tuple[IntentEntry, ...], mode: Mode) -> Iterator[IntentEntry]:
    """Those that hold in this mode."""
    kept = () if mode is Mode.OFF else entries
    return (one for one in kept if mode is Mode.STRICT or one.origin is not IntentOrigin.GOAL)


def limit_on(work: Work, entries: tuple[IntentEntry, ...], mode: Mode, tool: str) -> IntentEntry | None:
    """The first of the entries that holds in this mode and is about this tool, or one that it calls as a skill, or
    names this agent.
    """
    names = () if mode is Mode.OFF or not entries else effects_of(work, tool)
    held = _holding(entries, mode)
    return next((one for one in held if fitting(one.tools, names) or names_agent(work, one, tool)), None)


def names_agent(work: Work, entry: IntentEntry, tool: str) -> bool:
    """Whether the tool is an agent and the entry names it. One for any tool is about effects: each is judged where the
    agent makes it.
    """
    return work.world.spec(tool).kind is ToolKind.AGENT and bool(fitting(filter(_NAMING, entry.tools), (tool,)))


def unasked(work: Work, mode: Mode, tool: str) -> Treatment:
    """What the policy says of a call with effects that nothing asks for; any other is allowed."""
    if work.intent is None or mode is not Mode.STRICT or _named(work, tool):
        return Treatment.ALLOW
    return limits.treatment(work.world.policy.unasked_effects, tool)


def _named(work: Work, tool: str) -> bool:
    """Whether the goal asks for a tool, or for all that it calls as a skill. Required tools are drawn from the goal,
    unless the plan's prompt has held earlier answers (C15), or another agent has written the goal (I1).
    """
    drawn = not work.task.earlier and work.task.asked is None
    if drawn and any(tool in step.promised_tools for step in work.steps):
        return True
    intent = intent_of(work)
    entries = (*intent.effects_asked, *(one for one in intent.ask_before if one.origin in _ASKING))
    said = [(one.origin, glob) for one in entries for glob in one.tools]
    # a model for which any tool would do has named none
    globs = [glob for origin, glob in said if origin is not IntentOrigin.GOAL or _NAMING(glob)]
    effects = effects_of(work, tool)
    inside = [name for name in effects if name != tool] or effects
    return bool(fitting(globs, (tool,))) or len(fitting(globs, inside)) == len(inside)


def effects_of(work: Work, tool: str) -> list[str]:
    """The tools with effects that a call of this one may run: itself, and those that a skill's steps call."""
    names, tools = [tool], work.world.tools
    for name in names:  # grows while it is walked
        if name in tools and (plan := tools[name].plan) is not None:
            names += [call.tool for step in plan.steps for call in step.actions if call.tool not in names]
    return [name for name in names if name in tools and with_effects(tools[name])]


def said_of(work: Work, entry: IntentEntry) -> str:
    """Where an entry comes from, with its words, as the end of a sentence."""
    if not entry.words:
        return ": the task says so"
    if entry.origin is IntentOrigin.ANSWER:
        return f": a person answered {quoted(entry)}"
    says = "the goal"
    if not is_quote(entry.words, users_goal(work)):
        earlier = any(is_quote(entry.words, goal) for goal in earlier_goals(work))
        says = "the task" if entry.origin is IntentOrigin.SUBMITTER else "an earlier goal" if earlier else says
    return f": {says} says {quoted(entry)}"


def quoted(entry: IntentEntry) -> str:
    """The words of an entry, as a sentence shows them."""
    return f'"{entry.words[:MOST_QUOTED]}"'
