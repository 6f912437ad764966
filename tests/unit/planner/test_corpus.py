"""What models say and what it means: the corpus, a habit of some model in each entry.

`says` is the text of a reply, `body` what a server sends. Expected is a plan (or the `fault` in
one), or else a proposal: its `calls`, `content`, `repaired` and `faults`, of which those that are
not named are empty; `asked` is why the model is asked whether it meant a call. Known are the
`tools` of an entry, else those that it calls.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.work.plans import Plan, ProposedCall, Step
from haltpoint.contracts.work.thoughts import Proposal
from haltpoint_planner.drafting import draft_proposal
from haltpoint_planner.exchange import Reply
from haltpoint_planner.parsing.replies import read_reply
from haltpoint_planner.parsing.shown import MEANT
from haltpoint_planner.plan_drafting import draft_plan

FOLDER = Path(__file__).parent / "corpus"
Entry = dict[str, Any]


def tools_in(entry: Entry) -> dict[str, ToolSpec]:
    """The tools of an entry; of one that names none those that it calls."""
    tools = entry.get("tools") or {name: {} for call in entry.get("calls", ()) for name in call}
    return {
        name: ToolSpec(name=name, description=name, parameters={"type": "object", **schema})
        for name, schema in tools.items()
    }


FILES = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted(FOLDER.glob("*.yaml"))
}
ENTRIES: list[tuple[str, Entry]] = [
    (f"{stem}: {entry['name']}", entry) for stem, file in FILES.items() for entry in file
]
PARAMETERS = [pytest.param(entry, id=name) for name, entry in ENTRIES]


def reply_in(entry: Entry) -> Reply:
    if "says" in entry:
        return Reply(entry["says"])
    reply = read_reply(json.dumps(entry["body"]))
    assert reply is not None
    return reply


def expected(entry: Entry) -> Proposal:
    calls = [
        ProposedCall(tool=tool, arguments=arguments)
        for call in entry.get("calls", ())
        for tool, arguments in call.items()
    ]
    asked = (f"{entry['asked']}, so nothing was called; {MEANT}",) if "asked" in entry else ()
    return Proposal(
        content=entry.get("content", ""),
        calls=tuple(calls),
        repaired=entry.get("repaired", False),
        faults=(*entry.get("faults", ()), *asked),
        shown="asked" in entry,
    )


def shown(step: Step, wanted: Entry) -> Entry:
    """The step as an entry writes it, with those texts that the entry names."""
    found: Entry = {"id": step.id, "type": step.step_type.value}
    found |= {"tools": list(step.required_tools)} if step.required_tools else {}
    found |= {"after": list(step.dependencies)} if step.dependencies else {}
    texts = {
        "description": step.description,
        "outcome": step.expected_outcome,
        "mode": step.tool_validation_mode,
    }
    return found | {name: text for name, text in texts.items() if name in wanted}


def test_the_corpus_is_large_and_names_everything_once() -> None:
    names = [name for name, _ in ENTRIES]
    assert len(names) >= 150
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("entry", PARAMETERS)
def test_c9_every_dialect_means_what_it_says(entry: Entry) -> None:
    reply = reply_in(entry)
    if "plan" in entry:
        plan = draft_plan(reply)
        assert isinstance(plan, Plan), plan
        assert [
            shown(step, wanted) for step, wanted in zip(plan.steps, entry["plan"], strict=True)
        ] == entry["plan"]
    elif "fault" in entry:
        fault = draft_plan(reply)
        assert isinstance(fault, str)
        assert entry["fault"] in fault
    else:
        assert draft_proposal(reply, tools_in(entry)) == expected(entry)
