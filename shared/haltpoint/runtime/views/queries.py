"""Which chains and requests a page of a list has, as callers write it. Unknown names are errors."""

from collections.abc import Collection
from datetime import datetime
from typing import Annotated, Final

from pydantic import AwareDatetime, BeforeValidator, Field

from haltpoint.chain.model.state import Chain
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.doors import Form
from haltpoint.contracts.people.humans import RequestKind, RequestStatus
from haltpoint.contracts.secrets import starred, without_secrets
from haltpoint.contracts.views.chains import RequestView
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.config.faults import TIME
from haltpoint.runtime.store.rows import Fields, Part
from haltpoint.runtime.views.record import title_of

Cursor = Annotated[
    str,
    Field(pattern=r"^[0-9]{1,20}_[0-9A-Za-z_.~-]{1,200}$", description="`next_cursor` of a page"),
]
Limit = Annotated[int, Field(ge=1, le=200, description="entries per page")]
_CALL: Final = f".{Part.CALL}"

Text = Annotated[str, Field(min_length=1, max_length=300)]


def _moment(given: str | datetime) -> datetime:
    """ISO 8601 alone: a number is no moment. Raises ValueError."""
    try:
        return datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        raise ValueError(TIME) from None


Moment = Annotated[AwareDatetime, BeforeValidator(_moment)]


class ListQuery(Form):
    """Which part of a list."""

    tool: Text | None = None
    """The tool that is called, or asked about."""
    agent: Text | None = None
    """The agent that works on it."""
    tenant: Text | None = None
    """Whose it is."""
    q: Text | None = None
    """Words in the goal, the question, or the id."""
    cursor: Cursor | None = None
    limit: Limit = 50

    def looks_for(self, **values: object) -> bool:
        """Whether these values are in the list; a field that is not given looks for any."""
        return all(getattr(self, name) in (None, value) for name, value in values.items())

    def has_words(self, *texts: str) -> bool:
        """Whether one of these texts, as it is shown, has the words that are looked for, in any
        case: what is stored would tell a secret letter by letter.
        """
        words = (self.q or "").casefold()
        return not words or any(words in without_secrets(text).casefold() for text in texts)


class ChainQuery(ListQuery):
    """Which chains."""

    status: ChainStatus | None = None
    conversation: Text | None = None
    """The id of the conversation that it belongs to."""
    since: Moment | None = None
    """It has changed since."""

    def fits(self, chain: Chain, data: Fields) -> bool:
        """Whether the list has this chain; `data` are its calls, when a tool is looked for."""
        task = chain.task
        calls = [text for name, text in data.items() if name.endswith(_CALL)]
        called = f"{self.tool}\n"
        if self.tool and not any(call.startswith(called) for call in calls):
            return False
        is_here = self.looks_for(
            status=chain.status,
            agent=task.agent,
            tenant=task.tenant,
            conversation=task.conversation_id,
        )
        return is_here and self.has_words(chain.id, title_of(chain))


class RequestQuery(ListQuery):
    """Which requests. Open ones unless told otherwise."""

    status: RequestStatus = RequestStatus.OPEN
    kind: RequestKind | None = None
    to: Text | None = None
    """A person or a group that it is addressed to."""
    mine: bool = False
    """A rule addresses the reader, or the reader has taken it."""

    def fits(self, request: RequestView, task: Task, typed: Collection[str]) -> bool:
        """Whether the list has this request, of a chain with this task; `typed` are the parameters
        that tools type as secrets.
        """
        if self.to not in (None, *request.answerers.to):
            return False
        is_here = self.looks_for(
            status=request.status,
            kind=request.kind,
            tool=request.tool,
            agent=task.agent,
            tenant=task.tenant,
        )
        if not is_here or not self.q:
            return is_here
        shown = starred(request.model_dump(mode="json"), typed=typed)
        return self.has_words(shown["id"], shown["goal"], shown["question"])
