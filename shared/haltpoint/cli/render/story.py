"""A chain as a person would like to read it: the steps, what each action brought, where it stopped and what never ran.

`tell` makes lines of a view. The live picture shows them all anew; a pipe gets each line once, as soon as it is true.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import Any

from haltpoint.cli.render.case import answer_words, details, said
from haltpoint.cli.render.moments import moments
from haltpoint.cli.wording import call, value_text, visible
from haltpoint.contracts.answers import FinalAnswer, WhyNot
from haltpoint.contracts.people.humans import RequestStatus
from haltpoint.contracts.people.phrases import count, phrases, runs_again
from haltpoint.contracts.reasons import SourceKind
from haltpoint.contracts.results import HookVerdict, NextAction, ToolResult
from haltpoint.contracts.views import ActionView, ChainView, ChildView, RequestView, RoutedView, StepView, ViolationView
from haltpoint.contracts.work.intent import Intent
from haltpoint.contracts.work.tasks import Mode
from haltpoint.contracts.work.thoughts import Violation


class Mark(Enum):
    """What a line says about its subject: a sign and a style."""

    PENDING = ("·", "dim")
    RUNNING = ("▸", "cyan")
    DONE = ("✓", "green")
    FAILED = ("✗", "red")
    STOP = ("■", "bold yellow")
    OPTION = (" ", "")
    CHOICE = ("→", "bold green")
    NEVER = ("⊘", "magenta")
    CORRECTED = ("↺", "yellow")
    BROKEN = ("✗", "yellow")
    WORDS = ("»", "")
    DEED = ("◆", "green")
    NOT_DONE = ("◇", "yellow")
    UNPROVEN = ("?", "bold yellow")
    MISSING = ("!", "bold yellow")


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `passing`: true for the moment only, so that a pipe leaves it out. `at`: None is as the line before."""

    depth: int
    mark: Mark
    text: str
    note: str = ""
    passing: bool = False
    at: datetime | None = field(default=None, compare=False)


_STEP_MARKS = {
    "completed": Mark.DONE,
    "failed": Mark.FAILED,
    "skipped": Mark.NEVER,
    "cancelled": Mark.NEVER,
    "in_progress": Mark.RUNNING,
    "waiting": Mark.RUNNING,
}
_END_MARKS = {"completed": Mark.DONE, "failed": Mark.FAILED, "cancelled": Mark.NEVER}


def tell(chain: ChainView) -> list[Line]:
    """The whole story so far, in the order in which it happened as far as steps go one after the other."""
    lines: list[Line] = []
    steps = {step.id for step in chain.steps}
    lines += _routed(chain.routed) if chain.routed is not None else ()
    if not chain.steps and chain.current is not None and chain.current.resting is not None:
        lines.append(Line(0, Mark.RUNNING, "waits", visible(chain.current.resting.why)))
    lines += _broken(chain.violations, "plan")
    lines += [line for request in _cases(chain, "") for line in (*_question(request), *_outcome(request))]
    for step in chain.steps:
        lines.append(_step(step))
        lines += _events_of(step, chain)
        if chain.current and chain.current.step_id == step.id and (missing := chain.current.waiting_for):
            # Without the time, so that a pipe gets it once.
            unserved = f'{missing.code} no worker serves the queue "{visible(missing.queue)}"'
            lines.append(Line(1, Mark.MISSING, unserved, visible(missing.hint)))
        if chain.current and chain.current.step_id == step.id and (rest := chain.current.resting):
            lines.append(Line(1, Mark.RUNNING, runs_again(rest.until), visible(rest.why)))
        if step.status in ("completed", "failed"):
            lines.append(_closing(step))
    lines += [_never(item, 0) for item in chain.never_executed if item.get("step_id") not in steps]
    lines += _broken(chain.violations, "answer")
    if chain.status in _END_MARKS:
        lines += _end(chain)
    return lines


def receipts(chain: ChainView) -> list[tuple[str, str, str]]:
    """Every receipt: the action's id within its chain, the tool, and the outcome in a few words."""
    return [
        (action.id.removeprefix(f"{chain.id}."), visible(action.tool), _brief(action.receipt))
        for step in chain.steps
        for action in step.actions
        if action.receipt is not None and action.status == "done"
    ]


def intents(intent: Intent) -> Iterator[str]:
    """What the goal asks for, makes conditional and forbids, a line each with its words and whose reading it is."""
    lists = (("asked", intent.effects_asked), ("asked about first", intent.ask_before), ("forbidden", intent.forbidden))
    for kind, entries in lists:
        for one in entries:
            condition = f', "{visible(one.when)}"' if one.when else ""
            words = f' "{visible(one.words)}"' if one.words else ""
            yield f"{kind}: {visible(', '.join(one.tools))}{words}{condition} ({one.origin.value})"


