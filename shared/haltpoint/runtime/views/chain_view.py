"""A chain as people and clients see it, made from its keys; also with stars in
place of its secrets, and with its story. Pure: values in, views out.
"""

import json
from collections import ChainMap
from collections.abc import Collection
from contextlib import suppress
from typing import cast

from msgspec import structs
from msgspec.json import encode

from haltpoint.chain.checks.answer import answer
from haltpoint.chain.model.limits import added
from haltpoint.chain.model.state import Action, Chain, is_submitters
from haltpoint.chain.model.statuses import ActionStatus, StepStatus
from haltpoint.contracts.answers import FinalAnswer
from haltpoint.contracts.base import action_id
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.results import Spent
from haltpoint.contracts.secrets import without_secrets_in
from haltpoint.contracts.views.chains import (
    ChainSummary,
    ChainView,
    ChildView,
    CurrentView,
    DroppedCall,
    ErrorView,
    ModelRestView,
    RequestView,
    RoutedView,
)
from haltpoint.runtime.store.loading import decode_action
from haltpoint.runtime.store.rows import local
from haltpoint.runtime.views.log_view import Details, Told, moment
from haltpoint.runtime.views.record import ChainRecord, title_of
from haltpoint.runtime.views.request_view import request_of
from haltpoint.runtime.views.step_view import resting, step_view, thoughts_of
from haltpoint.runtime.views.story import tell
from haltpoint.runtime.views.wording import about


def summary_of(chain: Chain) -> ChainSummary:
    """One line of the list of chains."""
    error = chain.end.error
    return ChainSummary(
        id=chain.id,
        status=chain.status,
        goal=title_of(chain),
        agent=chain.task.agent,
        error=None if error is None else ErrorView(**structs.asdict(error)),
        unfinished=chain.end.unfinished,
        created_at=moment(chain.created_at),
        updated_at=moment(chain.updated_at),
    )


def view_of(record: ChainRecord, told: Told | None = None) -> ChainView:
    """The whole chain; with its answer when it is over. `told` is what its log tells."""
    chain = record.chain
    task = record.task
    told = told or Told(record)
    thoughts = thoughts_of(record, told)
    steps = [step_view(record, told, step, run, thoughts[step.id]) for step, run in record.steps]
    cancelled = ChainMap(*told.others[FactType.CHAIN_CANCELLED])
    stopped = (about("by {}", cancelled.get("by")), cancelled.get("reason"))
    routed = tuple(map(RoutedView.model_validate, told.others[FactType.CHAIN_ROUTED]))
    return ChainView(
        **dict(summary_of(chain)),
        answer=answer_of(record) if record.status.final else None,
        mode=task.mode,
        tenant=task.tenant,
        conversation_id=task.conversation_id,
        current=_current(record),
        waits_for_model=None if record.status.final else _rest_of(record),
        submitted_by=chain.task.handed.submitted_by,
        bounds=chain.bounds,
        stopped=": ".join(filter(None, stopped)) or None,
        routed=routed[-1] if routed else None,
        routed_before=routed[:-1],
        steps=tuple(steps),
        strikes=chain.row.count,
        violations=(*told.violations_of("plan"), *told.violations_of("answer")),
        never_executed=tuple(map(_dropped, told.others[FactType.ACTION_NEVER_EXECUTED])),
        requests=requests_of(record, told),
        children=tuple(map(_child, record.children.values())),
        budget=task.budget,
        usage=_usage(record),
        tokens_estimated=any('"estimated":true' in one.data for one in record.thoughts.values()),
        deadline=moment(chain.deadline),
    )


def answer_of(record: ChainRecord) -> FinalAnswer:
    """The answer of a chain that is over, as the core has stored it (F1); without words where there
    are none. The core lets the actions of a submitter's literal plan go, so their lines are read
    off the receipts here, by its own function.
    """
    end = record.chain.end
    text = end.answer or ""
    if not is_submitters(record.chain):
        return FinalAnswer(text=text, deeds=end.deeds, not_done=end.not_done)
    return answer(text, actions_of(record), (), end.not_done, record.spec, record.phrases)


def actions_of(record: ChainRecord) -> list[Action]:
    """The actions of a chain that is over, as the core has them."""
    steps = {step.id: index for index, (step, _) in enumerate(record.steps)}
    actions: list[Action] = []
    for name, stored in record.actions.items():
        step, _, _ = local(name).rpartition(".")
        actions.append(decode_action(stored, steps[step], ActionStatus.DONE))
    return actions


def requests_of(record: ChainRecord, told: Told | None = None) -> tuple[RequestView, ...]:
    """All that the chain has asked, each with the times of its log."""
    times = (told or Told(record)).times
    return tuple(request_of(stored, record, times) for stored in record.requests.values())


def _rest_of(record: ChainRecord) -> ModelRestView | None:
    """Why a model cannot answer this chain, or one below it."""
    below = filter(None, map(_rest_of, record.children.values()))
    return next(iter(record.rests), None) or next(below, None)


def _child(record: ChainRecord) -> ChildView:
    """A chain below, with its questions."""
    return ChildView(
        id=record.id,
        status=record.status.value,
        goal=title_of(record.chain),
        agent=record.task.agent,
        requests=requests_of(record),
        children=tuple(map(_child, record.children.values())),
    )


def _usage(record: ChainRecord) -> Spent:
    """What the chain has used, with what its agents have; a share that one of them holds is not
    used.
    """
    used = record.chain.spent
    for child in record.children.values():
        if child.task.agent is not None:
            used = added(used, Spent(chains=1))
            used = added(used, _usage(child))
    return used


def _dropped(details: Details) -> DroppedCall:
    """A call that never ran; arguments that the log keeps only in part stay text."""
    with suppress(ValueError):
        details["arguments"] = json.loads(details.get("arguments", "{}"))
    return cast("DroppedCall", details)


def _current(record: ChainRecord) -> CurrentView | None:
    """The first step that is under way."""
    for index, (step, run) in enumerate(record.steps):
        if run.status in (StepStatus.IN_PROGRESS, StepStatus.WAITING):
            last = record.actions.get(action_id(record.id, step.id, run.actions))
            pending = [action_id(record.id, step.id, number) for number in run.pending]
            return CurrentView(
                step_id=step.id,
                tool=last.tool if last else None,
                index=index,
                waiting_for=record.waiting,
                resting=resting(record, pending),
            )
    return None


def as_json(record: ChainRecord, typed: Collection[str], *, story: bool = False) -> bytes:
    """The view of a chain; `typed` are the parameters that tools type as secrets. The stars come
    first: the story cuts what is long.
    """
    told = Told(record)
    view = view_of(record, told)
    text = view.model_dump_json().encode()
    stars = without_secrets_in(text, typed)
    if not story:
        return stars
    shown = view if stars == text else ChainView.model_validate_json(stars)
    lines = encode(tell(shown, told.ended))
    return b'%s,"story":%s}' % (stars.removesuffix(b"}"), lines)
