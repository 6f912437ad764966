"""The inbox: the open questions, one question, and its answer."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Request
from msgspec import json
from pydantic import Field
from starlette.responses import HTMLResponse, RedirectResponse, Response

from haltpoint.chain.checks.answer import deed_words
from haltpoint.contracts.base import chain_of
from haltpoint.contracts.people.keys import Scope
from haltpoint.runtime.views.queries import RequestQuery
from haltpoint.runtime.views.question import who_may
from haltpoint_gateway.answering import allowed
from haltpoint_gateway.api import requests as api
from haltpoint_gateway.pages.answers import answer_of, case_of, reaches
from haltpoint_gateway.pages.door import Form, Typed
from haltpoint_gateway.pages.visit import Looks, Visit, to_chain
from haltpoint_gateway.people.answerers import may_answer
from haltpoint_gateway.problems import AWAY, Problem, redis_unreachable

router = APIRouter(prefix="/inbox")

_Words = Annotated[str, Field(max_length=300)]


@router.post("")
async def answer_several(visit: Looks, form: Form, request: Request) -> RedirectResponse:
    """Give one answer to each of these questions, by itself. Raises Problem with why some were not
    taken.
    """
    if problems := await _refused(visit, form.fields.get("request", ()), form):
        raise Problem(
            problems[0].status,
            "not_taken",
            " ".join(map(str, problems)),
            hint="Each answer that was taken is recorded; the inbox shows the open questions.",
        )
    return RedirectResponse(f"/inbox?{request.url.query}", 303)


@router.get("/{request_id}")
async def question(request_id: str, visit: Looks, answered: _Words = "") -> HTMLResponse:
    """One question with all that a person needs to decide it; `answered` is the one before."""
    return await _card(visit, request_id, Typed(), answered)


@router.post("/{request_id}")
async def answer(request_id: str, visit: Looks, form: Form, *, back: bool = False) -> Response:
    """Give the answer, and go `back` to the chain or continue with the next question. A fault is
    shown beside the words that were typed.
    """
    for problem in await _refused(visit, [request_id], form):
        return await _card(visit, request_id, form.refused(problem))
    return to_chain(chain_of(request_id)) if back else await _next(visit, request_id)


async def _refused(visit: Visit, names: Iterable[str], form: Typed) -> list[Problem]:
    """Give the answer to each of these questions; why it was not taken."""
    visit.needs(Scope.ANSWER)
    problems: list[Problem] = []
    for name in names:
        try:
            case = await case_of(visit, name, form)
            said = answer_of(case, form)
            seen = form.text("seen", "*")
            await api.answer(visit.gateway, name, said, visit.who, if_match=seen)
        except Problem as problem:
            problems.append(problem)
        except AWAY as error:
            problems.append(redis_unreachable(error))
            break  # of each other one the server would say so, too
    return problems


async def _card(visit: Visit, request_id: str, typed: Typed, answered: str = "") -> HTMLResponse:
    """The page of one question; with a form that was not taken and why."""
    case = await case_of(visit, request_id, typed)
    request = case.request
    arguments = json.encode(case.shown["arguments"]).decode()
    return visit.html(
        "question",
        typed.status,
        case=case,
        request=case.shown,
        chain=case.chain,
        typed=typed,
        previous=answered,
        seen=api.tag_of(request),
        allowed=allowed(request),
        reaches=reaches(request),
        may_answer=may_answer(visit.who, request),
        whom=who_may(request),
        now=datetime.now(UTC),
        deed=case.spec and deed_words(case.spec, arguments),
    )


async def _next(visit: Visit, answered: str) -> RedirectResponse:
    """The way on behind an answer: to the next question that this person may answer, or to the
    inbox.
    """
    page = await api.list_requests(visit.gateway, visit.who, RequestQuery())
    path = next((f"/{other.id}" for other in page.items if other.id != answered), "")
    return RedirectResponse(f"/inbox{path}?answered={answered}", 303)
