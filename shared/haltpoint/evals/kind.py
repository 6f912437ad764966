"""What a kind of model is, and the list of all kinds; the kinds themselves are in `kinds`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from haltpoint.contracts.tasks import Style
from haltpoint.evals.cases import Make
from haltpoint.evals.talk import Talk
from haltpoint.testing.script import Say

T = TypeVar("T")
Behaviour = Callable[[Talk], Say | None]
BOTH: Final = (Style.PLAN, Style.REACT)
PLANNED: Final = (Style.PLAN,)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of model: what it does, on which cases, and how tasks are worked on."""

    name: str
    what: str
    behaviour: Behaviour
    makes: tuple[Make, ...]
    styles: tuple[Style, ...]

    @property
    def behaves(self) -> bool:
        """Whether it keeps its word, so that every alarm is a false one."""
        return self.name == "well_behaved"


KINDS: Final[dict[str, Kind]] = {}


def kind(*makes: Make, styles: tuple[Style, ...] = PLANNED) -> Callable[[Behaviour], Behaviour]:
    """Make a behaviour a kind under its own name; its docstring says what it does."""

    def add(behaviour: Behaviour) -> Behaviour:
        name = behaviour.__name__
        KINDS[name] = Kind(name, " ".join((behaviour.__doc__ or "").split()), behaviour, makes, styles)
        return behaviour

    return add


def again(talk: Talk) -> bool:
    """Whether it misbehaves in this attempt too."""
    return talk.attempt <= talk.case.patience


def pick(talk: Talk, *options: T) -> T:
    """One of several ways to misbehave, the same in the whole case."""
    return options[talk.case.variant % len(options)]
