"""What is due in a step (CONTRACT C3), and how a step ends without it (C11).

A promise is a set of tools, kept by one successful receipt of one of them. A step of a plan
promises what the plan says. The one step of an open-ended task carries the promises of the task:
those of the goal, of patterns and of the submitter. A drafted plan has to promise a tool of each of
these in a step.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Any

from haltpoint.chain.checks.answer import not_done_line
from haltpoint.chain.checks.bounds import NO_BOUNDS, tools_of, whose
from haltpoint.chain.checks.plans import inside
from haltpoint.chain.model.references import (
    reached,
    read_json,
    references,
    walk,
    write_json,
)
from haltpoint.chain.model.state import Action, Lines
from haltpoint.chain.model.work import Work
from haltpoint.contracts.answers import OR, NotDone, WhyNot
from haltpoint.contracts.base import Strings
from haltpoint.contracts.reasons import Heard
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.tools import BUILT_IN
from haltpoint.contracts.work.bounds import Bound, ChainBounds
from haltpoint.contracts.work.plans import Plan

Promise = Strings
Promises = tuple[Promise, ...]


def of_step(work: Work, index: int) -> Promises:
    """All that a step promises, in a fixed order."""
    own = work.steps[index].promised
    if not work.is_open or work.bounds is None:
        return own
    return (*own, *(bound.tools for bound in work.bounds.required_tools))


def missing(work: Work, index: int) -> Promises:
    """What is due in a step: its promises without a receipt, but for those that an agent has left
    out.
    """
    entries = work.left_out if work.is_open else ()
    left_out = [entry.tools for entry in entries]
    return tuple(tools for tools in _unkept(work, index) if tools not in left_out)


def _unkept(work: Work, index: int) -> list[Promise]:
    receipts = work.run[index].receipts
    promises = of_step(work, index)
    return [tools for bit, tools in enumerate(promises) if not receipts >> bit & 1]


def succeeded(work: Work) -> set[str]:
    """The tools that have succeeded in the chain, and in those that carried its calls out."""
    actions = work.actions.values()
    below = [action.told.below.nested_successes for action in actions]
    return {action.tool for action in actions if action.satisfies}.union(*below)


def of_no_step(work: Work, but: int | None = None) -> list[Bound]:
    """The promises of the task that are still due, and of which no step, `but` this one, promises a
    tool by itself.
    """
    bounds = work.bounds or NO_BOUNDS
    if not bounds.required_tools:
        return []
    steps = [step.promised_tools for index, step in enumerate(work.steps) if index != but]
    left_out = [entry.tools for entry in work.left_out]
    settled = succeeded(work).union(*steps, *left_out)
    return [bound for bound in bounds.required_tools if settled.isdisjoint(bound.tools)]


def tools_in(promises: Iterable[Promise]) -> list[str]:
    """The tools of promises, each once."""
    return list(dict.fromkeys(chain.from_iterable(promises)))


def in_words(promises: Promises) -> str:
    """Promises as a sentence names them."""
    return ", ".join(OR.join(tools) for tools in promises)


def dropped(work: Work, bounds: ChainBounds, plan: Plan) -> Iterator[str]:
    """The promises of the task that no step of a drafted plan makes, in words for the model. Each
    tool that keeps a step's promise has to be one that is required, or call one inside.
    """
    promises = list(chain.from_iterable(step.promised for step in plan.steps))
    specs = map(work.world.spec, tools_in(promises))
    calls = {spec.name: {spec.name, *inside(spec, work.world.tools)} for spec in specs}
    for bound in bounds.required_tools:
        able = {tool for tool in calls if not calls[tool].isdisjoint(bound.tools)}
        if not any(able.issuperset(promise) for promise in promises):
            names = OR.join(bound.tools)
            yield (
                f"No step promises {names}, which {whose(bound)} requires. "
                f"Add a step with {names} in required_tools or one_of."
            )


# ---- what was not done


def not_done(work: Work) -> Lines:
    """What was due and has no receipt when the chain ends: promises, and the calls of a literal
    plan that were not made, but for those that may fail. What an agent has left out another one may
    have done. A promise has no arguments to say, so its tools are named.
    """
    left_out = {entry.tools: entry.reason for entry in work.left_out}
    due = [bound.tools for bound in of_no_step(work)]
    lines = list[NotDone]()
    for index, step in enumerate(work.steps):
        held = step.actions[work.run[index].actions :]
        for call in [call for call in held if not call.optional]:
            spec = work.world.spec(call.tool)
            known = call.arguments.items()
            plain = {name: value for name, value in known if not references(value)}
            arguments = write_json(plain)
            reason = left_out.pop((call.tool,), work.phrases.not_reached)
            lines.append(not_done_line(spec, arguments, WhyNot.NEVER_EXECUTED, reason))
        due += () if work.is_literal else _unkept(work, index)
    due += left_out if work.is_literal else ()
    promised = list[NotDone]()
    for tools in dict.fromkeys(due):
        names = OR.join(tools)
        why = WhyNot.LEFT_OUT if tools in left_out else WhyNot.NOT_CALLED
        reason = left_out.get(tools, work.phrases.not_called)
        promised.append(NotDone(tool=names, says=names, why=why, message=reason))
    return (*promised, *lines)


# ---- the end of a step without what is due


def offers_end(work: Work, index: int, *, corrected: bool) -> bool:
    """Whether a request for a step offers `end_step`: an effect is due, or a lookup after an error
    or a correction.
    """
    due = tools_in(missing(work, index))
    if not all(work.world.spec(name).read_only for name in due):
        return True
    if not due:
        return False
    return corrected or last_error(work, index) is not None


def last_error(work: Work, index: int) -> Action | None:
    """The last receipt of a step, if it is an error or a person's no. That a lookup found nothing
    is neither, nor is a person's pick.
    """
    receipts = _receipts(work, (index,))
    if not receipts:
        return None
    last = receipts[-1]
    error = last.error
    if error is None or _is_reading(work, last):
        return None
    is_pick = error.error_type is ErrorType.VALIDATION and last.told.by
    return None if is_pick else last


def _receipts(work: Work, steps: Collection[int]) -> list[Action]:
    """The actions of steps that have a receipt of a tool: not one of the built-in ones, which only
    speak.
    """
    own = [action for action in work.actions.values() if action.step in steps]
    return [action for action in own if action.outcome and action.tool not in BUILT_IN]


def is_denied(work: Work, index: int) -> bool:
    """Whether a person has said no in this step to something that is due."""
    due = tools_in(missing(work, index))
    faults = [action.error for action in work.actions_of(index) if action.tool in due]
    return any(fault and fault.error_type is ErrorType.DENIED for fault in faults)


def may_be_left(work: Work, index: int) -> bool:
    """Whether a step may be left without asking a person: it is optional, a person has answered the
    model, or there is a reading, which a step that was not struck may have found reason in, or
    which found nothing. What a plan calls optional may not be what goal, pattern or submitter
    require.
    """
    bounds = work.bounds or NO_BOUNDS
    required = tools_of(bounds.required_tools)
    due = tools_in(missing(work, index))
    if work.steps[index].optional and required.isdisjoint(due):
        return True
    if work.people.heard is Heard.ANSWER:
        return True
    before = reached([index], lambda step: work.graph.dependencies[step])
    readings = [action for action in _receipts(work, before) if _is_reading(work, action)]
    if work.run[index].strikes:
        return any(map(_is_empty, readings))
    return bool(readings)


def _is_reading(work: Work, receipt: Action) -> bool:
    """Whether a receipt says what a read-only tool found, or that it found nothing. A person's no
    is no reading.
    """
    error = receipt.error
    found_nothing = error is not None and error.error_type is ErrorType.NOT_FOUND
    is_reading = receipt.satisfies or (found_nothing and not receipt.told.by)
    return is_reading and work.world.spec(receipt.tool).read_only


def _is_empty(reading: Action) -> bool:
    """Whether a reading has found nothing: its lists are empty and its objects have no value,
    whatever is beside them, or it has no value at all.
    """
    values = [value for path, value in walk(read_json(reading.data)) if path]
    groups = [value for value in values if isinstance(value, dict | list)]
    if not reading.satisfies:
        return True
    return not any(map(_is_something, groups or values))


def _is_something(value: Any) -> bool:
    """Whether a value says something; an object does when one in it does."""
    is_object = isinstance(value, dict)
    return any(map(_is_something, value.values())) if is_object else bool(value)
