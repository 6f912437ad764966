"""A chain's log as it is read: its events, and what they say about steps, actions and questions.

Pure, like `chain_view`, of which this is a part.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.facts import FactType
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
        self.violations: defaultdict[str, list[JsonObject]] = defaultdict(list)
        """By their place: a step's id, `plan` or `answer`; each with the correction that was
        sent.
        """
        self.validations: dict[str, str] = {}
        """How each step that is done kept its promise: passed or failed, by its id."""
        self.reasons: dict[str, str] = {}
        """Why steps were skipped, or failed, by the id of the step."""
        self.routed: list[JsonObject] = []
        self.dropped: list[JsonObject] = []
        self.cancelled: Details = {}
        self._record = record
        self._asked_about: dict[str, str] = {}
        at = datetime.min.replace(tzinfo=UTC)
        for line in record.log:
            at = max(at, moment(line.at))
            for name, details in line.facts:
                self._take(at, name, details)
                at += _NEXT

    def violations_of(self, place: str) -> tuple[ViolationView, ...]:
        """Where the model broke its word: in a step, in its `plan` or in its `answer`."""
        return tuple(map(ViolationView.model_validate, self.violations.get(place, ())))

    def _take(self, at: datetime, name: str, details: Details) -> None:
        step, action = details.get("step_id", ""), details.get("action_id", "")
        request = details.get("request_id", "")
        match name:
            case FactType.ACTION_DISPATCHED:
                self._begin(action, at)
            case FactType.ACTION_COMPLETED:
                self._end(action, at)
            case FactType.STEP_STARTED:
                self._begin(step, at)
            case FactType.STEP_COMPLETED:
                self._end(step, at)
                self.validations[step] = details["validation_status"]
            case FactType.STEP_SKIPPED | FactType.STEP_FAILED:
                self._end(step, at)
                self.reasons[step] = details["reason"]
                if name == FactType.STEP_FAILED:
                    self.validations[step] = "failed"
            case FactType.REQUEST_OPENED:
                self._begin(request, at)
                if action:
                    self._begin(action, at)
                    self._asked_about[request] = action
            case FactType.REQUEST_ANSWERED | FactType.REQUEST_EXPIRED:
                self._end(request, at)
                if request in self._asked_about:
                    self._end(self._asked_about[request], at)
            case FactType.REQUEST_WITHDRAWN:
                self._end(request, at)
            case FactType.CONTRACT_VIOLATED:
                self._violated(at, details)
            case FactType.CONTRACT_CORRECTED:
                self._corrected(at, details)
            case FactType.ACTION_NEVER_EXECUTED:
                self.dropped.append({**details, "at": at})
            case FactType.CHAIN_ROUTED:
                self.routed.append({**details, "timestamp": at})
            case FactType.CHAIN_CANCELLED:
                self.cancelled = details
            case _:
                pass

    def _begin(self, name: str, at: datetime) -> None:
        """It began now, unless it is known to have begun; and continues."""
        begun, _ = self.times.get(name, (at, None))
        self.times[name] = (begun, None)

    def _end(self, name: str, at: datetime) -> None:
        begun, _ = self.times.get(name, (at, None))
        self.times[name] = (begun, at)

    def _violated(self, at: datetime, details: Details) -> None:
        thought = details.get("thought_id", "")
        place = details.get("step_id") or subject_of(self._record.id, thought)
        words = self._record.words(thought)[:MOST_SAID] or details.get("said", "")
        self.violations[place].append({**details, "at": at, "place": place, "said": words})

    def _corrected(self, at: datetime, details: Details) -> None:
        """Add a correction to the violation that it answers; one that answers none gets a line
        alone.
        """
        step = details.get("step_id")
        places = [step] if step else ["plan", "answer"]
        correction = {"correction": details.get("message", "")}
        for place in places:
            for violation in reversed(self.violations[place]):
                if "correction" not in violation and _are_alike(violation, details):
                    violation.update(correction)
                    return
        alone = {**details, "at": at, "place": places[0], **correction}
        self.violations[places[0]].append(alone)


def _are_alike(violation: Details, correction: Details) -> bool:
    return all(violation.get(name) == correction.get(name) for name in ("violation", "tool"))
