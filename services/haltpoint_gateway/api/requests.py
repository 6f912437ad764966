"""Requests: the inbox, and the one way to answer."""

import hashlib
from functools import partial
from typing import Annotated, Final

from fastapi import APIRouter, Body, Header, Query, Response
from msgspec import structs

from haltpoint.contracts.people.audit import Deed
from haltpoint.contracts.people.humans import Answer, Choice
from haltpoint.contracts.reasons import ReasonKind
from haltpoint.contracts.secrets import starred, unstarred
from haltpoint.contracts.views.chains import Page, RequestView
from haltpoint.runtime.store.inbox import Verdict
from haltpoint.runtime.views.queries import RequestQuery
from haltpoint_gateway.answering import allowed, approves, faults_of
from haltpoint_gateway.gateway import Answerer, Gateway, Here, Reader
from haltpoint_gateway.people.answerers import check_answerer, is_theirs, may_answer
from haltpoint_gateway.people.principal import Principal
from haltpoint_gateway.problems import Problem, found
from haltpoint_gateway.stars import Starred

CLAIMED: Final = 900
"""Seconds for which a person takes a question."""


router = APIRouter(prefix="/v1/requests", tags=["requests"], route_class=Starred)


@router.get("")
async def list_requests(
    gateway: Here, who: Reader, query: Annotated[RequestQuery, Query()]
) -> Page[RequestView]:
    """Questions that this key's person may answer: the open ones unless `status` says otherwise;
    urgent ones first, then by deadline.
    """
    is_wanted = is_theirs if query.mine else may_answer
    return await gateway.views.requests(query, who.can_see, partial(is_wanted, who))


@router.get("/{request_id}")
async def get_request(
    gateway: Here, request_id: str, who: Reader, response: Response
) -> RequestView:
    """One question; its ETag is what an approval of a destructive call sends as If-Match."""
    request = await seen(gateway, request_id, who)
    response.headers["ETag"] = tag_of(request)
    return request


def tag_of(request: RequestView) -> str:
    """The ETag of a question: of all that is shown of it, but who is at work on it."""
    shown = request.model_dump_json(exclude={"votes", "claim"})
    return f'"{hashlib.sha256(shown.encode()).hexdigest()[:32]}"'


@router.post("/{request_id}/answer")
async def answer(
    gateway: Here,
    request_id: str,
    body: Annotated[Answer, Body()],
    who: Answerer,
    if_match: Annotated[str | None, Header()] = None,
) -> RequestView:
    """Answer, once. The second answer gets 409 with the first, a late one 410, one that is not
    needed 412, one from a person who may not answer 403. Where several people have to say yes, each
    yes is a vote until the last. If-Match says which question was seen: with another one 412; who
    approves a destructive call without it, or with `*`, gets 428.
    """
    request = await seen(gateway, request_id, who)
    check_seen(request, body, if_match)
    return await take_answer(gateway, request, body, who)


@router.post("/{request_id}/claim")
async def claim(gateway: Here, request_id: str, who: Answerer) -> RequestView:
    """Take a question for 15 minutes: others can neither take nor answer it (409)."""
    request = await seen(gateway, request_id, who)
    check_answerer(who, request)
    return await _claim(gateway, request, who, CLAIMED)


@router.post("/{request_id}/release")
async def release(gateway: Here, request_id: str, who: Answerer) -> RequestView:
    """Give back a question that this key's person has taken; an admin may give back any."""
    return await _claim(gateway, await seen(gateway, request_id, who), who, 0)


async def _claim(
    gateway: Gateway, request: RequestView, who: Principal, seconds: int
) -> RequestView:
    is_forced = who.admin and not seconds
    verdict = await gateway.inbox.claim(request.id, who.name, seconds, forced=is_forced)
    return await _outcome(gateway, request.id, who, verdict)


