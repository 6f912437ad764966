"""Who gets the questions of employees, by strategy, with the model of HALTPOINT_MODEL: how many go to the right agents.

The questions are tests/data/departments.json, in two sets, the agents those of examples.departments. A person
answers what is asked, and each chain is cancelled behind its first decision. `python -m tests.proofs.routed [STRATEGY
...]` prints a line for each question and the figures of each strategy and set; docs/supervisor.md has them.
"""

import asyncio
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Final

from examples import departments
from haltpoint.cli.gateway import KEY_FILE
from haltpoint.cli.local.system import System
from haltpoint.client import Client
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.runtime.config.settings_sources import load

QUESTIONS: Final = json.loads(Path("tests/data/departments.json").read_text(encoding="utf-8"))
_FILE: Final = (Path(departments.__path__[0]) / "agents.toml").read_text(encoding="utf-8")
_NONE: Final = '[models.none]\nname = "none"\nbase_url = "http://127.0.0.1:9/v1"\n'
AGENTS: Final = _FILE.replace('style = "react"', 'style = "react"\nmodel = "none"') + _NONE
"""Those of the example. Only routing is measured, so no agent has a model that answers."""

WORDS: Final = {
    "hr": ["leave", "holiday", "vacation", "pay", "salary", "sick", "parental", "first day", "last day", "overtime"],
    "security": ["badge", "key", "password", "door", "login", "locked out", "stolen", "phishing", "visitor"],
    "code": ["library", "review", "release", "bug", "branch", "deploy", "merge", "repository", "software", "version"],
    "legal": ["licence", "license", "contract", "copyright", "nda", "sign", "terms", "gpl", "mit", "trademark"],
}
"""Of rules and skills; written from the descriptions of the agents, before the questions were read."""

_THRESHOLD, _ROUNDS = "threshold = 0.6\n", "max_tool_retries = 2"
_WITHOUT_SUPERVISOR: Final = AGENTS[AGENTS.index("[[agents]]") :]


def _with_rules() -> str:
    rules = (f"{{id = '{name}', agent = '{name}', match = '({'|'.join(words)})'}}" for name, words in WORDS.items())
    return f'[supervisor]\nstrategy = "rule"\nrules = [{", ".join(rules)}]\n{_WITHOUT_SUPERVISOR}'


def _with_skills() -> str:
    file = f'[supervisor]\nstrategy = "skill"\n{_WITHOUT_SUPERVISOR}'
    for name, words in WORDS.items():
        file = file.replace(f'name = "{name}"\n', f'name = "{name}"\nskills = {json.dumps(words)}\n')
    return file


STRATEGIES: Final = {
    "llm": AGENTS,
    "llm without askHuman": AGENTS.replace(_THRESHOLD, "").replace(_ROUNDS, "max_tool_retries = 0"),
    "rule": _with_rules(),
    "skill": _with_skills(),
}


async def routed(client: Client, question: dict[str, Any]) -> dict[str, Any]:
    """Where a question goes, what was asked on the way (`asked`: askHuman, or which agent), and what went wrong."""
    run, asked = await client.run(question["goal"]), list[str]()
    async for event in run.events():
        if event.type == "chain.routed":
            break
        if event.type != "request.opened":
            continue
        for request in await run.requests():
            if request.kind is RequestKind.INPUT:
                asked.append("askHuman")
                await client.answer(request.id, text=question["meant"])
            elif request.kind is RequestKind.CLARIFICATION:
                asked.append("which agent")
                await client.answer(request.id, option_id=question["right"][0])
            else:
                await client.cancel(run.id)
    chain = await client.chain(run.id)
    if chain.answer is None:
        await client.cancel(run.id)
    went = [] if chain.routed is None else [chain.routed.target_agent]
    return {
        "goal": question["goal"],
        "right": sorted(question["right"]),
        "went": sorted(filter(None, went)),
        "asked": asked,
        "ambiguous": question["ambiguous"],
        "confidence": chain.routed and chain.routed.confidence,
        "strikes": sum(step.strikes for step in chain.steps),
        "tokens": chain.usage.tokens,
    }


def figures(all_of_them: list[dict[str, Any]]) -> dict[str, int]:
    """How many questions went to all the right agents and to no other, to a part of them, elsewhere, or nowhere; how
    many were asked about, and how many of those had to be.
    """
    counted = Counter[str]()
    for one in all_of_them:
        went, right = set(one["went"]), set(one["right"])
        counted["right" if went == right else "in part" if went & right else "wrong" if went else "nowhere"] += 1
        counted["asked"] += bool(one["asked"])
        counted["asked where it is unclear"] += bool(one["asked"]) and one["ambiguous"]
    return dict(counted)


async def measured(strategy: str, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All questions, one after the other, in a system of its own."""
    with tempfile.TemporaryDirectory(prefix="haltpoint-routed-") as state, (Path(state) / "log").open("wb") as log:
        file = Path(state) / "agents.toml"
        file.write_text(STRATEGIES[strategy], encoding="utf-8")
        tools = "examples.departments.tools"
        settings = load(state_dir=state, tools=tools, gateway={"port": 0}, agents_file=file, redis_url=None)
        system = System(settings, environment={}, output=log)
        async with system, Client(system.url, (Path(state) / KEY_FILE).read_text().strip()) as client:
            done = list[dict[str, Any]]()
            for question in questions:
                done.append(await routed(client, question))
                print(json.dumps({"strategy": strategy, **done[-1]}, ensure_ascii=False), flush=True)
            return done


async def main() -> None:
    for strategy in sys.argv[1:] or STRATEGIES:
        for name, questions in QUESTIONS.items():
            print(f"{strategy}, {name} set: {figures(await measured(strategy, questions))}", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
