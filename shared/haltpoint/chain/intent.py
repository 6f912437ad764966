"""What the goal asks for, makes conditional or forbids (CONTRACT C12): drawn up before any data is read.

An entry of the model counts when it quotes the goal. Beside them stand the entries that patterns find there (C2). A
literal plan has no intent, and nothing is held against it. `unasked` holds calls against it. At the end an effect that
is asked for has a deed, or the words say why not; one with a condition never fails a chain.
"""

from collections.abc import Callable, Iterable
from typing import Final

from haltpoint.chain import human_tool
from haltpoint.chain.conditions import conditions_of
from haltpoint.chain.patterns import fitting
from haltpoint.chain.plain_text import plain
from haltpoint.chain.state import PlanOrigin
from haltpoint.chain.words import goal_of, matches, succeeded
from haltpoint.chain.work import Work
from haltpoint.contracts.answers import NotDone, WhyNot
from haltpoint.contracts.intent import ChainIntent, Intent, IntentEntry, IntentOrigin
from haltpoint.contracts.plans import Plan
from haltpoint.contracts.policy import Does
from haltpoint.contracts.tasks import Mode
from haltpoint.contracts.thoughts import Correction, Violation
from haltpoint.contracts.tools import ToolSpec

MOST_QUOTED: Final = 200
"""Characters of words that a correction or a reason quotes."""

_SHOWN: Final = 5  # quotes, marks and tools that a correction names

Entries = tuple[IntentEntry, ...]


def with_effects(spec: ToolSpec) -> bool:
    """Whether a call may change something. Asking a person changes nothing."""
    return not spec.read_only and spec.name != human_tool.NAME


def take_up(work: Work, drafted: Intent | None) -> tuple[str, ...]:
    """Keep the submitter's intent, else what is sound of the model's, with what the patterns find.

    What is wrong with the model's quotes comes back: such entries do not count.
    """
    task, given = work.chain.task, work.chain.task.intent
    read = drafted if drafted is not None and given is None else Intent()
    sound = each(read, lambda entries: marked(quoting(work, entries), IntentOrigin.GOAL))
    if given is not None:
        sound = each(given, lambda entries: marked(entries, IntentOrigin.SUBMITTER))
    required = (IntentEntry(tools=one.expected_tools, words=one.matched) for one in matches(work))
    tools = {name: spec for name, spec in work.world.tools.items() if with_effects(spec) and not spec.internal}
    conditions = conditions_of(goal_of(work), work.world.policy.patterns, tools, task.patterns_off)
    work.intent = (work.intent or ChainIntent()).model_copy(
        update={
            "effects_asked": (*sound.effects_asked, *marked(required, IntentOrigin.PATTERN)),
            "ask_before": (*sound.ask_before, *(one for does, one in conditions if does is Does.ASK_BEFORE)),
            "forbidden": (*sound.forbidden, *(one for does, one in conditions if does is Does.FORBIDDEN)),
        }
    )
    entries = (*read.effects_asked, *read.ask_before, *read.forbidden)
    quotes = (quote for one in entries if not quoting(work, (one,)) for quote in _quotes(one))
    return tuple(f'"{quote[:MOST_QUOTED]}" is not in the goal. Quote its own words.' for quote in quotes)


def ask_again(work: Work, wrong: tuple[str, ...]) -> tuple[Correction, ...]:
    """What is wrong with an intent, for the one time that the model is asked for a better one; later nothing is."""
    if not wrong or work.intent is None or work.intent.asked_again:
        return ()
    work.intent = work.intent.model_copy(update={"asked_again": True})
    return tuple(Correction(violation=Violation.BAD_INTENT, message=text) for text in wrong[:_SHOWN])


def left_out(work: Work, plan: Plan) -> tuple[str, ...]:
    """What a drafted plan leaves out of what its goal asks for without a condition."""
    planned = {name for step in plan.steps for name in (*step.promised_tools, *(step.allowed_tools or ()))}
    inside = {name for tool in planned for name in effects_of(work, tool)}
    return tuple(
        f'The words "{entry.words[:MOST_QUOTED]}" ask for {" or ".join(tools)}, and no step promises it. '
        "Add a step, or quote the condition in `when`."
        for entry, tools in expected(work)
        if inside.isdisjoint(tools)
    )


