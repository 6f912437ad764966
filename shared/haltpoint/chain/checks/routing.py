"""How far a supervisor's model has come in deciding who works on a task (CONTRACT I2, I3)."""

from haltpoint.chain.checks.promises import missing
from haltpoint.chain.model.state import Routing
from haltpoint.chain.model.statuses import PlanOrigin
from haltpoint.chain.model.work import Work
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.routing import ROUTE, SUPERVISOR, Supervisor
from haltpoint.contracts.work.thoughts import Proposal


def router(work: Work) -> Supervisor | None:
    """What the file says of the supervisor, where its model routes the task; None: no model does that here."""
    routes = work.task.agent == SUPERVISOR and work.origin is PlanOrigin.REACT
    return work.world.agents.supervisor if routes else None


def progress(work: Work) -> Routing:
    """How far a supervisor's model has come."""
    return work.routing or Routing()


def must_route(work: Work) -> bool:
    """Whether the supervisor's model has used up its rounds of tools."""
    supervisor = router(work)
    return supervisor is not None and progress(work).rounds >= supervisor.max_tool_retries


def undecided(work: Work) -> bool:
    """Whether a supervisor's model owes a decision: no agent has ended yet."""
    return router(work) is not None and (ROUTE,) in missing(work, 0)


def ends_routing(work: Work) -> bool:
    """Whether a supervisor's model has made its last decision: with the results of that the answer is due."""
    supervisor = router(work)
    return supervisor is not None and progress(work).decisions >= supervisor.max_iterations


def route_in(proposal: Proposal) -> ProposedCall | None:
    """The call of a proposal that hands the task on; all others beside it never run."""
    return next((call for call in proposal.calls if call.tool == ROUTE), None)


def did_not_route(work: Work, proposal: Proposal) -> bool:
    """Whether a supervisor's model has used up its rounds, and its reply is neither a decision nor, once an agent has
    ended, an answer.
    """
    if not must_route(work) or route_in(proposal) is not None:
        return False
    return undecided(work) or bool(proposal.calls or proposal.faults)
