"""Agents of which each hands its task on to the next, until the last one asks a person
(`test_asking_agents.py`).
"""

from typing import Any, Final

from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint.contracts.work.agents import Agent, Agents
from haltpoint.contracts.work.routing import ROUTE
from haltpoint.contracts.work.tasks import Style

LEVELS: Final = ("front", "team", "clerk", "junior")
FILE: Final = Agents(
    agents=tuple(
        Agent(
            name=name,
            description=f"The {name}.",
            tools=(),
            agents=(below,) if below else (),
            style=Style.REACT,
        )
        for name, below in zip(LEVELS, (*LEVELS[1:], ""), strict=True)
    )
)
_QUESTION: Final = {"name": ASK_HUMAN, "arguments": {"question": "Which colour for {{goal.what}}?"}}


def _handed_on(agent: str) -> dict[str, Any]:
    return {
        "name": ROUTE,
        "arguments": {"target_agent": agent, "task": f"{agent}: {{{{goal.what}}}}"},
    }


def rules() -> list[dict[str, Any]]:
    """Each hands its task on and passes the words back that come from below; the last one asks a
    person.
    """
    script = list[dict[str, Any]]()
    for name, below in zip(LEVELS, (*LEVELS[1:], ASK_HUMAN), strict=True):
        goal = rf"^{name}: (?P<what>\w+)$"
        call, words = _handed_on(below), "{{result.data.text}}"
        if below == ASK_HUMAN:
            call, words = _QUESTION, "{{result.data.answer}}"
        script += [
            {"when": {"goal": goal, "results": [call["name"]]}, "say": {"content": words}},
            {"when": {"goal": goal}, "say": {"calls": [call]}},
        ]
    return script