def expected(work: Work) -> tuple[tuple[IntentEntry, tuple[str, ...]], ...]:
    """The effects that the goal asks for by the model's reading or the submitter's word, each with the tools for it
    that exist here and that nothing forbids.
    """
    if work.intent is None:
        return ()
    forbidden = [glob for entry in work.intent.forbidden for glob in entry.tools]
    served = {name for name, spec in work.world.tools.items() if with_effects(spec) and not spec.internal}
    free = served.difference(fitting(forbidden, served))
    found = ((one, fitting(one.tools, free)) for one in work.intent.effects_asked)
    return tuple((one, tools) for one, tools in found if tools and one.origin is not IntentOrigin.PATTERN)


def effects_of(work: Work, tool: str) -> tuple[str, ...]:
    """The tools with effects that a call of this one may run: itself, and those that a skill's steps call."""
    names = [tool]
    for name in names:  # grows while it is walked
        spec = work.world.tools.get(name)
        if spec is not None and spec.plan is not None:
            names += [call.tool for step in spec.plan.steps for call in step.actions if call.tool not in names]
    return tuple(name for name in names if (spec := work.world.tools.get(name)) is not None and with_effects(spec))


def each(intent: Intent, change: Callable[[Entries], Entries]) -> Intent:
    """The intent with all of its lists changed."""
    lists = change(intent.effects_asked), change(intent.ask_before), change(intent.forbidden)
    return Intent(effects_asked=lists[0], ask_before=lists[1], forbidden=lists[2])


def marked(entries: Iterable[IntentEntry], origin: IntentOrigin) -> Entries:
    """The entries as somebody's word."""
    return tuple(one.model_copy(update={"origin": origin}) for one in entries)


def quoting(work: Work, entries: Entries) -> Entries:
    """The entries whose words, and whose conditions, are in the goal; case, spacing and quotation marks aside."""
    goal = _squeezed(goal_of(work))
    return tuple(
        one for one in entries if all(len(_squeezed(text)) > 1 and _squeezed(text) in goal for text in _quotes(one))
    )


def _quotes(entry: IntentEntry) -> tuple[str, ...]:
    return (entry.words, entry.when) if entry.when else (entry.words,)


def _squeezed(text: str) -> str:
    return "".join(sign for sign in plain(text).casefold() if not sign.isspace() and sign not in "\"'`")


# ---- the end ---------------------------------------------------------------------------------------------------------


def unfulfilled(work: Work) -> tuple[NotDone, ...]:
    """The effects that the goal asks for without a deed or a reported error; `message`: the condition of one."""
    wanted, settled = expected(work), set[str]()
    if wanted:
        failed = (one.tool for one in work.actions.values() if one.outcome is not None and one.outcome.error)
        settled = {*succeeded(work), *(name for tool in failed for name in effects_of(work, tool))}
    return tuple(
        NotDone(tool=" or ".join(tools[:_SHOWN]), says=entry.words, why=WhyNot.UNFULFILLED, message=entry.when or "")
        for entry, tools in wanted
        if settled.isdisjoint(tools)
    )


def owed(work: Work) -> tuple[NotDone, ...]:
    """Those that it asks for without a condition."""
    return tuple(one for one in unfulfilled(work) if not one.message)


def remind(work: Work) -> tuple[Correction, ...]:
    """What a strict chain still owes at its end, for the one time that the model is asked once more; then nothing."""
    due = owed(work) if work.mode(None) is Mode.STRICT else ()
    if not due or work.intent is None or work.intent.reminded:
        return ()
    work.intent = work.intent.model_copy(update={"reminded": True})
    done = [one for one in work.actions.values() if one.outcome is not None and one.outcome.satisfies]
    marks = ", ".join(f"[[{work.steps[one.step].id}.{one.number}]] ({one.tool})" for one in done[-_SHOWN:])
    last = "Call it now. Or, if" if work.origin is PlanOrigin.REACT else "It cannot be called any more. If"
    why = f" {last} a result shows that it is not needed, say so and cite it by its mark: {marks or 'none yet'}."
    return tuple(
        Correction(
            violation=Violation.UNFULFILLED,
            tool=one.tool.partition(" ")[0],
            message=f'The words "{one.says[:MOST_QUOTED]}" ask for {one.tool}, and it was not done.{why}',
        )
        for one in due
    )


def falls_short(work: Work) -> str | None:
    """Why a strict chain fails although nothing else is left to do; None when it need not, or cites why not."""
    due = owed(work) if work.mode(None) is Mode.STRICT else ()
    if not due or (work.intent is not None and work.intent.reminded and work.cited):
        return None
    return "; ".join(f'"{one.says[:MOST_QUOTED]}" asks for {one.tool}, and it was not done' for one in due)