def elapsed(chain: ChainView, now: datetime | None = None) -> str:
    """How long it took, or takes so far; up to `now`."""
    seconds = ((now or chain.updated_at) - chain.created_at).total_seconds()
    return f"{max(0.0, seconds):.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _routed(last: RoutedView) -> Iterator[Line]:
    """Who works on the task, and how that was decided."""
    names = last.target_agents or (last.target_agent or "the agent without a name",)
    by = f"by {last.by}" if last.by else last.strategy.value
    yield Line(
        0, Mark.CHOICE, f"{visible(', '.join(names))} ({visible(by)})", visible(last.reasoning), at=last.timestamp
    )


def _step(step: StepView) -> Line:
    mark = _STEP_MARKS.get(step.status, Mark.PENDING)
    title = step.label or step.description or step.id
    if step.status in ("completed", "failed"):
        mark = Mark.RUNNING  # how it ended is a line below its actions
    tools = [*step.required_tools, *([" or ".join(step.one_of)] if step.one_of else [])]
    needs = [f"needs {visible(', '.join(tools))}"] if tools else []
    if step.tool_validation_mode is not Mode.STRICT:
        needs.append(step.tool_validation_mode.value)
    return Line(0, mark, visible(title), " · ".join(needs), passing=mark is Mark.PENDING, at=step.started_at)


def _closing(step: StepView) -> Line:
    at = step.ended_at
    if step.status == "failed":
        return Line(0, Mark.FAILED, f"{step.id} failed", at=at)
    if step.validation_status == "failed":
        missing = [one.tool for one in step.promises if one.kept_by is None]
        note = f"no receipt of {visible(', '.join(missing))}" if missing else "let pass"
        return Line(0, Mark.BROKEN, f"{step.id} continued without its required tools", note, at=at)
    kept = "its required tools succeeded" if step.validation_status == "passed" else "done"
    if step.tool_validation_mode is Mode.OFF and step.promises:
        kept = "done; not checked"
    return Line(0, Mark.DONE, f"{step.id} completed", kept, at=at)


def _cases(chain: ChainView, step_id: str) -> list[RequestView]:
    """The questions about a step itself, or with no step about the plan: the escalations."""
    return [one for one in chain.requests if one.step_id == step_id and not one.action_id]


def _broken(violations: Sequence[ViolationView], place: str) -> Iterator[Line]:
    """Where the model broke its word, and what it was told."""
    for one in violations:
        if one.place != place:
            continue
        where = "" if place not in ("plan", "answer") else f"{place}: "
        note = f"strike {one.strikes}" if one.strikes else ""
        yield Line(1, Mark.BROKEN, f"{where}{said(one.said, one.violation)}", note, at=one.at)
        if one.correction:
            # What words ask for which tool is for people too; else the first sentence: the rest is the exact form.
            first = f"{one.correction.partition('. ')[0].rstrip('.')}."
            told = one.correction if one.violation is Violation.MISSING_TOOL else first
            yield Line(1, Mark.CORRECTED, visible(f"corrected: {told}"))


def _events_of(step: StepView, chain: ChainView) -> Iterator[Line]:
    never = [item for item in chain.never_executed if item.get("step_id") == step.id]
    for moment in moments(step, never, _cases(chain, step.id)):
        dropped = [_never(item, 1) for item in moment.never]
        for action in moment.actions:
            if not _by_hand(action):
                below = "cached, did not run" if action.cached else f"chain {action.child}" if action.child else ""
                yield Line(1, Mark.RUNNING, call(action.tool, action.arguments), below, at=action.started_at)
            if action.receipt is None:
                yield from (
                    line for child in chain.children if child.id == action.child for line in _asked_below(child)
                )
            for request in chain.requests:
                if request.action_id == action.id:
                    yield from _question(request)
                    yield from dropped  # the proof of the stop stands right below it
                    dropped = []
                    yield from _outcome(request)
            if action.ran is not None:
                yield Line(2, Mark.OPTION, f"ran as {call(action.tool, action.ran)}")
            if action.receipt is not None and action.status == "done":
                yield _receipt(action, action.receipt)
        yield from dropped
        yield from _broken(moment.violations, step.id)
        for case in moment.cases:
            yield from _question(case)
            yield from _outcome(case)


def _by_hand(action: ActionView) -> bool:
    """Whether no tool was called: a person gave the result (D3)."""
    return bool(action.receipt and action.receipt.metadata.by and not action.arguments)


def _receipt(action: ActionView, receipt: ToolResult) -> Line:
    told = receipt.metadata
    took = f"{told.duration_ms / 1000:.1f} s" if told.duration_ms >= 1000 else f"{told.duration_ms} ms"
    given = "default" if told.source is SourceKind.MODEL else took if told.duration_ms else ""
    notes = [f"by {told.by}" if told.by else given]
    if changed := [hook.name for hook in told.hooks if hook.verdict is HookVerdict.MODIFY]:
        notes.append(f"changed by {', '.join(changed)}")
    if told.calls:
        notes.append(f"called {', '.join(one.tool for one in told.calls)}")
    mark = Mark.DONE if receipt.success else Mark.FAILED
    text = f"{visible(action.tool)}: {_brief(receipt)}"
    return Line(1, mark, text, visible(", ".join(filter(None, notes))), at=action.ended_at)


