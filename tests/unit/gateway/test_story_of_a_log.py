"""The story of a chain that a model routes, told from its log: in the order in which things
happened, also within one decision, of which all facts have the same millisecond.
"""

import json
from typing import Any

from haltpoint.chain.model.state import StepRun
from haltpoint.chain.model.statuses import StepStatus
from haltpoint.contracts.people.humans import Question, RequestKind, RequestStatus, Way
from haltpoint.contracts.results import Option
from haltpoint.contracts.views.chains import ChainView
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.routing import SUPERVISOR, Strategy
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.log_lines import decode_line
from haltpoint.runtime.store.rows import StoredAnswer, StoredRequest
from haltpoint.runtime.streams.wire import encode
from haltpoint.runtime.views.chain_view import as_json, view_of
from haltpoint.runtime.views.story import tell
from tests.unit.gateway.test_chain_view import HEAD, OK, record

BEGUN = int(HEAD["created"])
ROUTE = {"step_id": "route"}
CORRECTED = (
    "There is no agent 'returns' to hand the task on to. Agents that can take "
    "it: billing, technical."
)
WRONG = {**ROUTE, "violation": "unknown_tool", "tool": "returns", "message": CORRECTED}
BY_MODEL = {"strategy": Strategy.LLM.value, "timestamp": BEGUN}
FIRST = {
    **BY_MODEL,
    "target_agent": "billing",
    "reasoning": "money",
    "confidence": 0.0,
    "by": "ann",
}
SECOND = {**BY_MODEL, "target_agent": "technical", "reasoning": "repair", "confidence": 0.9}

Facts = list[tuple[str, dict[str, Any]]]


def about(number: int) -> dict[str, Any]:
    return {**ROUTE, "action_id": f"c1.route.{number}"}


def asked(number: int) -> Facts:
    opened = {**ROUTE, "request_id": f"c1.r{number}"}
    return [("request.opened", opened)]


def dropped(tool: str, reason: str = "routed") -> tuple[str, dict[str, Any]]:
    return "action.never_executed", {
        **ROUTE,
        "tool": tool,
        "call": 1,
        "reason": reason,
        "arguments": "{}",
    }


LOG: list[tuple[int, Facts]] = [
    (0, [("chain.started", {})]),
    (1, [("step.started", ROUTE)]),
    (100, asked(1)),
    (200, [("request.answered", {"request_id": "c1.r1"}), ("action.completed", about(1))]),
    (
        300,
        [
            ("contract.violated", {**WRONG, "thought_id": "c1.route.t2.1"}),
            ("contract.corrected", WRONG),
        ],
    ),
    (400, [dropped("find_order"), *asked(2)]),
    (
        500,
        [
            ("request.answered", {"request_id": "c1.r2"}),
            ("chain.routed", FIRST),
            ("action.dispatched", about(2)),
        ],
    ),
    (500, [("action.completed", about(2))]),
    (500, [("chain.routed", SECOND), ("action.dispatched", about(3))]),
    (800, [("action.completed", about(3))]),
    (900, [("step.completed", {**ROUTE, "validation_status": "skipped"}), ("chain.completed", {})]),
]


def question(
    number: int, kind: RequestKind, at: int, answer: dict[str, Any], chain: str = "c1"
) -> StoredRequest:
    said = Question(
        request_id=f"{chain}.r{number}",
        kind=kind,
        question=f"Question {number}?",
        step_id="route",
        options=(Option(id="billing", title="Billing"),),
        asked_at=BEGUN + at,
        deadline=BEGUN + 10**6,
    )
    given = {"kind": kind.value, **answer}
    return StoredRequest(
        said.request_id,
        RequestStatus.ANSWERED,
        encode(said).decode(),
        StoredAnswer(str(BEGUN + at + 50), "", json.dumps(given), Way.HTTP, "ann"),
    )


def routed_twice() -> ChainView:
    """A question in words, a wrong decision, a person's decision, and one of the model."""
    lines = (encode([BEGUN + at, "x", facts]) for at, facts in LOG)
    by_hand = {"success": True, "next_action": "continue", "metadata": {"by": "ann"}}
    agents = {
        f"c1.route.{number}": {
            "tool": "route",
            "args": json.dumps({"target_agent": agent, "task": "x"}),
            "receipt": OK,
            "child": True,
        }
        for number, agent in enumerate(("billing", "technical"), 2)
    }
    whole: dict[str, Any] = {
        "head": HEAD | {"status": "completed"},
        "task": Task(goal="Money back", agent=SUPERVISOR),
        "plan": Plan(steps=(Step(id="route"),)),
        "runs": (StepRun(StepStatus.COMPLETED, actions=3),),
        "log": tuple(decode_line("c1", line) for line in lines),
        "actions": {
            "c1.route.1": {"tool": "askHuman", "args": "{}", "receipt": json.dumps(by_hand)},
            **agents,
        },
        "requests": {
            "c1.r1": question(1, RequestKind.INPUT, 100, {"decision": "answer", "text": "A-1"}),
            "c1.r2": question(
                2, RequestKind.CLARIFICATION, 400, {"decision": "select", "option_id": "billing"}
            ),
        },
    }
    return view_of(record(**whole))


def test_i2_what_led_to_a_decision_is_above_it_and_each_decision_is_told() -> None:
    """Decisions of people are below their answers, results above the next decision, and a violation
    in its place.
    """
    told = [(line.tone, f"{line.text} {line.struck}".rstrip()) for line in tell(routed_twice())]
    assert told[:-2] == [
        ("running", "route"),
        ("stop", "Question 1?"),
        ("choice", "answer: A-1"),
        ("done", "askHuman: ok"),
        ("broken", "named an agent or a tool that is not there"),
        ("corrected", f"corrected: {CORRECTED}"),
        ("stop", "Question 2?"),
        ("never", "never executed: find_order()"),
        ("choice", "Billing  (billing)"),
        ("choice", "billing (by ann)"),
        ("running", 'route(target_agent="billing", task="x")'),
        ("done", "route: ok"),
        ("choice", "technical (llm)"),
        ("running", 'route(target_agent="technical", task="x")'),
        ("done", "route: ok"),
        ("done", "route completed"),
    ]
    times = [f"{line.at:%T.%f}"[:-3] for line in tell(routed_twice()) if line.at is not None]
    assert times == sorted(times)


def test_what_is_long_and_secret_has_its_stars_before_the_story_cuts_it() -> None:
    secret = "s3-" * 20
    call = {"tool": "sign_in", "args": json.dumps({"code": secret, "user": secret + "x"})}
    again = {"success": True, "next_action": "continue", "error": None}
    done = call | {"receipt": json.dumps(again), "data": json.dumps({"echo": f"{secret} "})}
    log = [encode([BEGUN, "x", [("action.dispatched", about(1)), ("action.completed", about(1))]])]
    text = as_json(
        record(
            plan=Plan(steps=(Step(id="route"),)),
            runs=(StepRun(StepStatus.IN_PROGRESS, actions=1),),
            log=tuple(decode_line("c1", line) for line in log),
            actions={"c1.route.1": done},
        ),
        ("code",),
        story=True,
    )
    view = ChainView.model_validate_json(text)
    assert next(line.text for line in view.story if line.about == "call").startswith("sign_in(")
    assert b"s3-s3" not in text
