"""The inbox: the open questions, one question, and its answer."""

import difflib
import json
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import HTMLResponse, RedirectResponse, Response

from haltpoint.chain.checks.answer import deed_words
from haltpoint.contracts.base import JsonObject, chain_of, value
from haltpoint.contracts.people.keys import Scope
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.views.chains import RequestView
from haltpoint.runtime.views.queries import RequestQuery
from haltpoint.runtime.views.question import who_may
from haltpoint_gateway.api import requests as api
from haltpoint_gateway.pages.answers import Forms, answer_of, forms_of, reaches, ways
from haltpoint_gateway.pages.door import Form, Typed
from haltpoint_gateway.pages.visit import Looks, Searched, Visit, to_chain
from haltpoint_gateway.people.answerers import may_answer
from haltpoint_gateway.problems import Problem, no_such

router = APIRouter(prefix="/inbox")

_Words = Annotated[str, Field(max_length=300)]


class _Query(Searched, RequestQuery):
    """Which questions are listed."""

    answered: _Words = ""
    """The one that was answered last."""


_Wanted = Annotated[_Query, Query()]


@value
class _Case:
    """A question with its chain. `shown` and `chain` have stars in place of secrets."""

    request: RequestView
    shown: JsonObject
    chain: JsonObject
    spec: ToolSpec | None

    def forms(self, typed: Typed) -> Forms:
        """The forms under the question, with what was typed."""
        return forms_of(self.request, self.spec, self.shown["arguments"], typed)


@router.get("")
async def inbox(visit: Looks, query: _Wanted) -> HTMLResponse:
    """The questions, urgent ones first."""
    asked = await api.list_requests(visit.gateway, visit.who, query)
    return await visit.list("inbox", query, asked)


@router.post("")
async def answer_several(visit: Looks, query: _Wanted, form: Form) -> Response:
    """Give one answer to each of these questions, by itself."""
    visit.needs(Scope.ANSWER)
    faults: list[str] = []
    for name in form.fields.get("request", ()):
        try:
            await _give(visit, name, form)
        except Problem as problem:
            faults.append(str(problem))
    if faults:
        asked = await api.list_requests(visit.gateway, visit.who, query)
        return await visit.list("inbox", query, asked, faults=faults)
    return RedirectResponse(f"/inbox?{urlencode(query.filters())}", 303)


@router.get("/{request_id}")
async def question(request_id: str, visit: Looks, answered: _Words = "") -> HTMLResponse:
    """One question with all that a person needs to decide it; `answered` is the one before."""
    return _card(visit, await _case(visit, request_id), Typed(), answered)


@router.post("/{request_id}")
async def answer(request_id: str, visit: Looks, form: Form, *, back: bool = False) -> Response:
    """Give the answer, and go `back` to the chain or continue with the next question. A fault is
    shown beside the words that were typed.
    """
    visit.needs(Scope.ANSWER)
    try:
        await _give(visit, request_id, form)
    except Problem as problem:
        refused = form.refused(problem)
        case = await _case(visit, request_id)
        return _card(visit, case, refused, "")
    return to_chain(chain_of(request_id)) if back else await _next(visit, request_id)


async def _case(visit: Visit, request_id: str) -> _Case:
    """Raises Problem when there is no such question."""
    view = await visit.gateway.views.chain(chain_of(request_id), visit.who.can_see)
    requests = {request.id: request for request in view.requests} if view else {}
    if view is None or request_id not in requests:
        raise no_such("request", request_id)
    request = requests[request_id]
    shown, chain = await visit.documents((request, view))
    tools = await visit.tools()
    return _Case(request, shown, chain, tools.get(request.tool))


async def _give(visit: Visit, request_id: str, form: Typed) -> None:
    """Give an answer. Raises Problem."""
    case = await _case(visit, request_id)
    said = answer_of(case.request, form, case.forms(form))
    await api.answer(visit.gateway, request_id, said, visit.who, if_match=form.given("seen"))


def _card(visit: Visit, case: _Case, typed: Typed, answered: str) -> HTMLResponse:
    """The page of one question; with a form that was not taken and why."""
    request = case.request
    shown = case.shown
    return visit.html(
        "question",
        status=typed.status,
        request=shown,
        chain=case.chain,
        seen=api.tag_of(request),
        ways=ways(request),
        reaches=reaches(request),
        is_open=request.is_open,
        may_answer=may_answer(visit.who, request),
        whom=who_may(request),
        holder=_holder(request),
        forms=case.forms(typed),
        targets=case.spec.targets if case.spec else (),
        difference=_difference(shown),
        deed=deed_words(case.spec, json.dumps(shown["arguments"])) if case.spec else None,
        typed=typed,
        previous=answered,
    )


def _holder(request: RequestView) -> str:
    """The name of a person that has the question to themselves now, or nothing."""
    claim = request.claim
    return claim.by if claim and claim.until > datetime.now(UTC) else ""


def _difference(shown: JsonObject) -> list[str]:
    """The lines of the preview against those of the one that was approved before, with signs."""
    before, now = shown["approved_preview"], shown["preview"] or ""
    return [*difflib.ndiff(before.splitlines(), now.splitlines())] if before else []


async def _next(visit: Visit, answered: str) -> RedirectResponse:
    """The way on behind an answer: to the next question that this person may answer, or to the
    inbox.
    """
    page = await api.list_requests(visit.gateway, visit.who, RequestQuery())
    path = next((f"/{other.id}" for other in page.items if other.id != answered), "")
    return RedirectResponse(f"/inbox{path}?answered={answered}", 303)
