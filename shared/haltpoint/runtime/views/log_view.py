"""A chain's log as it is read: its events, and what they say about steps, actions and questions.

Pure, like `chain_view`, of which this is a part.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.facts import FINAL_FACTS, FactType
from haltpoint.contracts.views.chains import EventView
from haltpoint.contracts.views.steps import ViolationView
from haltpoint.runtime.store.log_lines import LogLine
from haltpoint.runtime.views.record import ChainRecord

Details = JsonObject

Place = tuple[int, int]
"""Where an event is in its log: the number of its line, and of the fact in the line."""

BEFORE_ALL: Final[Place] = (0, -1)

MOST_SAID: Final = 2000
"""Characters of the model's own words that are shown with a violation; the whole is kept with the
thought.
"""

Times = dict[str, tuple[datetime, datetime | None]]
"""When it began and when it ended, by the id of a step, an action or a question."""

_NEXT: Final = timedelta(microseconds=1)

_BEGINS: Final[dict[str, str]] = {
    FactType.ACTION_DISPATCHED: "action_id",
    FactType.STEP_STARTED: "step_id",
    FactType.REQUEST_OPENED: "request_id",
}
_ENDS: Final[dict[str, str]] = {
    FactType.ACTION_COMPLETED: "action_id",
    FactType.STEP_COMPLETED: "step_id",
    FactType.STEP_SKIPPED: "step_id",
    FactType.STEP_FAILED: "step_id",
    FactType.REQUEST_ANSWERED: "request_id",
    FactType.REQUEST_EXPIRED: "request_id",
    FactType.REQUEST_WITHDRAWN: "request_id",
}
"""The detail that says of what a fact is the beginning, or the end."""

_FAULT: Final = ("step_id", "violation", "tool")
"""What a violation has in common with its correction."""


def moment(ms: int | str) -> datetime:
    """A time of ours, ms since the epoch, as people read it: UTC."""
    return datetime.fromtimestamp(int(ms) / 1000, UTC)


def events_of(number: int, line: LogLine) -> Iterator[EventView]:
    """The facts of the line of this number under their ids `<line>.<fact>`."""
    at = moment(line.at)
    for index, (name, details) in enumerate(line.facts):
        yield EventView(id=f"{number}.{index}", at=at, type=name, details=details)


def place_of(event_id: str | None) -> Place:
    """The place of an event, by its id `<line>.<fact>`; None: before all events."""
    if event_id is None:
        return BEFORE_ALL
    line, _, fact = event_id.partition(".")
    return int(line), int(fact)


def subject_of(chain_id: str, thought: str) -> str:
    """What a thought is about: a step's id, `plan` or `answer`."""
    return thought.removeprefix(f"{chain_id}.").partition(".")[0]


class Told:
    """All that the log of a chain tells, gathered in one walk.

    Of the facts in one millisecond each is a microsecond later than the one before: so times alone
    say in which order things happened.
    """

    def __init__(self, record: ChainRecord) -> None:
        self.times: Times = {}
        """An action about which people were asked ends with the answer, or when it has run
        again.
        """
        self.ended: datetime | None = None
        """When the chain ended."""
        self.inputs: dict[str | None, datetime] = {}
        """When each input arrived, by its reference: a reply of the model by the id of its
        thought.
        """
        self.violations: list[JsonObject] = []
        """Each with its place, and with the correction that was sent."""
        self.ends: dict[str, Details] = {}
        """The details of the fact that ended each step, action and question, by its id."""
        self.others: defaultdict[str, list[Details]] = defaultdict(list)
        """The details of all other facts, each with its time, by their types."""
        self._record = record
        self._asked_about: dict[str, str] = {}
        at = datetime.min.replace(tzinfo=UTC)
        for line in record.log:
            at = max(at, moment(line.at))
            self.inputs[line.ref] = at
            for name, details in line.facts:
                self._take(at, name, details)
                at += _NEXT

    def violations_of(self, place: str) -> tuple[ViolationView, ...]:
        """Where the model broke its word: in a step, in its `plan` or in its `answer`."""
        here = [violation for violation in self.violations if violation["place"] == place]
        return tuple(map(ViolationView.model_validate, here))

    def _take(self, at: datetime, name: str, details: Details) -> None:
        if name in _BEGINS:
            subject = details.get(_BEGINS[name], "")
            self._time(subject, at)
            action = details.get("action_id")
            if name == FactType.REQUEST_OPENED and action:
                self._time(action, at)
                self._asked_about[subject] = action
        elif name in _ENDS:
            subject = details.get(_ENDS[name], "")
            self.ends[subject] = details
            self._time(subject, at, at)
            action = self._asked_about.get(subject)
            if action:
                self._time(action, at, at)
        elif name == FactType.CONTRACT_VIOLATED:
            self._violated(at, details)
        elif name == FactType.CONTRACT_CORRECTED:
            self._corrected(at, details)
        else:
            self.others[name].append({**details, "at": at, "timestamp": at})
            self.ended = at if name in FINAL_FACTS else self.ended

    def _time(self, name: str, at: datetime, end: datetime | None = None) -> None:
        """It began now, unless it is known to have begun; and continues, or ends."""
        begun, _ = self.times.get(name, (at, None))
        self.times[name] = (begun, end)

    def _violated(self, at: datetime, details: Details) -> None:
        thought = details.get("thought_id", "plan")
        place = details.get("step_id") or subject_of(self._record.id, thought)
        words = self._record.words(thought)[:MOST_SAID] or details.get("said", "")
        self.violations.append({**details, "at": at, "place": place, "said": words})

    def _corrected(self, at: datetime, details: Details) -> None:
        """Add a correction to the violation that it answers; one that answers none gets a line
        alone.
        """
        correction = {"correction": details.get("message", "")}
        for violation in reversed(self.violations):
            is_alike = all(violation.get(name) == details.get(name) for name in _FAULT)
            if "correction" not in violation and is_alike:
                violation.update(correction)
                return
        self._violated(at, {**details, **correction})
