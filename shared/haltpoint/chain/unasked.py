"""A call held against the intent of the goal (CONTRACT C12): refused, asked about, or looked at once more.

Limits that patterns found or that the submitter set hold in every mode but off; those that the model read, and the
question whether the goal asks for an effect at all, in strict.
"""

from haltpoint.chain import policy
from haltpoint.chain.contract import may_call
from haltpoint.chain.intent import MOST_QUOTED, Entries, each, effects_of, quoting, with_effects
from haltpoint.chain.patterns import fitting
from haltpoint.chain.work import Work
from haltpoint.contracts.intent import ChainIntent, Intent, IntentEntry, IntentOrigin
from haltpoint.contracts.policy import Treatment
from haltpoint.contracts.reasons import Reason, ReasonKind
from haltpoint.contracts.tasks import Mode
from haltpoint.contracts.thoughts import Correction, Proposal, Violation


def refusal(work: Work, index: int, tool: str) -> Correction | None:
    """Why this tool may not be called: the user's words forbid it, or do not ask for it and the policy refuses that."""
    mode = work.mode(index)
    if (fault := forbidden(work, mode, tool)) is not None:
        return fault
    if _unnamed(work, mode, tool) and policy.treatment(work.world.policy.unasked_effects, tool) is Treatment.REFUSE:
        return _refused(f"Nothing in the goal asks for {tool}, so it may not be called. Go on without it.", tool)
    return None


def forbidden(work: Work, mode: Mode, tool: str) -> Correction | None:
    """Why the user's words forbid a tool, in a step or in a plan that requires it."""
    entry = _limit(work, _intent(work).forbidden, mode, tool)
    return None if entry is None else _refused(f"{tool} may not be called{_said(entry)}. Go on without it.", tool)


def disregarded(work: Work, index: int, tool: str) -> Correction | None:
    """What advisory mode only writes down: by the model's own reading the goal forbids the tool."""
    mode = work.mode(index)
    entry = _limit(work, _intent(work).forbidden, Mode.STRICT, tool)
    return _refused(f"{tool} was called{_said(entry)}.", tool) if entry is not None and mode is Mode.ADVISORY else None


def reasons_by_intent(work: Work, index: int, tool: str) -> tuple[Reason, ...]:
    """Why a person is asked before this call: the words want that, or do not ask for the tool at all."""
    mode, found = work.mode(index), list[Reason]()
    entry = _limit(work, _intent(work).ask_before, mode, tool)
    if entry is not None and tool not in _intent(work).approved:
        found.append(Reason(kind=ReasonKind.ASK_BEFORE, words=f"{tool} is asked about first{_said(entry)}."))
    if _unnamed(work, mode, tool) and policy.treatment(work.world.policy.unasked_effects, tool) is Treatment.ASK:
        found.append(Reason(kind=ReasonKind.UNASKED, words=f"Nothing in the goal asks for {tool}."))
    return tuple(found)


def note_approval(work: Work, tool: str) -> None:
    """A person has allowed a call: for the wish to be asked first, this tool is not asked about again."""
    intent = _intent(work)
    if _limit(work, intent.ask_before, Mode.STRICT, tool) is not None and tool not in intent.approved:
        work.intent = intent.model_copy(update={"approved": (*intent.approved, tool)})


def to_look_at(work: Work, index: int, proposal: Proposal) -> str | None:
    """The first tool of a proposal that no entry names and that was not looked at yet; None: there is none."""
    step, tools = work.steps[index], work.world.tools
    mode, intent = work.mode(index), _intent(work)
    for tool in (call.tool for call in proposal.calls):
        if tool not in tools or tool in intent.looked_at or not may_call(step, tools[tool], mode, work.chain.task):
            continue
        open_question = _unnamed(work, mode, tool) and forbidden(work, mode, tool) is None
        if open_question and policy.treatment(work.world.policy.unasked_effects, tool) is not Treatment.ALLOW:
            return tool
    return None


def note_asked(work: Work, tool: str) -> None:
    """The goal is looked at for a tool now, and never again."""
    intent = _intent(work)
    work.intent = intent.model_copy(update={"looked_at": (*intent.looked_at, tool)})


def note_look(work: Work, seen: Intent) -> None:
    """Keep what the look has found: for the tool that it was about, the entries that quote the goal."""
    intent = _intent(work)
    about = {"tools": intent.looked_at[-1:], "origin": IntentOrigin.GOAL}
    kept = each(seen, lambda entries: tuple(one.model_copy(update=about) for one in quoting(work, entries)))
    lists = ("effects_asked", "ask_before", "forbidden")
    work.intent = intent.model_copy(update={name: (*getattr(intent, name), *getattr(kept, name)) for name in lists})


def tellable(work: Work, index: int | None) -> frozenset[str]:
    """The tools that a correction may name: without effects, or asked for by the step or the goal (D1)."""
    due = () if index is None else work.steps[index].promised_tools
    return frozenset(
        name
        for name, spec in work.world.tools.items()
        if not spec.internal and (not with_effects(spec) or name in due or _named(work, name))
    )


def _intent(work: Work) -> ChainIntent:
    return work.intent or ChainIntent()


def _limit(work: Work, entries: Entries, mode: Mode, tool: str) -> IntentEntry | None:
    """The first of the entries that holds in this mode and is about this tool, or one that it calls as a skill."""
    if not entries or mode is Mode.OFF:
        return None
    holds = (one for one in entries if mode is Mode.STRICT or one.origin is not IntentOrigin.GOAL)
    names = effects_of(work, tool)
    return next((one for one in holds if fitting(one.tools, names)), None)


def _unnamed(work: Work, mode: Mode, tool: str) -> bool:
    """Whether a call has effects and nothing names them: no entry, and no step of the drafted plan."""
    return work.intent is not None and mode is Mode.STRICT and not _named(work, tool)


def _named(work: Work, tool: str) -> bool:
    """Whether the goal asks for a tool, or for all that it calls as a skill; required tools are drawn from the goal."""
    intent = _intent(work)
    if any(tool in step.promised_tools for step in work.steps):
        return True
    own = [one for one in intent.ask_before if one.origin is not IntentOrigin.PATTERN]
    entries = [one for one in (*intent.effects_asked, *own) if one.origin is not IntentOrigin.GOAL or _precise(one)]
    globs = [glob for entry in entries for glob in entry.tools]
    effects = effects_of(work, tool)
    inside = [name for name in effects if name != tool] or effects
    return bool(fitting(globs, (tool,))) or len(fitting(globs, inside)) == len(inside)


def _precise(entry: IntentEntry) -> bool:
    """Whether each of its globs says something of a name; a model for which any tool would do has named none."""
    return all(any(map(str.isalnum, glob)) for glob in entry.tools)


def _said(entry: IntentEntry) -> str:
    return f': the goal says "{entry.words[:MOST_QUOTED]}"' if entry.words else ": the task says so"


def _refused(text: str, tool: str) -> Correction:
    return Correction(violation=Violation.NOT_ALLOWED, tool=tool, message=text)
