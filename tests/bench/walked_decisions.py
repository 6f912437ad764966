"""How much code one decision of the core walks, by the kind of its event: the functions and files
of ours, each once.

No service and no server: a story of the core is told, and each decision of it is profiled. What is
cached after a first story is not counted, as in `walked`.
"""

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Final

from haltpoint.chain.decide import decide
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.work.tasks import Task
from tests.bench.walked import Walked, is_ours, walked
from tests.support.builders import asks, call, line_plan, owing, plan, spec, writing
from tests.unit.chain.story import Story

FIND: Final = spec("find")
SEND: Final = writing("send", provenance={"to": ("find.id",)}, targets=("to",))
STEPS: Final = plan(
    owing("look", "find"),
    owing("tell", "send", dependencies=("look",)),
)


class Decisions:
    """What each named decision of a story walks."""

    def __init__(self) -> None:
        self.walks: dict[str, list[CodeType]] = {}

    def note(self, name: str, tell: Callable[..., object], *said: Any, **more: Any) -> None:
        """Tell a story the next event, and keep what its decision enters."""
        entered: list[CodeType] = []
        deciding: list[FrameType] = []

        def heard(frame: FrameType, event: str, _: Any) -> None:
            if event == "call" and frame.f_code is decide.__code__:
                deciding.append(frame)
            if event == "call" and deciding and is_ours(frame.f_code):
                entered.append(frame.f_code)
            if event == "return" and frame in deciding:
                deciding.remove(frame)

        sys.setprofile(heard)
        tell(*said, **more)
        sys.setprofile(None)
        self.walks[name] = entered


def decisions() -> dict[str, Walked]:
    """What each kind of decision walks, once everything is warm."""
    cold, warm = Decisions(), Decisions()
    for walks in (cold, warm):
        _planned(walks)
        _asked(walks)
    return {name: walked(entered) for name, entered in warm.walks.items()}


def _planned(walks: Decisions) -> None:
    """A drafted plan: a lookup, and an effect with a value of it."""
    story = Story(Task(goal="find her and send it"), FIND, SEND)
    story.submit()
    walks.note("plan.drafted", story.draft, STEPS)
    walks.note("a proposal, read-only", story.propose, call("find"))
    story.result(data='{"id": "u1"}')
    walks.note("a proposal, effect, one FromResult", story.propose, call("send", to="u1"))
    story.result()
    walks.note("answer.drafted", story.say, "It is sent.")


def _asked(walks: Decisions) -> None:
    """A literal plan whose first tool has options."""
    story = Story(Task(plan=line_plan(3)), spec("note", may_clarify=True))
    story.submit()
    walks.note("tool.completed that asks", story.result, asks("a"))
    walks.note("human.answered, a choice", story.answer, RequestKind.CLARIFICATION, option="a")
    walks.note("literal tool.completed", story.result)


if __name__ == "__main__":
    for name, found in decisions().items():
        print(
            f"{name:36} {found.functions:4} functions in {found.files:3} files, "
            f"{found.calls:5} calls"
        )
