"""Words held against receipts (F1, F2) and against what the user asked for (C2)."""

from typing import Any

import pytest

from haltpoint.chain.state import ChainStatus, StepStatus
from haltpoint.chain.world import Policy
from haltpoint.contracts.events import AnswerDrafted, DraftedAnswer
from haltpoint.contracts.plans import Step
from haltpoint.contracts.policy import Messages, Pattern
from haltpoint.contracts.tasks import Style, Task
from haltpoint.contracts.thoughts import Usage, Violation
from tests.support.builders import call, plan, spec
from tests.unit.chain.story import Story

FIND = spec("find_contact")
SEND = spec("send_message", read_only=False)
WRITE = spec("write_file", read_only=False)
SAVING = Pattern(id="save", pattern=r"\bsave\b", tools=("write_file", "store_*"), reason="who says save wants a file")
LIE = "I've sent the message to John."
TRUTH = "I could not send the message."


def at_work(*steps: Step, policy: Policy | None = None, **task: Any) -> Story:
    told = Story(Task.model_validate({"goal": "tell John", **task}), FIND, SEND, WRITE, policy=policy)
    told.submit()
    told.draft(plan(*(steps or (Step(id="think"),))))
    return told


def spoken(**task: Any) -> Story:
    """A chain whose only step is done: the words for the user are asked for."""
    told = at_work(**task)
    told.propose(content="John is a friend.")
    return told


def violations(told: Story) -> list[str]:
    return [one["violation"] for one in told.told("contract.violated")]


# ---- fabrication (F1)


def test_f1_a_reasoning_step_that_claims_what_did_not_happen_is_asked_again() -> None:
    told = at_work()
    told.propose(content=LIE)

    assert told.status_of("think") is StepStatus.IN_PROGRESS
    [correction] = told.thought.corrections
    assert correction.violation is Violation.FABRICATED
    assert correction.tool == "send_message"
    assert LIE in correction.message
    told.propose(content=TRUTH)
    assert told.status_of("think") is StepStatus.COMPLETED


def test_f1_the_correction_names_no_tool_that_a_model_may_not_call() -> None:
    hidden = spec("send_all", read_only=False, internal=True)
    told = Story(Task(goal="tell John"), hidden, FIND)
    told.submit()
    told.draft(plan(Step(id="think")))
    told.propose(content=LIE)

    [correction] = told.thought.corrections
    assert correction.tool is None
    assert "send_all" not in correction.message


def test_f1_a_claim_with_its_receipt_is_no_violation() -> None:
    told = at_work(Step(id="send", required_tools=("send_message",)), Step(id="think"))
    told.propose(call("send_message"))
    told.result()
    told.propose(content=LIE)

    assert violations(told) == []
    assert told.status_of("think") is StepStatus.COMPLETED


def test_f1_a_claim_beside_a_call_is_a_strike_and_the_call_runs() -> None:
    told = at_work(Step(id="find", required_tools=("find_contact",)))
    told.propose(call("find_contact"), content=LIE)

    assert violations(told) == ["fabricated"]
    assert told.chain.strikes == 1
    assert told.tools_called == ["find_contact"]


def test_f1_in_place_of_a_call_a_claim_is_told_beside_the_missing_call() -> None:
    told = at_work(Step(id="send", required_tools=("send_message",)))
    told.propose(content=LIE)

    assert violations(told) == ["no_call", "fabricated"]
    assert told.chain.strikes == 1


def test_f1_of_very_many_claims_some_are_told() -> None:
    told = at_work()
    told.propose(content="I sent the message. I wrote the file. I deleted it. I booked a table. I paid the bill.")

    assert len(told.thought.corrections) == 3


def test_f1_a_claim_that_no_tool_could_make_true_is_told_as_such() -> None:
    told = at_work()
    told.propose(content="I transferred 500 EUR.")

    assert told.thought.corrections[0].tool is None
    assert "there is none here" in told.thought.corrections[0].message


def test_f1_in_advisory_mode_the_words_stand_and_the_violation_is_told() -> None:
    told = at_work(mode="advisory")
    told.propose(content=LIE)

    assert violations(told) == ["fabricated"]
    assert told.told("step.completed") == [{"step_id": "think", "validation_status": "failed"}]


def test_f1_off_does_not_look() -> None:
    told = at_work(mode="off")
    told.propose(call("find_contact"), content=LIE)
    told.result()
    told.propose(content=LIE)
    told.say(LIE)

    assert violations(told) == []
    assert told.chain.answer == LIE


# ---- the answer (F2)


def test_f2_an_answer_with_an_unfounded_claim_is_not_delivered() -> None:
    told = spoken()
    told.say(LIE)

    assert told.chain.status is ChainStatus.EXECUTING
    assert told.thought.thought_id == "c.answer.t0.2"
    assert told.thought.previous == "c.answer.t0.1"
    assert told.thought.corrections[0].violation is Violation.FABRICATED
    told.say(TRUTH)
    assert told.chain.answer == TRUTH


