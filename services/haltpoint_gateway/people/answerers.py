"""Whether a person may answer a question: a rule may name the people (CONTRACT G4)."""

from haltpoint.contracts.people.answerers import ADMIN, GROUP, folded
from haltpoint.contracts.views.chains import RequestView
from haltpoint.runtime.views.question import who_may
from haltpoint_gateway.people.principal import Principal
from haltpoint_gateway.problems import Problem


def is_theirs(who: Principal, request: RequestView) -> bool:
    """Whether a rule lets this person answer by name, or they have taken the question."""
    claim = request.claim
    holder = claim.by if claim else ""
    return holder == who.name or (_is_named(who, request) and may_answer(who, request))


def may_answer(who: Principal, request: RequestView) -> bool:
    """Whether this person may answer. The admin key always does: it is the operator's own."""
    if who.name == ADMIN:  # no other key and no person may have this name
        return True
    answerers = request.answerers
    is_barred = answerers.not_requester and who.name == request.requester
    return not is_barred and (not answerers.to or _is_named(who, request))


def check_answerer(who: Principal, request: RequestView) -> None:
    """Raise Problem when this person may not answer."""
    if not may_answer(who, request):
        hint = "One of them can answer it, or the holder of the admin key."
        detail = f"The question is for {who_may(request)}."
        raise Problem(403, "not_yours", detail, hint=hint, to=request.answerers.to)


def _is_named(who: Principal, request: RequestView) -> bool:
    names = {who.name, *map(GROUP.__add__, who.groups)}
    return not names.isdisjoint(folded(request.answerers.to))
