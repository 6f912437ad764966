"""No line without a successful receipt with an effect, no such receipt without a line (F1), where
answers are shown.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from haltpoint.chain.checks.answer import answer, deed_of, deed_words
from haltpoint.chain.model.state import StepRun
from haltpoint.chain.model.statuses import StepStatus
from haltpoint.contracts.answers import FinalAnswer
from haltpoint.contracts.base import JsonObject, action_id, child_id
from haltpoint.contracts.doors import door
from haltpoint.contracts.results import DeedWords
from haltpoint.contracts.tools import ToolSpec
from haltpoint.contracts.views.chains import ChainView
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.tasks import Task
from haltpoint.runs import Result
from haltpoint.runtime.store.log_lines import LogLine
from haltpoint.runtime.store.rows import StoredAction
from haltpoint.runtime.streams.wire import encode
from haltpoint.runtime.views.chain_view import actions_of, view_of
from haltpoint.runtime.views.record import ChainRecord
from haltpoint.runtime.views.story import tell
from tests.support.builders import OK, asks, failed, spec, writing
from tests.support.stored import chain_record, stored_action

TOOLS = (
    spec("look"),
    writing("send"),
    writing("pay", says="Paid {to}"),
)
HEAD = {"created": "1767225600000", "updated": "1767225601500", "deadline": "1767830400000"}
KINDS = ("succeeds", "is given back", "fails", "asks", "under way", "in doubt", "happened", "skill")


class Drawn:
    """A chain drawn at random, with what really happened in it: each effect by the id of its
    call.
    """

    def __init__(self, draw: st.DrawFn, chain: str, levels: int = 3) -> None:
        self._draw = draw
        self.effects: list[str] = []
        self.children: dict[str, ChainRecord] = {}
        self.actions: dict[str, StoredAction] = {}
        sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3 if levels == 3 else 2))
        plan = Plan(steps=tuple(Step(id=f"s{index}") for index in range(len(sizes))))
        for step, size in zip(plan.steps, sizes, strict=True):
            for number in range(1, size + 1):
                name = action_id(chain, step.id, number)
                self.actions[name] = stored_action(name, **self._action(name, levels))
        dropped = (
            "action.never_executed",
            {"step_id": "s0", "tool": "send", "arguments": "{}", "reason": "stopped"},
        )
        end = {"answer": draw(st.sampled_from([None, "", "Done.", "All is [sent]."]))}
        self.record = chain_record(
            id=chain,
            head={
                **HEAD,
                "status": draw(st.sampled_from(["completed", "failed", "cancelled"])),
                "origin": "literal",
            },
            task=Task(goal="go"),
            plan=plan,
            runs=tuple(StepRun(StepStatus.COMPLETED, actions=size) for size in sizes),
            end=end,
            log=(LogLine(1767225600000, "x", [dropped] if draw(st.booleans()) else []),),
            actions=self.actions,
            children=self.children,
        )

    def _action(self, name: str, levels: int) -> JsonObject:
        kind = self._draw(st.sampled_from(KINDS if levels > 1 else KINDS[:-1]))
        tool = self._draw(st.sampled_from(TOOLS))
        arguments = json.dumps({"to": self._draw(st.text(max_size=20))})
        fields = {"tool": tool.name, "args": arguments}
        if kind == "skill":
            below = Drawn(self._draw, child_id(name), levels - 1)
            self.children[below.record.id] = below.record
            self.effects += below.effects
            record = below.record
            inner = answer("", actions_of(record), (), (), record.spec, record.phrases)
            told = {"below": {"deeds": [json.loads(encode(deed)) for deed in inner.deeds]}}
            receipt = self._draw(st.sampled_from([_told(OK, **told), _told(failed(), **told)]))
            return {"tool": "skill", "args": "{}", "child": True, "receipt": receipt}
        if kind == "succeeds":
            return {**fields, "receipt": _told(OK, **self._deed(tool, name, arguments))}
        if kind == "is given back":  # the receipt of an earlier call, which has its line
            deed = deed_of(tool, arguments, "{}")
            told = {} if deed is None else {"deed": msgspec.to_builtins(deed)}
            return {**fields, "receipt": _told(OK, **told, repeats="c.x.1")}
        if kind == "happened":
            resolution = _told(OK, by="ann", **self._deed(tool, name, arguments))
            return {
                **fields,
                "earlier": _told(failed()),
                "resolution": resolution,
                "resolution_data": "{}",
            }
        receipts = {"fails": failed(), "asks": asks()}
        if kind in receipts:
            return {**fields, "receipt": _told(receipts[kind])}
        return {**fields, "in_doubt": _told(failed())} if kind == "in doubt" else fields

    def _deed(self, tool: ToolSpec, name: str, arguments: str) -> JsonObject:
        """What the worker, or a person's answer, writes down."""
        if not tool.read_only:
            self.effects.append(name)
        deed: DeedWords | None = deed_of(tool, arguments, "{}")
        return {} if deed is None else {"deed": msgspec.to_builtins(deed)}


def _told(outcome: Any, **metadata: Any) -> str:
    whole = json.loads(encode(outcome)) | ({"metadata": metadata} if metadata else {})
    return json.dumps(whole)


@st.composite
def chains(draw: st.DrawFn) -> Drawn:
    return Drawn(draw, "c")


def places(view: ChainView) -> Mapping[str, FinalAnswer]:
    """The answer as API and command line write it and as clients read it; the last event is written
    by `Views`.
    """
    assert view.answer is not None
    read = ChainView.model_validate_json(view.model_dump_json())
    answer = door(FinalAnswer).validate_python(
        json.loads(json.dumps(view.model_dump(mode="json")))["answer"]
    )
    result = Result(read.status, read.answer or FinalAnswer(), read)
    return {"view": view.answer, "json": answer, "client": result.answer}


@settings(max_examples=150, deadline=None)
@given(chains())
def test_f1_every_effect_has_one_line_and_every_line_an_effect(drawn: Drawn) -> None:
    view = view_of(drawn.record)
    for found in places(view).values():
        assert sorted(deed.action_id for deed in found.deeds) == sorted(drawn.effects)
        assert all(deed.says and "\n" not in deed.says for deed in found.deeds)
    shown = [line for line in tell(view) if line.tone == "deed"]
    assert len(shown) == len(drawn.effects)
    assert view.answer is not None
    assert view.answer.text == (drawn.record.chain.end.answer or "")


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=200) | st.text(alphabet='[]"`\\\n\u202e\x1b ab', max_size=200), st.booleans()
)
def test_f1_no_value_breaks_a_line_or_forges_one(value: str, own: bool) -> None:
    tool = writing("send", parameters={"properties": {"x": {}}}, says="Sent {x}." if own else None)
    line = deed_words(tool, json.dumps({"x": value})).says
    assert re.fullmatch(r'Sent "[^"]*"\.' if own else r'Send: x "[^"]*"', line)
    assert line.isprintable()
    assert "`" not in line
    assert len(line) <= 80 + len('Send: x ""')
