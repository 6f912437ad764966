"""Limits as they apply to one chain or step: policy, budget and plan put together. A plan only tightens them."""

import re
from collections.abc import Collection, Mapping
from datetime import UTC
from fnmatch import fnmatchcase

import msgspec

from haltpoint.chain.model.plain_text import plain
from haltpoint.chain.model.state import Chain, PlanOrigin
from haltpoint.chain.model.world import Policy
from haltpoint.contracts.policy import Treatment, Treatments
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import Step, StepType
from haltpoint.contracts.work.tasks import Mode, Task


def deadline_of(task: Task, policy: Policy, now: int) -> int:
    """When a chain that is accepted now (ms) fails at the latest (ms): the earliest of policy, task and its seconds. A
    task's deadline without a time zone is read as UTC.
    """
    limits = [now + int(one * 1000) for one in (policy.chain_timeout, task.budget.seconds) if one is not None]
    if task.deadline is not None:
        moment = task.deadline if task.deadline.tzinfo else task.deadline.replace(tzinfo=UTC)
        limits.append(int(moment.timestamp() * 1000))
    return min(limits)


def seconds_that_bind(chain: Chain) -> float | None:
    """The seconds of the budget, when they end the chain's time; None when a deadline does that comes earlier."""
    seconds = chain.task.budget.seconds
    return seconds if seconds is not None and chain.deadline >= chain.created_at + int(seconds * 1000) else None


def mode(task: Task, step: Step | None) -> Mode:
    """How far the model is held to its word; a step may only tighten what the task says."""
    if step is None or step.tool_validation_mode is None or task.mode is Mode.STRICT:
        return task.mode
    return Mode(step.tool_validation_mode.value)


def validation(task: Task, step: Step, *, unkept: bool) -> str:
    """Whether a completed step of a model's kept its promise; `skipped`: it promised no tool, or nobody checks (s0)."""
    unchecked = step.step_type is StepType.REASONING or mode(task, step) is Mode.OFF
    return "failed" if unkept else "skipped" if unchecked else "passed"


def language(task: Task, policy: Policy) -> str:
    """In which language the runtime says its own words (F1)."""
    return task.language or policy.language


def strikes(task: Task, policy: Policy) -> int:
    """How many violations in a row bring a case before a person (D3)."""
    return task.strikes or policy.strikes


def max_turns(task: Task, step: Step, policy: Policy) -> int:
    """How many proposals a step may ask for."""
    most = task.max_turns or policy.max_turns
    return min(step.max_turns or most, most)


def actions_per_turn(step: Step, policy: Policy) -> int:
    """How many calls of one proposal may run (C7)."""
    return min(step.actions_per_turn or policy.actions_per_turn, policy.actions_per_turn)


def parallel(task: Task, step: Step, origin: PlanOrigin | None, policy: Policy) -> tuple[int, int]:
    """How many calls and thoughts of a chain may be under way when this step begins one, and how many of its own (C8).
    A literal step may say more than its task, which has the same author.
    """
    most = task.parallel or policy.parallel
    own = step.parallel or most
    return (max(own, most) if origin is PlanOrigin.LITERAL else most), own


def turns_left(chain: Chain, policy: Policy, turns: int) -> bool:
    """Whether one more proposal may be asked for after so many."""
    limit = chain.task.budget.turns
    return turns < (policy.max_chain_turns if limit is None else min(limit, policy.max_chain_turns))


def tokens_left(chain: Chain, tokens: int) -> bool:
    """Whether the model may be asked again after so many tokens."""
    limit = chain.task.budget.tokens
    return limit is None or tokens < limit


def treatment(rules: Treatments, tool: str) -> Treatment:
    """What a policy says of a tool: under its name, else under the first glob that fits; else a person is asked."""
    if isinstance(rules, Treatment):
        return rules
    fits = (said for glob, said in rules.items() if fnmatchcase(tool, glob))
    return rules.get(tool) or next(fits, Treatment.ASK)


def without_blocked(tools: Mapping[str, ToolSpec], blocked: Collection[str]) -> dict[str, ToolSpec]:
    """The tools, with those internal that are blocked. Neither case, signs nor look-alikes make another name."""

    def folded(name: str) -> str:
        return re.sub(r"[\W_]", "", plain(name)).casefold()

    names = set(map(folded, blocked))
    found = (name for name in tools if names and folded(name) in names)
    return {**tools, **{name: msgspec.structs.replace(tools[name], internal=True) for name in found}}
