"""Hooks in the worker: where they come from (CONTRACT H4), which is tools modules, dotted paths in
HALTPOINT_HOOKS, and installed packages; those that every tool has (H3); and the one that an
operator writes as data (G4).

Those of every tool are the worker's own steps, written where they cost least; a receipt has one
that refused. The rules of the policy file are a pre-hook like any other, behind all others: it
judges the call as it would run. A value that cannot be compared, a text with a number for one, or
that is not there, never lets a call through: the condition holds for a rule that asks or refuses,
and does not for one that passes.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from itertools import chain
from types import ModuleType
from typing import Any, Final

from haltpoint.chain.model.references import covers, path_of, path_text, walk
from haltpoint.chain.model.schemas import defaults
from haltpoint.contracts.base import value
from haltpoint.contracts.people.answerers import ANYONE, Answerers
from haltpoint.contracts.people.approval_rules import ApprovalRule, Condition, Verdict
from haltpoint.contracts.reasons import Source, SourceKind
from haltpoint.contracts.results import HookRecord, HookVerdict
from haltpoint.contracts.written import fits
from haltpoint.runtime.config import dotted_path
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.tools import Ctx, hook
from haltpoint.tools.hooks import Hook, Moment, hook_of, hooks_in

GROUP: Final = "haltpoint.hooks"
"""The group of entry points; each names one hook, `module:function`."""


@value
class HookChain:
    """The hooks of one tool, each list in the order in which it runs."""

    pre: Sequence[Hook] = ()
    post: Sequence[Hook] = ()


NO_HOOKS: Final = HookChain()

INTERNAL: Final = "builtin:internal"
"""Refuses a tool that no plan and no model may call (`admit.py`)."""
ARGUMENTS: Final = "builtin:arguments"
"""Refuses arguments that do not fit the tool's parameters (`admit.py`)."""
PROVENANCE: Final = "builtin:provenance"
"""Refuses values without an origin, checked again by the receipts of now (`judges.py`)."""
APPROVALS: Final = "builtin:approvals"
"""Does what the first rule of the policy file that fits says."""

_SECONDS: Final = 5.0
_DECLARED: Final = Source(source=SourceKind.CONTEXT)
"""Of a declared default."""


def load_hooks(modules: Iterable[ModuleType], paths: Sequence[str]) -> tuple[Hook, ...]:
    """Every hook once, by order and name, so that all workers run them alike. Raises HaltpointError
    HP-032.
    """
    hooks = list(chain.from_iterable(map(hooks_in, modules)))
    hooks += map(_at, paths)
    for point in entry_points(group=GROUP):
        role = f"hook of the entry point {point.name!r} of group {GROUP},"
        hooks.append(_at(point.value, role))
    each_once = {id(each): each for each in hooks}
    return tuple(sorted(each_once.values(), key=lambda each: (each.order, each.name)))


def _at(path: str, role: str = "hook") -> Hook:
    found = hook_of(dotted_path.function(path, "HP-032", role))
    if found is None:
        what = f"the {role} {path} cannot be loaded"
        remedy = "Decorate the function: @hook.pre(...) or @hook.post(...)"
        raise HaltpointError("HP-032", what, "it does not name a hook", remedy)
    return found


def refused_by(name: str) -> HookRecord:
    """The line of a receipt that one of them refused."""
    return HookRecord(name=name, verdict=HookVerdict.BLOCK)


@dataclass(frozen=True, slots=True)
class RuleAsk(hook.Ask):
    """The question of a rule: how long it stays open, and who may answer."""

    expires: float | None = None
    answerers: Answerers = ANYONE


@dataclass(frozen=True, slots=True)
class Reported:
    """What a rule would do that is only tried: asks, or refuses."""

    verdict: HookVerdict


