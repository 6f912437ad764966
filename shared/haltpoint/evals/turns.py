"""One action in a turn against several (CONTRACT C7, J): the same tasks and the same model, under both settings.

The set `turns` has two kinds of tasks. One wants three files that have nothing to do with each other. The other wants a
message to a person whose id a lookup has to bring; the model proposes lookup and message at once, with an id that it
makes up, as models do that say all they want in one reply. It says all calls that are left each time it is asked.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from statistics import fmean
from typing import Any, Final

from haltpoint.client import Client
from haltpoint.contracts.work.tasks import Style, Task
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.evals.world import FILES, PEOPLE
from haltpoint.testing.conversation import Conversation
from haltpoint.testing.script import Rule, SaidCall, Say

SETTINGS: Final = (1, 4)
"""Values of `actions_per_turn`."""

THINKS: Final = 0.1
"""Seconds that the model takes for a reply."""

_EACH: Final = 6
_MADE_UP: Final = "user_00000"


@dataclass(frozen=True, slots=True)
class Wanted:
    """One task: the files to be read, or the person to be written to."""

    goal: str
    files: tuple[str, ...] = ()
    person: str = ""

    @property
    def calls(self) -> tuple[str, ...]:
        """The tools that have to succeed, in their order."""
        return ("read_file",) * len(self.files) or ("lookup_contacts", "send_message")


def _reads(files: tuple[str, ...]) -> Wanted:
    return Wanted(f"Read {', '.join(files[:-1])} and {files[-1]}, and tell me what they say.", files)


def _sends(person: str) -> Wanted:
    return Wanted(f"Tell {person} that I am late.", person=person)


_UNIQUE: Final = ("Jane Miller", "Maria Lopez", "Tom Becker", "Priya Nair", "Grace Okafor", "Emil Berg")
TASKS: Final = (
    *map(_reads, list(combinations(FILES, 3))[:_EACH]),
    *(_sends(one.name) for one in PEOPLE if one.name in _UNIQUE),
)


class AllAtOnce:
    """The model, in the place of a script: it proposes everything that is left."""

    model = "all at once"

    def next(self, talk: Conversation) -> tuple[int, Rule, dict[str, Any]] | None:
        """What it says; None for a goal that is not in the set."""
        task = next((one for one in TASKS if talk.goal.startswith(one.goal)), None)
        return None if task is None else (0, Rule(say=_say(task, talk), delay=THINKS), {})


def _say(task: Wanted, talk: Conversation) -> Say:
    if talk.thought == ThoughtKind.INTENT:
        asked = [{"tools": ["send_message"], "words": task.goal}] if task.person else []
        return Say(content={"effects_asked": asked, "ask_before": [], "forbidden": []})
    done = {tool: result["data"] for tool, result in talk.results if result.get("success")}
    if task.files:
        left = task.files[sum(tool == "read_file" for tool, _ in talk.results) :]
        calls = [SaidCall(name="read_file", arguments={"path": path}) for path in left]
    else:
        found = done.get("lookup_contacts", {}).get("contact_id")
        message = {"recipient_id": found or _MADE_UP, "content": "I am late."}
        calls = [] if found else [SaidCall(name="lookup_contacts", arguments={"query": task.person})]
        calls += [] if "send_message" in done else [SaidCall(name="send_message", arguments=message)]
    return Say(calls=tuple(calls)) if calls else Say(content="This is what I have found and done.")


@dataclass(frozen=True, slots=True)
class Played:
    """One task as it went: replies of the model in its step, tokens of all
    replies and their prompts, seconds, broken rules, whether it is done.
    """

    turns: int
    tokens: int
    seconds: float
    violations: int
    done: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """The tasks of one setting: how many there are and were done; means of turns, tokens and seconds; violations."""

    tasks: int
    done: int
    turns: float
    tokens: float
    seconds: float
    violations: int

    def as_json(self) -> dict[str, Any]:
        """The same for readers."""
        return asdict(self)


def figures(played: Sequence[Played]) -> Figures:
    """The figures of the tasks under one setting."""
    return Figures(
        len(played),
        sum(one.done for one in played),
        round(fmean(one.turns for one in played), 2),
        round(fmean(one.tokens for one in played), 1),
        round(fmean(one.seconds for one in played), 3),
        sum(one.violations for one in played),
    )


async def play(client: Client, wanted: Wanted) -> Played:
    """Run one task to its end. Raises GatewayError."""
    run = await client.run(task=Task(goal=wanted.goal, style=Style.REACT))
    events = [event.type async for event in run.events()]
    chain = (await run.result()).chain
    actions = [action for step in chain.steps for action in step.actions]
    succeeded = tuple(one.tool for one in actions if one.receipt is not None and one.receipt.success)
    return Played(
        chain.usage.turns,
        chain.usage.tokens,
        (chain.updated_at - chain.created_at).total_seconds(),
        events.count("contract.violated"),
        chain.status == "completed" and succeeded == wanted.calls,
    )