def check_seen(
    request: RequestView,
    answer: Answer,
    if_match: str | None,
    hint: str = "GET the request, look at the call, and send its ETag as If-Match.",
) -> None:
    """Refuse an answer to a question that is not as it was seen (RFC 9110, 13.1.1), and a yes to a
    destructive call that was given without a look. `hint` says how to look. Raises Problem.
    """
    tags = map(str.strip, (if_match or "").split(","))
    if not request.is_open or tag_of(request) in tags:
        return
    if if_match not in (None, "*"):
        detail = "The question has changed since it was seen."
        shown = request.model_dump(mode="json")
        raise Problem(412, "request_changed", detail, hint=hint, request=shown)
    kinds = {reason.kind for reason in request.reasons}
    if answer.decision is Choice.APPROVE and ReasonKind.DESTRUCTIVE in kinds:
        detail = "The call is destructive: a yes counts only when the question was seen."
        raise Problem(428, "if_match_missing", detail, hint=hint)


async def take_answer(
    gateway: Gateway,
    request: RequestView,
    body: Answer,
    who: Principal,
) -> RequestView:
    """Give the answer; the request as it is then. Raises Problem."""
    check_answerer(who, request)
    if body.arguments is not None:
        typed = await gateway.catalogue.typed_secrets()
        shown = starred(request.arguments, typed)  # stars mean that nothing is changed there
        edited = unstarred(body.arguments, shown, request.arguments)
        body = structs.replace(body, arguments=edited)
    if request.is_open:
        field, faults = await faults_of(gateway.catalogue, request, body)
        if faults:  # with what would fit (B4: only ids that the tool has offered)
            hint = "`allowed` says what can be answered here."
            errors = [{"field": field, "message": fault} for fault in faults]
            detail, known = "; ".join(faults), allowed(request)
            raise Problem(422, "invalid_answer", detail, hint=hint, errors=errors, allowed=known)
    chain = await gateway.views.header(request.chain_id, who.can_see)
    trace = chain.trace if chain else None
    record = approves(request, body, gateway.settings.limits.approval_ttl)
    quorum = request.answerers.quorum if body.decision is Choice.APPROVE else 1
    verdict = await gateway.inbox.answer(
        request.id,
        body,
        line=gateway.audit.line(who, Deed.ANSWERED, request.id, body.option_id or body.decision),
        trace=trace,
        approves=record,
        quorum=quorum,
    )
    return await _outcome(gateway, request.id, who, verdict)


async def seen(gateway: Gateway, request_id: str, who: Principal) -> RequestView:
    """The request. Raises Problem 404 when there is none that this one sees."""
    return found(await gateway.views.request(request_id, who.can_see), "request", request_id)


async def _outcome(
    gateway: Gateway, request_id: str, who: Principal, verdict: Verdict
) -> RequestView:
    """The request as it is then. Raises Problem when it was too late."""
    request = await seen(gateway, request_id, who)
    if verdict is not Verdict.TAKEN:
        raise _refused(request, verdict)
    return request


def _refused(request: RequestView, verdict: Verdict) -> Problem:
    """The name that this kind of "too late" has (R6)."""
    shown = request.model_dump(mode="json")
    match verdict:
        case Verdict.ANSWERED:
            first = shown["answer"]
            detail = f"{first['by'] or 'A person'} has already answered the request."
            hint = "The first answer counts; see `by`, `at` and `answer`."
            return Problem(409, "answered_already", detail, hint=hint, **first)
        case Verdict.CLAIMED:
            claim = {"by": "A person", "until": "now"} | shown.get("claim", {})
            detail = f"{claim['by']} has taken the question until {claim['until']}."
            hint = "Wait until then; this person or an admin can release it before."
            return Problem(409, "claimed", detail, hint=hint, **claim)
        case Verdict.EXPIRED:
            deadline = shown["deadline"]
            detail = f"The request expired at {deadline}."
            hint = "It can no longer be answered; GET its chain to see how it continued."
            return Problem(410, "request_expired", detail, hint=hint, deadline=deadline)
        case _:
            detail = "The request was withdrawn, or its chain is over."
            hint = "It can no longer be answered; GET its chain to see why."
            return Problem(412, "request_stale", detail, hint=hint)
