"""The rules of the policy file (CONTRACT G4): the hook that an operator writes as data, behind all
others, since it judges the call as it would run.

A value that cannot be compared, a text with a number for one, or that is not there, never lets a
call through: the condition holds for a rule that asks or refuses, and does not for one that passes.
"""

from collections.abc import Iterable
from typing import Any, Final

from haltpoint.chain.model.references import covers, path_of, path_text, walk
from haltpoint.chain.model.schemas import defaults
from haltpoint.contracts.people.approval_rules import ApprovalRule, Condition, Verdict
from haltpoint.contracts.reasons import Reason, ReasonKind, Source, SourceKind
from haltpoint.contracts.results import ErrorType, HookVerdict
from haltpoint.contracts.written import fits
from haltpoint.tools import hook
from haltpoint_tool_worker.admission.calls import ToolCall, blocked_by
from haltpoint_tool_worker.hooks import APPROVALS
from haltpoint_tool_worker.results.reading import failed

_DECLARED: Final = Source(SourceKind.CONTEXT)
"""Of a declared default."""


def obey(call: ToolCall, rules: Iterable[ApprovalRule]) -> None:
    """Do what the first rule says that fits the call; the receipt reports those before it that are
    only tried. Raises RefusedError.
    """
    for rule in rules:
        if not applies(rule, call.seen(), call.job.request.tenant):
            continue
        asks = rule.do is Verdict.ASK
        if rule.report_only:
            call.job.note(
                f"rule:{rule.id}", HookVerdict.WOULD_ASK if asks else HookVerdict.WOULD_REFUSE
            )
            continue
        if asks:
            call.job.note(APPROVALS, HookVerdict.ASK)
            call.reasons.append(Reason(ReasonKind.RULE, rule.words))
            call.expires = rule.expires
            call.answerers = rule.answerers
        elif rule.do is Verdict.REFUSE:
            words = f"{call.tool.name} was not called: blocked by {APPROVALS}: {rule.words}"
            raise blocked_by(call.job, APPROVALS, failed(ErrorType.BLOCKED, words))
        return


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
    path = path_of(place)
    is_default = path[0] not in call.arguments
    filled = {**defaults(call.spec.parameters), **call.arguments}
    verdicts = []
    for at, given in walk(filled):
        if len(at) == len(path) and covers(path, at):
            source = _DECLARED if is_default else call.sources.get(path_text(at))
            try:
                verdicts.append(_holds(rule.when[place], given, source))
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
