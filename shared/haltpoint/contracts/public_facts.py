"""Public facts: how chains end and what they ask, for programs outside. They are in the stream
`facts` of a partition.

CloudEvents in JSON, in the field `__data__`. Pydantic models, since only people's programs read
them.
"""

from typing import Final, Literal

from haltpoint.contracts.doors import View
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.people.humans import RequestKind


class PublicFact(View):
    """The envelope. `subject` is the chain's id, `time` RFC 3339. A fact that comes twice has the
    same `id`.
    """

    specversion: Literal["1.0"] = "1.0"
    id: str
    source: str
    subject: str
    time: str | None = None
    traceparent: str | None = None


class ChainData(View):
    """Which chain, and whose it is."""

    chain_id: str
    tenant: str | None = None
    conversation_id: str | None = None


class RequestData(ChainData):
    """Which question of which chain. A child's id begins with its parent's and `~`."""

    request_id: str


class ChainCompletedData(ChainData):
    """`answer` is what the user reads."""

    answer: str | None = None


class ChainCompleted(PublicFact):
    """A submitted chain reached its goal."""

    type: Literal["chain.completed.v1"] = "chain.completed.v1"
    data: ChainCompletedData


class ChainFailedData(ChainData):
    """`code` and `message` say why; `answer` is what the user reads."""

    code: str
    message: str
    step_id: str | None = None
    answer: str | None = None


class ChainFailed(PublicFact):
    """A submitted chain did not reach its goal."""

    type: Literal["chain.failed.v1"] = "chain.failed.v1"
    data: ChainFailedData


class ChainCancelledData(ChainData):
    """Who stopped it, and why."""

    by: str = ""
    reason: str = ""


class ChainCancelled(PublicFact):
    """A submitted chain was stopped."""

    type: Literal["chain.cancelled.v1"] = "chain.cancelled.v1"
    data: ChainCancelledData


class OfferedOption(View):
    """One thing that a person may choose."""

    id: str
    title: str
    subtitle: str = ""


class RequestOpenedData(RequestData):
    """`deadline` in milliseconds since the epoch. The whole question: GET
    /v1/requests/{request_id}.
    """

    kind: RequestKind
    question: str
    deadline: int
    options: tuple[OfferedOption, ...] = ()
    priority: str | None = None
    step_id: str | None = None
    action_id: str | None = None


class RequestOpened(PublicFact):
    """A chain asks people something."""

    type: Literal["request.opened.v1"] = "request.opened.v1"
    data: RequestOpenedData


class RequestAnsweredData(RequestData):
    """What was decided, by whom and by which way."""

    decision: str
    by: str = ""
    way: str = ""


class RequestAnswered(PublicFact):
    """A person answered a question."""

    type: Literal["request.answered.v1"] = "request.answered.v1"
    data: RequestAnsweredData


class RequestExpired(PublicFact):
    """No one answered a question in time."""

    type: Literal["request.expired.v1"] = "request.expired.v1"
    data: RequestData


class RequestWithdrawnData(RequestData):
    """Why it needs no answer any more."""

    reason: str = ""


class RequestWithdrawn(PublicFact):
    """A chain took a question back."""

    type: Literal["request.withdrawn.v1"] = "request.withdrawn.v1"
    data: RequestWithdrawnData


PUBLIC: Final[dict[FactType, type[PublicFact]]] = {
    FactType.CHAIN_COMPLETED: ChainCompleted,
    FactType.CHAIN_FAILED: ChainFailed,
    FactType.CHAIN_CANCELLED: ChainCancelled,
    FactType.REQUEST_OPENED: RequestOpened,
    FactType.REQUEST_ANSWERED: RequestAnswered,
    FactType.REQUEST_EXPIRED: RequestExpired,
    FactType.REQUEST_WITHDRAWN: RequestWithdrawn,
}