def _question(request: RequestView) -> Iterator[Line]:
    kind = request.kind.value.replace("_", " ")
    yield Line(1, Mark.STOP, f"STOP  {visible(request.question)}", kind, at=request.asked_at)
    yield from (Line(2, Mark.OPTION, text) for text in details(request))


def _asked_below(chain: ChildView) -> Iterator[Line]:
    """What a chain below and those below it ask now."""
    for request in chain.requests:
        yield from _question(request)
    for child in chain.children:
        yield from _asked_below(child)


def _outcome(request: RequestView) -> Iterator[Line]:
    if request.answer is not None:
        by = f"by {visible(request.answer.by)}" if request.answer.by else ""
        yield Line(1, Mark.CHOICE, answer_words(request, request.answer.answer), by, at=request.answer.at)
    elif request.status in (RequestStatus.EXPIRED, RequestStatus.WITHDRAWN):
        yield Line(1, Mark.FAILED, f"the question was {request.status.value}")


def never_executed(chain: ChainView) -> list[tuple[str, str]]:
    """Every call that was proposed and never ran, as one would write it, and why."""
    return [_wished(item) for item in chain.never_executed]


def _wished(item: dict[str, Any]) -> tuple[str, str]:
    tool, arguments = str(item.get("tool", "?")), item.get("arguments")
    reason = visible(str(item.get("reason", "")))
    # Arguments of which the log keeps only the beginning are text.
    return call(tool, arguments) if isinstance(arguments, dict) else f"{visible(tool)}(…)", reason


def _never(item: dict[str, Any], depth: int) -> Line:
    wished, reason = _wished(item)
    return Line(depth, Mark.NEVER, f"never executed: {wished}", reason)


def _end(chain: ChainView) -> Iterator[Line]:
    yield from (replace(line, at=chain.updated_at) for line in answer_lines(chain))
    counts = [
        elapsed(chain),
        count(chain.usage.actions, "action"),
        count(chain.usage.turns, "turn"),
        count(len(chain.requests), "question"),
    ]
    if chain.never_executed:
        counts.append(f"{count(len(chain.never_executed), 'call')} never executed")
    why = f": {chain.error.code} {visible(chain.error.message)}" if chain.error else ""
    why = f", {visible(chain.stopped)}" if chain.stopped else why
    yield Line(0, _END_MARKS[chain.status], f"{chain.status}{why}", " · ".join(counts), at=chain.updated_at)


def answer_lines(chain: ChainView) -> list[Line]:
    """What was done, not done and undone, and what the model says, apart (F1); the words first, unless the deeds do not
    say the same.
    """
    answer, own = chain.answer or FinalAnswer(), phrases(chain.language)
    deeds = []
    for deed in answer.deeds:
        place, by = deed.action_id.removeprefix(f"{chain.id}."), deed.by and f"by {visible(deed.by)}"
        agent = deed.agent and f"agent {deed.agent}"
        note = ", ".join(filter(None, (place, agent, by, *map(visible, deed.warnings))))
        deeds.append(Line(0, Mark.DEED, f"{own.done}: {visible(deed.says)}", note))
    for one in answer.not_done:
        conditional = one.why is WhyNot.UNFULFILLED and one.message
        why = "" if conditional else one.why.value.replace("_", " ")
        note = visible(": ".join(filter(None, (why, one.message))))
        deeds.append(Line(0, Mark.NOT_DONE, f"{own.not_done}: {visible(one.says)}", note))
    for what, some in ((own.taken_back, answer.undone), (own.not_taken_back, answer.not_undone)):
        places = ((one, one.action_id.removeprefix(f"{chain.id}.")) for one in some)
        deeds += [Line(0, Mark.NOT_DONE, f"{what}: {visible(one.says)}", place) for one, place in places]
    words = [Line(0, Mark.WORDS, visible(text)) for text in answer.text.splitlines()]
    unproven = own.unproven.capitalize()
    words += [Line(0, Mark.UNPROVEN, f"{unproven}: {visible(sentence)}") for sentence in answer.unproven]
    differ = answer.unproven or len(deeds) > len(answer.deeds) or not answer.deeds
    return [*deeds, *words] if differ else [*words, *deeds]


def _brief(receipt: ToolResult) -> str:
    if receipt.error:
        words = f"{receipt.error.error_type.value}: {receipt.error.message}"
        end = "" if words.rstrip().endswith((".", "?", "!")) else "."
        return visible(f"{words}{end} {receipt.error.suggestion}" if receipt.error.suggestion else words)
    if receipt.next_action is NextAction.CLARIFICATION_NEEDED and receipt.clarification:
        return f"asks: {count(len(receipt.clarification.options), 'option')}"
    shown = [(name, value) for name, value in receipt.data.items() if name != "selected"]
    return "  ".join(f"{visible(name)}={value_text(value, 32)}" for name, value in shown[:4]) or "ok"