def approvals(rules: Sequence[ApprovalRule]) -> list[Hook]:
    """The rules of the policy file as hooks: one in which the first counts that fits a call, and
    one for each that is only tried.
    """
    counting: list[ApprovalRule] = []
    hooks: list[Hook] = []
    for rule in rules:
        if rule.report_only:
            hooks.append(_tried(rule, tuple(counting)))
        else:
            counting.append(rule)

    async def judge(call: hook.Call, ctx: Ctx[Any]) -> hook.Ask | hook.Block | None:
        rule = _first(counting, call, ctx)
        if rule is None or rule.do is Verdict.PASS:
            return None
        if rule.do is Verdict.ASK:
            return RuleAsk(rule.words, expires=rule.expires, answerers=rule.answerers)
        return hook.Block(rule.words)

    return [*hooks, _hook(APPROVALS, counting, judge)]


def _tried(rule: ApprovalRule, before: Sequence[ApprovalRule]) -> Hook:
    """Reports the rule where none that stands before it counts."""
    is_asking = rule.do is Verdict.ASK
    reported = Reported(HookVerdict.WOULD_ASK if is_asking else HookVerdict.WOULD_REFUSE)

    async def report(call: hook.Call, ctx: Ctx[Any]) -> Reported | None:
        return reported if _first((*before, rule), call, ctx) is rule else None

    return _hook(f"rule:{rule.id}", (rule,), report)


def _first(rules: Iterable[ApprovalRule], call: hook.Call, ctx: Ctx[Any]) -> ApprovalRule | None:
    """The first rule that fits a call."""
    return next((rule for rule in rules if applies(rule, call, ctx.tenant)), None)


def _hook(name: str, rules: Iterable[ApprovalRule], judge: Callable[..., Any]) -> Hook:
    globs = dict.fromkeys(chain.from_iterable(rule.tools for rule in rules))
    return Hook(
        name=name,
        moment=Moment.PRE,
        function=judge,
        tools=tuple(globs),
        order=0,
        timeout=_SECONDS,
        security=True,
        is_async=True,
        place="the policy file",
    )


def applies(rule: ApprovalRule, call: hook.Call, tenant: str | None) -> bool:
    """Whether a rule is about a call: its tools, its tenant and all its conditions fit."""
    if not rule.names(call.tool) or rule.tenant not in (None, tenant):
        return False
    return all(_fits(rule, call, place) for place in rule.when)


def _fits(rule: ApprovalRule, call: hook.Call, place: str) -> bool:
    """Whether a condition of the rule holds: of a rule that passes for every value, else for any;
    one that cannot be compared holds for a rule that asks or refuses, and not for one that passes.
    """
    passes = rule.do is Verdict.PASS
    condition = rule.when[place]
    path = path_of(place)
    filled = {**defaults(call.spec.parameters), **call.arguments}
    verdicts = []
    for at, given in walk(filled):
        if len(at) != len(path) or not covers(path, at):
            continue
        is_default = path[0] not in call.arguments
        source = _DECLARED if is_default else call.sources.get(path_text(at))
        try:
            verdicts.append(_holds(condition, given, source))
        except TypeError:
            verdicts.append(not passes)
    if passes:
        return bool(verdicts) and all(verdicts)
    return any(verdicts) or not verdicts


def _holds(condition: Condition, value: Any, source: Source | None) -> bool:
    """Whether all of a condition holds of a value. Raises TypeError where the two cannot be
    compared.
    """
    if condition.equals is not None and value != condition.equals:
        return False
    if condition.in_ is not None and value not in condition.in_:
        return False
    if condition.at_least is not None and _as(int | float, value) < condition.at_least:
        return False
    if condition.at_most is not None and _as(int | float, value) > condition.at_most:
        return False
    if condition.regex is not None and next(fits(condition.regex, _as(str, value)), None) is None:
        return False
    return condition.source is None or _as(Source, source).source in condition.source


def _as(kind: Any, value: Any) -> Any:
    """A value of this kind. Raises TypeError."""
    if isinstance(value, bool) or not isinstance(value, kind):
        raise TypeError("the two cannot be compared")
    return value
