"""Whether a person may answer a question: a rule may name the people (CONTRACT G4)."""

from haltpoint.contracts.people.answerers import GROUP, folded
from haltpoint.contracts.views.chains import RequestView
from haltpoint_gateway.people.principal import Principal
from haltpoint_gateway.problems import Problem


def is_theirs(who: Principal, request: RequestView) -> bool:
    """Whether a rule addresses this person, or they have taken the question."""
    claim = request.claim
    return _is_named(who, request) or (claim is not None and claim.by == who.name)


def may_answer(who: Principal, request: RequestView) -> bool:
    """Whether this person may answer. The admin key always does: it is the operator's own."""
    answerers = request.answerers
    is_left_out = answerers.not_requester and who.name == request.requester
    is_asked = not answerers.to or _is_named(who, request)
    return who.holds_admin_key or (is_asked and not is_left_out)


def check_answerer(who: Principal, request: RequestView) -> None:
    """Raise Problem when this person may not answer."""
    if not may_answer(who, request):
        hint = "One of them can answer it, or the holder of the admin key."
        detail = f"The question is for {who_may(request)}."
        raise Problem(403, "not_yours", detail, hint=hint, to=list(request.answerers.to))


def who_may(request: RequestView) -> str:
    """Who may answer, in words."""
    answerers = request.answerers
    people = " or ".join(answerers.to) or "each person whose key may answer"
    but = f", but not for {request.requester}, who submitted the task"
    return people + but if answerers.not_requester else people


def _is_named(who: Principal, request: RequestView) -> bool:
    groups = (f"{GROUP}{group}" for group in who.groups)
    return not folded(request.answerers.to).isdisjoint([who.name, *groups])
