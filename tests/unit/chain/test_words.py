"""What the user asked for in words, held against the plan (C2)."""

from haltpoint.chain.model.limits import Policy
from haltpoint.contracts.policy import Messages, Pattern
from haltpoint.contracts.work.plans import Step
from haltpoint.contracts.work.tasks import Mode, Task
from tests.support.builders import open_task, owing, spec, writing
from tests.unit.chain.story import submitted

FIND = spec("find_contact")
WRITE = writing("write_file")
SAVING = Pattern(
    id="save",
    pattern=r"\bsave\b",
    tools=("write_file", "store_*"),
    reason="who says save wants a file",
)


def test_c2_in_advisory_mode_the_plan_is_taken_and_the_violation_told() -> None:
    task = Task(goal="save a note about John", mode=Mode.ADVISORY)
    told = submitted(task, FIND, WRITE, policy=Policy(patterns=(SAVING,)))
    told.plans(owing("find", "find_contact"))

    assert told.status == "executing"
    assert told.violations == ["bad_plan"]


def test_c2_a_pattern_whose_tools_nobody_serves_or_may_call_is_off() -> None:
    internal = spec("write_file", internal=True)
    told = submitted(open_task("save it"), FIND, internal, policy=Policy(patterns=(SAVING,)))
    told.writes("Here it is.")

    assert told.status == "completed"


def test_the_words_of_corrections_are_the_policys() -> None:
    messages = Messages(no_tool_used="Call {expected_tools} ({count}).")
    policy = Policy(patterns=(SAVING,), messages=messages)
    told = submitted(Task(goal="save it"), WRITE, policy=policy)
    told.plans(Step(id="think"))
    told.plans(owing("write", "write_file"))
    told.writes("no")

    assert "Call write_file (2)." in told.correction