def test_f2_after_the_strikes_the_receipts_stand_in_place_of_the_answer() -> None:
    told = at_work(Step(id="find", required_tools=("find_contact",)))
    told.propose(call("find_contact"))
    told.result(data='{"name": "John"}')
    for _ in range(3):
        told.say(LIE)

    assert told.chain.status is ChainStatus.COMPLETED
    assert told.chain.answer == 'find_contact: {"name": "John"}'
    assert len(told.told("contract.violated")) == 3


def test_f2_in_advisory_mode_the_answer_is_delivered_and_the_violation_told() -> None:
    told = spoken(mode="advisory")
    told.say(LIE)

    assert told.chain.answer == LIE
    assert violations(told) == ["fabricated"]


def test_f2_a_late_repeat_of_an_answer_changes_nothing() -> None:
    told = spoken()
    first = told.thought
    told.say(LIE)
    before = told.chain
    data = DraftedAnswer(thought_id=first.thought_id, text=TRUTH)
    told.hear(AnswerDrafted(id="w", source="test", subject="c", data=data))

    assert told.chain is before


# ---- what the words ask for (C2)


def saving(**task: Any) -> Story:
    wish = Task.model_validate({"goal": "save a note about John", **task})
    told = Story(wish, FIND, WRITE, SEND, policy=Policy(patterns=(SAVING,)))
    told.submit()
    return told


def test_c2_a_plan_without_the_tool_that_the_words_ask_for_goes_back() -> None:
    told = saving()
    told.draft(plan(Step(id="find", required_tools=("find_contact",))))

    [correction] = told.thought.corrections
    assert correction.violation is Violation.MISSING_TOOL
    assert "write_file" in correction.message
    assert 'The words are "save" (pattern save: who says save wants a file)' in correction.message
    assert told.told("contract.corrected")[0]["tool"] == told.told("contract.violated")[0]["tool"] == "write_file"
    told.draft(plan(Step(id="write", required_tools=("write_file",))))
    assert told.chain.status is ChainStatus.EXECUTING


@pytest.mark.parametrize("off", [("save",), ("*",)])
def test_c2_a_pattern_may_be_off_for_a_task(off: tuple[str, ...]) -> None:
    told = saving(patterns_off=off)
    told.draft(plan(Step(id="find", required_tools=("find_contact",))))

    assert told.chain.status is ChainStatus.EXECUTING


def test_c2_in_advisory_mode_the_plan_is_taken_and_the_violation_told() -> None:
    told = saving(mode="advisory")
    told.draft(plan(Step(id="find", required_tools=("find_contact",))))

    assert told.chain.status is ChainStatus.EXECUTING
    assert violations(told) == ["missing_tool"]


def test_c2_off_does_not_look() -> None:
    told = saving(mode="off")
    told.draft(plan(Step(id="find", required_tools=("find_contact",))))

    assert violations(told) == []


def test_c2_an_open_ended_task_is_not_answered_before_the_tool_has_succeeded() -> None:
    told = saving(style=Style.REACT)
    told.propose(content="Here is your note.")
    assert violations(told) == ["missing_tool"]
    told.propose(call("write_file"))
    told.result()
    told.propose(content="Here is your note.")

    assert told.chain.status is ChainStatus.COMPLETED


def test_c2_a_session_may_ask_for_a_tool() -> None:
    pattern = Pattern(id="writing", session="write_plan", tools=("write_file",))
    task = Task(goal="go on", context={"active_session": "write_plan:7"}, style=Style.REACT)
    told = Story(task, WRITE, policy=Policy(patterns=(pattern,)))
    told.submit()
    told.propose(content="Here it is.")

    assert violations(told) == ["missing_tool"]


def test_c2_a_pattern_whose_tools_nobody_serves_or_may_call_is_off() -> None:
    internal = spec("write_file", internal=True)
    told = Story(Task(goal="save it", style=Style.REACT), FIND, internal, policy=Policy(patterns=(SAVING,)))
    told.submit()
    told.propose(content="Here it is.")

    assert told.chain.status is ChainStatus.COMPLETED


def test_the_words_of_corrections_are_the_policys() -> None:
    messages = Messages(missing_tool="Use {expected_tools}!", no_tool_used="Call {expected_tools} ({count}).")
    policy = Policy(patterns=(SAVING,), messages=messages)
    told = Story(Task(goal="save it"), WRITE, policy=policy)
    told.submit()
    told.draft(plan(Step(id="think")))
    assert told.thought.corrections[0].message.startswith("Use write_file!")
    told.draft(plan(Step(id="write", required_tools=("write_file",))))
    told.propose(content="no")

    assert "Call write_file (2)." in told.thought.corrections[0].message


def test_an_answer_that_costs_more_than_there_was_is_not_delivered() -> None:
    told = at_work(Step(id="find", required_tools=("find_contact",)), budget={"tokens": 1})
    told.propose(call("find_contact"))
    told.result(data='{"name": "John"}')
    data = DraftedAnswer(thought_id=told.thought.thought_id, text=TRUTH, usage=Usage(output_tokens=1000))
    told.hear(AnswerDrafted(id="w", source="test", subject="c", data=data))

    assert told.chain.status is ChainStatus.COMPLETED
    assert told.chain.answer == 'find_contact: {"name": "John"}'
