"""The inbox: the open questions, one question, and its answer."""

import difflib
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import HTMLResponse, RedirectResponse, Response

from haltpoint.contracts.people.humans import RequestStatus
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.views.chains import RequestView
from haltpoint.runtime.views.queries import RequestQuery
from haltpoint_gateway.api import requests as api
from haltpoint_gateway.auth import Scope
from haltpoint_gateway.pages import answers
from haltpoint_gateway.pages.door import Form, Typed
from haltpoint_gateway.pages.visit import Looks, Visit
from haltpoint_gateway.problems import Problem

router = APIRouter(prefix="/inbox")


class _Query(RequestQuery):
    """Which questions are listed."""

    answered: str = Field(default="", max_length=300)
    """The one that was answered last."""


@router.get("")
async def inbox(visit: Looks, query: Annotated[_Query, Query()]) -> HTMLResponse:
    """The questions, urgent ones first."""
    page = await api.list_requests(visit.gateway, visit.who, query)
    items = await visit.documents(page.items)
    return visit.html("inbox", items=items, query=query, next_cursor=page.next_cursor)


@router.get("/{request_id}")
async def question(
    request_id: str, visit: Looks, answered: Annotated[str, Query(max_length=300)] = ""
) -> HTMLResponse:
    """One question with all that a person needs to decide it; `answered` is the one before."""
    request = await api.seen(visit.gateway, request_id, visit.who)
    return await _card(visit, request, Typed(), answered)


@router.post("/{request_id}")
async def answer(request_id: str, visit: Looks, form: Form) -> Response:
    """Give the answer, and continue with the next question. A fault is shown beside the words that
    were typed.
    """
    visit.needs(Scope.ANSWER)
    request = await api.seen(visit.gateway, request_id, visit.who)
    shown = await visit.document(request)
    forms = answers.forms_of(request, await _tool(visit, request), shown["arguments"], form)
    try:
        said = answers.answer_of(request, form, forms)
        await api.answer(visit.gateway, request_id, said, visit.who, if_match=form.text("seen"))
    except Problem as problem:
        return await _card(visit, request, form.refused(problem))
    return RedirectResponse(await _next(visit, request_id), 303)


async def _card(
    visit: Visit, request: RequestView, typed: Typed, answered: str = ""
) -> HTMLResponse:
    """The page of one question; with a form that was not taken and why."""
    spec = await _tool(visit, request)
    chain = await visit.gateway.views.chain(request.chain_id, visit.who.can_see)
    views = [request] if chain is None else [request, chain]
    about, *whole = await visit.documents(views)
    return visit.html(
        "question",
        status=422 if typed.faults else 200,
        request=about,
        chain=whole[0] if whole else None,
        seen=api.tag_of(request),
        ways=answers.ways(request),
        reaches=answers.reaches(request),
        is_open=request.status is RequestStatus.OPEN,
        forms=answers.forms_of(request, spec, about["arguments"], typed),
        targets=spec.targets if spec else (),
        difference=_difference(request),
        typed=typed,
        answered=answered,
    )


async def _tool(visit: Visit, request: RequestView) -> ToolSpec | None:
    return (await visit.gateway.catalogue.read()).get(request.tool)


def _difference(request: RequestView) -> list[tuple[str, str]]:
    """The lines of the preview against those of the one that was approved before: a sign and the
    line.
    """
    before = (request.approved_preview or "").splitlines()
    now = (request.preview or "").splitlines()
    if not before or before == now:
        return []
    lines = difflib.ndiff(before, now)
    return [(line[0], line[2:]) for line in lines if not line.startswith("?")]


async def _next(visit: Visit, answered: str) -> str:
    """Where a person continues behind an answer: the next open question, or the inbox."""
    page = await api.list_requests(visit.gateway, visit.who, RequestQuery(limit=2))
    for request in page.items:
        if request.id != answered:
            return f"/inbox/{request.id}?answered={answered}"
    return f"/inbox?answered={answered}"
