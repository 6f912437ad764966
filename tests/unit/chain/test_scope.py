"""What a task allows and what a step may choose from: C15 tools, max_turns and private, C3 one_of,
C11 may_fail.
"""

from functools import partial

import msgspec
import pytest

from haltpoint.chain.checks.knowledge import Known
from haltpoint.chain.checks.plans import callable_tools, drafted_faults, literal_faults
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.outputs import StartChild
from haltpoint.chain.model.work import Work
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.results import ErrorType
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.tasks import Earlier, Handed, Mode, Task
from haltpoint.contracts.work.thoughts import Violation
from tests.support.builders import call, failed, open_task, owing, plan, spec, specs, writing
from tests.unit.chain.story import Story, submitted, with_plan

LOOKUP = spec("lookup_contacts")
MAIL = writing("send_mail")
TEXT = writing("send_text")
TOOLS = specs(LOOKUP, MAIL, TEXT)
GONE = failed(ErrorType.PERMISSION, "the provider says no")
REACH = Step(id="reach", one_of=("send_mail", "send_text"))


drafted = partial(with_plan, (LOOKUP, MAIL, TEXT), goal="reach John")


# ---- C15: tools, max_turns, private


@pytest.mark.parametrize("mode", Mode)
def test_c15_a_call_beyond_the_scope_is_refused_in_every_mode(mode: Mode) -> None:
    told = submitted(open_task("reach John", tools=("lookup_*",), mode=mode), LOOKUP, MAIL)
    told.calls("send_mail")

    assert told.tools_called == []
    [fault] = told.thought.corrections
    assert fault.violation is Violation.NOT_ALLOWED
    assert fault.message.endswith("Tools that may be called here: lookup_contacts.")


def test_c15_a_drafted_plan_names_tools_of_the_scope_only() -> None:
    told = drafted(
        owing("a", "send_mail"),
        Step(id="b", allowed_tools=("send_text",)),
        tools=["lookup_contacts"],
    )

    assert [fault.message for fault in told.thought.corrections] == [
        "step 'a': send_mail may not be called in this task, or no worker serves it now",
        "step 'b': send_text may not be called in this task, or no worker serves it now",
    ]


def test_c15_the_submitters_own_plan_is_not_bound_by_what_a_model_may_call() -> None:
    own = plan(owing("a", "send_mail", actions=(call("send_mail"),)))
    told = submitted(Task(plan=own, tools=()), MAIL)

    assert told.tools_called == ["send_mail"]


@pytest.mark.parametrize(
    ("task", "step", "most"), [(3, None, 3), (3, 2, 2), (3, 9, 3), (20, None, 20), (None, 9, 4)]
)
def test_c15_a_task_says_how_many_turns_a_step_has(
    task: int | None, step: int | None, most: int
) -> None:
    one = owing("a", "lookup_contacts", max_turns=step)
    told = drafted(one, max_turns=task, policy=Policy(max_turns=4, strikes=99))
    while told.status == "executing":
        told.writes("soon")

    assert told.chain.runs[0].proposals == most


def test_c15_what_is_private_goes_to_the_tools_of_a_skill_too() -> None:
    inner = Plan(steps=(Step(id="s", actions=(call("lookup_contacts"),)),))
    skill = spec("greet", plan=inner)
    own = plan(owing("a", "greet", actions=(call("greet"),)))
    told = submitted(Task(plan=own, private={"token": "t"}), skill, LOOKUP)

    [begun] = told.sends(StartChild)
    assert begun.task.private == {"token": "t"}


def test_c15_what_is_private_is_the_origin_of_no_value() -> None:
    send = writing("send_mail", provenance={"to": ("lookup_contacts.id",)})
    told = submitted(open_task("reach John", private={"to": "u1"}), LOOKUP, send)
    told.calls("send_mail", to="u1")

    assert told.faults == [Violation.NO_PROVENANCE]


def test_c15_a_tool_without_a_worker_is_not_offered_and_its_promise_waits_for_one() -> None:
    text = msgspec.structs.replace(TEXT, gone=True)
    tools = specs(LOOKUP, MAIL, text)
    task, promised = Task(goal="reach John"), owing("a", "send_text")
    allowed = Step(id="a", allowed_tools=("send_text", "send_mail"))

    assert callable_tools(promised, tools, Mode.STRICT, task) == ("lookup_contacts", "send_text")
    assert callable_tools(allowed, tools, Mode.STRICT, task) == ("send_mail",)
    assert callable_tools(allowed, tools, Mode.OFF, task) == ("lookup_contacts", "send_mail")
    told = "send_text may not be called in this task, or no worker serves it now"
    assert [str(one) for one in drafted_faults(plan(promised), tools, Task(), 50)] == [
        f"step 'a': {told}"
    ]
    own = plan(msgspec.structs.replace(promised, actions=(call("send_text"),)))
    assert literal_faults(own, tools) == []


def test_c15_the_same_users_goals_before_count_as_their_words_and_answers_do_not() -> None:
    before = (
        Earlier(chain_id="a", goal="John is at j@x.org", user="ann", answer="Eve is at e@x.org"),
        Earlier(chain_id="b", goal="Write to e@x.org", user="eve"),
        Earlier(chain_id="c", goal="Or to i@x.org"),
    )
    told = Story(Task(goal="Write to him", user="ann", handed=Handed(earlier=before)), MAIL)

    known = Known.of(Work.on(told.chain, "", told.world, told.now))

    assert known.words.split("\0") == ["Write to him", "John is at j@x.org"]


# ---- C3: one_of


def test_c3_a_required_tool_is_needed_beside_one_of_several() -> None:
    told = drafted(owing("reach", "lookup_contacts", one_of=REACH.one_of))
    told.calls("send_text")
    told.result()
    assert told.statuses == {"reach": "in_progress"}
    told.calls("lookup_contacts")
    told.result()

    assert told.statuses == {"reach": "completed"}


def test_c3_the_model_and_a_person_are_told_that_any_of_them_will_do() -> None:
    told = drafted(REACH, strikes=2)
    told.writes("He knows.")
    [fault] = told.thought.corrections
    assert "this needs send_mail or send_text" in fault.message
    assert '{"tool":"send_text","arguments":{}}' in fault.form
    told.writes("He knows.")

    [question] = told.questions
    assert question.kind is RequestKind.ESCALATION
    assert "send_mail or send_text" in question.question
    assert question.tool == "send_mail"


def test_c1_a_literal_step_calls_one_of_them() -> None:
    choice = Step(id="reach", one_of=REACH.one_of, actions=(call("send_text"),))
    assert literal_faults(plan(choice), TOOLS) == []
    other = msgspec.structs.replace(choice, actions=(call("lookup_contacts"),))
    [fault] = literal_faults(plan(other), TOOLS)
    assert fault.message == "send_mail or send_text is required, but no action of the step calls it"

    told = submitted(Task(plan=plan(choice)), TEXT, MAIL)
    told.result()
    assert told.status == "completed"


# ---- C11: may_fail


def test_c11_a_drafted_plan_goes_on_without_a_step_that_may_fail() -> None:
    told = drafted(owing("find", "lookup_contacts", may_fail=True), REACH)
    told.calls("lookup_contacts")
    told.result(GONE)
    told.end("The provider says no.")
    assert told.statuses == {"find": "failed", "reach": "in_progress"}
    told.calls("send_mail")
    told.result()
    told.say("John was reached by mail.")

    assert told.status == "completed"
