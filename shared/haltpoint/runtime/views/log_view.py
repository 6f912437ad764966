"""A chain's log as it is read: its lines, the facts in them, and when each step and action began
and ended.

Pure, like `chain_view`, of which this is a part.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from haltpoint.contracts.base import JsonObject, value
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.views.chains import EventView
from haltpoint.runtime.store.log_lines import decode_line

Details = JsonObject

Fact = tuple[datetime, str, Details]
"""When, its type, its details."""

Place = tuple[int, int]
"""Where an event is in its log: the number of its line, and of the fact in the line."""

BEFORE_ALL: Final[Place] = (0, -1)

Times = dict[str, tuple[datetime, datetime | None]]
"""When it began and when it ended, by the id of a step, an action or a question."""

_NEXT: Final = timedelta(microseconds=1)
_ANSWERED: Final = (FactType.REQUEST_ANSWERED, FactType.REQUEST_EXPIRED)
_OF_A_REQUEST: Final = (FactType.REQUEST_OPENED, *_ANSWERED, FactType.REQUEST_WITHDRAWN)
_BEGIN: Final = (FactType.STEP_STARTED, FactType.ACTION_DISPATCHED, FactType.REQUEST_OPENED)
_END: Final = (
    FactType.STEP_COMPLETED,
    FactType.STEP_FAILED,
    FactType.STEP_SKIPPED,
    FactType.ACTION_COMPLETED,
    *_OF_A_REQUEST[1:],
)


def moment(ms: int | str) -> datetime:
    """A time of ours, ms since the epoch, as people read it: UTC."""
    return datetime.fromtimestamp(int(ms) / 1000, UTC)


@value
class LogLine:
    """One decision in a chain's log: when, on what, and the facts that it made true."""

    number: int
    at: int
    type: str
    ref: str | None
    facts: tuple[tuple[str, Details], ...]

    @classmethod
    def parse(cls, chain_id: str, number: int, text: bytes) -> "LogLine":
        """Read a line as it is stored; `number` is its index in the list."""
        line = decode_line(chain_id, text)
        facts = tuple(line["facts"])
        return cls(number, line["at"], line["type"], line.get("ref"), facts)

    @property
    def place(self) -> str:
        """The id of its last fact; of a line without any the id that its first would have."""
        last = max(len(self.facts) - 1, 0)
        return f"{self.number}.{last}"

    def events(self) -> Iterator[EventView]:
        """The line's facts under their ids `<line>.<fact>`."""
        for index, (name, details) in enumerate(self.facts):
            yield EventView(
                id=f"{self.number}.{index}", at=moment(self.at), type=name, details=details
            )


def place_of(event_id: str | None) -> Place:
    """The place of an event, by its id `<line>.<fact>`; None: before all events."""
    if event_id is None:
        return BEFORE_ALL
    line, _, fact = event_id.partition(".")
    return int(line), int(fact)


def facts(log: Sequence[LogLine]) -> Iterator[Fact]:
    """Every fact, oldest first. Of those in one millisecond each is a microsecond later than the
    one before: so times alone say in which order things happened.
    """
    at = datetime.min.replace(tzinfo=UTC)
    for line in log:
        at = max(at, moment(line.at))
        for name, details in line.facts:
            yield at, name, details
            at += _NEXT


def by_type(facts: Iterable[Fact]) -> defaultdict[str, list[Details]]:
    """The details of the facts of each type, oldest first, with their times as `at`."""
    found: defaultdict[str, list[Details]] = defaultdict(list)
    for at, name, details in facts:
        found[name].append({**details, "at": at})
    return found


def times(facts: Iterable[Fact]) -> Times:
    """An action about which people were asked ends with the answer, or when it has run again."""
    found: Times = {}
    asked_about: dict[str, str] = {}
    for at, fact, details in facts:
        if fact not in _BEGIN and fact not in _END:
            continue
        action, request = details.get("action_id"), details.get("request_id", "")
        names = [str(action or details.get("step_id"))]
        if fact in _OF_A_REQUEST:
            names = [request]
        if fact == FactType.REQUEST_OPENED and action:
            asked_about[request] = action
        if fact in _ANSWERED and request in asked_about:
            names.append(asked_about[request])
        for name in names:
            begun, _ = found.get(name, (at, None))
            found[name] = (begun, at if fact in _END else None)
    return found
