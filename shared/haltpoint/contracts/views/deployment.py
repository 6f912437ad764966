"""Views of a deployment: its agents, and what was counted of them (see `chains`)."""

from datetime import date, datetime

from haltpoint.contracts.base import Strings, value
from haltpoint.contracts.doors import View
from haltpoint.contracts.views.chains import NONE_THERE, Page
from haltpoint.contracts.work.agents import Agent
from haltpoint.contracts.work.routing import Supervisor


class StatsRow(View):
    """What was counted of one tool or model. `calls` of a model are its thoughts.

    Of a tool also the questions about it: `asked`, `answered`, of these `none` of the options,
    `undecided` (no answer came in time), and for tools that may ask which one is meant `direct`,
    the calls that brought a result without a question. `corrections`: a person said that it was
    wrong.
    """

    name: str
    calls: int = 0
    failures: int = 0
    violations: int = 0
    strikes: int = 0
    escalations: int = 0
    asked: int = 0
    answered: int = 0
    none: int = 0
    undecided: int = 0
    direct: int = 0
    corrections: int = 0


class HourRow(View):
    """What ended in one hour of the day, UTC."""

    hour: int
    """From 0."""
    chains: int = 0
    """How many chains ended."""
    failures: int = 0
    """How many of them failed."""
    questions: int = 0
    """How many questions these chains asked."""


class StatsView(View):
    """The failure history of some days, both ends included. `?` is a tool that does not exist, or a
    model unnamed; its questions are those that are about no tool.
    """

    since: date
    until: date
    tools: tuple[StatsRow, ...] = ()
    models: tuple[StatsRow, ...] = ()
    hours: tuple[HourRow, ...] = ()
    """The hours in which a chain ended, over all days."""
    waited_p50: int | None = None
    """Seconds within which half of the answers came, to a power of two; null: there were none."""
    waited_p95: int | None = None
    """Seconds within which 95 of 100 answers came."""


class AgentView(Agent, forbid_unknown_fields=False):
    """An agent of the agents file, without its prompt."""

    unserved: Strings = ()
    """Globs of its tools that fit no tool that a worker serves."""
    under_way: int | None = None
    """Its open chains, of all tenants; null for a key that does not
    see all tenants.
    """


class AgentsView(Page[AgentView]):
    """All agents of the file, in its order, and who routes the tasks that name none of them,
    without the prompt: null where there is no section `[supervisor]`. `unserved` are globs of the
    supervisor's tools that no tool fits that is served; it is there when there are any.
    """

    supervisor: Supervisor | None = None
    unserved: Strings = NONE_THERE


class WorkerView(View):
    """A tool worker that is alive."""

    instance: str
    """Its name among all workers."""
    host: str
    pid: int
    since: datetime
    """When it started."""
    queues: Strings
    """What it reads."""
    tools: Strings
    """What it serves."""
    slots: int
    """How many calls it takes at a time."""
    holds: Strings | None
    """The ids of the actions that it has in hand; null for those who do not see all tenants."""
    left_over: int
    """Calls that are over and do not end, and so hold slots."""


class LetterView(View):
    """A message that could not be processed."""

    id: str
    """`<partition>/<entry>`."""
    stream: str
    """Where it came from."""
    reason: str
    """A word for why it could not be processed."""
    detail: str
    """The same in a sentence."""
    chain_id: str
    """The chain that it is about; empty when it names none."""
    at: datetime
    """When it was found."""
    message: str
    """Its beginning, without what a task gives to its tools alone."""


class LossView(View):
    """What a server has lost of one partition. Docs: operations/recovery.md."""

    partition: int
    """From 0."""
    at: datetime
    """When it was found."""
    before: int
    """How many writes the partition had counted."""
    after: int
    """How many of them it still has."""
    groups: str = ""
    """A stream whose consumer group was gone."""
    recalled: Strings = ()
    """Actions that had been started and that the server no longer knows: they are not started
    again.
    """
    twice: Strings = ()
    """Actions that ran once more before that was known."""
    gone: Strings = ()
    """Chains that were accepted and that the server no longer has. They may have ended before."""


@value
class Resting:
    """So many calls wait for the same; the first comes back in so many seconds."""

    why: str
    calls: int
    seconds: float


class Backlog(View):
    """The work of a queue, for an autoscaler."""

    backlog: int
    """Calls that wait and calls that run; of a paused queue those that run."""


@value
class QueueState:
    """One queue: the calls that no worker has yet, those that workers have, and those that rest."""

    name: str
    waiting: int
    running: int
    resting: tuple[Resting, ...]

    left_over: int
    """Calls that are over and do not end, and so hold slots of the workers of this queue."""
    waited: float
    """Seconds that the oldest call has waited, or run."""
    paused: bool = False
    """Its workers take nothing new."""
