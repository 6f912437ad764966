"""What holds a model to its word outlives every process: a chain with a case in it is read as it was decided (D5)."""

from typing import Any

from haltpoint.chain.checks.built_in import HUMAN_SPEC, with_built_in
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.commands import ActionRequested, AnswerRequested, BoundsRequested, PlanRequested
from haltpoint.contracts.events import ActionProposed, AnswerDrafted, BoundsDrafted, PlanDrafted
from haltpoint.contracts.people.humans import Answer, Choice, RequestKind
from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint.contracts.work.bounds import Bounds
from haltpoint.contracts.work.plans import Plan, Step
from haltpoint.contracts.work.tasks import Style, Task
from haltpoint.contracts.work.thoughts import Proposal
from tests.integration.store.test_whole_chains import watch
from tests.support.builders import call, plan, spec
from tests.support.desk import Desk

Said = Bounds | Plan | Proposal | str | None


def words(text: str) -> Proposal:
    return Proposal(content=text)


async def tell(desk: Desk, *replies: Said) -> None:
    """The model says all this, one reply to each question; workers do what is asked of them."""
    left = list(replies)
    while True:
        while await desk.decide_all() or await desk.work_all():
            pass
        found = await desk.read(Stream.PLANS)
        for place, request in found:
            message, said = request.message, left.pop(0)
            head: dict[str, Any] = {"id": f"{message.id}/reply", "source": "test", "subject": message.subject}
            match message:
                case BoundsRequested():
                    read = BoundsDrafted.Data(thought_id=message.id, bounds=said if isinstance(said, Bounds) else None)
                    await desk.receipt_store.record_thought(place, BoundsDrafted(**head, data=read))
                case PlanRequested():
                    asked = said if isinstance(said, str) else None
                    drafted = PlanDrafted.Data(
                        thought_id=message.id, plan=said if isinstance(said, Plan) else None, question=asked
                    )
                    await desk.receipt_store.record_thought(place, PlanDrafted(**head, data=drafted))
                case ActionRequested():
                    assert isinstance(said, Proposal)
                    step = message.data.step_id or ""
                    data = ActionProposed.Data(thought_id=message.id, step_id=step, proposal=said)
                    await desk.receipt_store.record_thought(place, ActionProposed(**head, data=data))
                case AnswerRequested():
                    answer = AnswerDrafted.Data(thought_id=message.id, text=str(said))
                    await desk.receipt_store.record_thought(place, AnswerDrafted(**head, data=answer))
        if not found:
            assert left == []
            return


UNREADABLE = Proposal(faults=("a call names no tool",))


async def decided(desk: Desk, chain_id: str, decision: Choice, **more: Any) -> None:
    chain = await desk.chain(chain_id)
    [request] = chain.requests
    answer = Answer(kind=request.kind, decision=decision, **more)
    await desk.inbox.answer(f"{chain_id}.r{request.number}", answer, by="ann")


async def test_d5_a_chain_with_cases_of_every_kind_is_read_as_it_was_decided(desk: Desk) -> None:
    desk.tools[ASK_HUMAN] = HUMAN_SPEC
    desk.policy = Policy(strikes=2)
    watch(desk)
    chain_id = await desk.submit(Task(goal="tell John"))
    await tell(desk, None, None)
    assert (await desk.chain(chain_id)).requests[0].step == -1
    await decided(desk, chain_id, Choice.REPHRASE, text="Find John.")
    steps = plan(
        Step(id="find", required_tools=("note", "lookup")),
        Step(id="think", dependencies=("find",)),
        Step(id="ask", required_tools=(ASK_HUMAN,), dependencies=("think",)),
    )
    await tell(desk, steps, Proposal(calls=(call("nope"),)), words("done"))
    chain = await desk.chain(chain_id)
    assert (chain.status, chain.people.goal, chain.row.count) == (ChainStatus.ESCALATED, "Find John.", 2)
    assert [strike.place for strike in chain.row.case] == ["find", "find"]
    await decided(desk, chain_id, Choice.RETRY)
    await tell(desk, words("no"), words("no"))
    assert (await desk.chain(chain_id)).people.other_model
    await decided(desk, chain_id, Choice.MANUAL, value={"id": "u1"})
    await tell(desk, Proposal(calls=(call("lookup"),)), UNREADABLE, UNREADABLE)
    await decided(desk, chain_id, Choice.MANUAL, text="Nobody was told.")
    form = {"type": "object", "properties": {"size": {"type": "integer", "default": None}}}
    asked = call(ASK_HUMAN, question="How large?", schema=form, priority="high", timeout=60)
    await tell(desk, Proposal(calls=(asked, call("note"))))
    chain = await desk.chain(chain_id)
    assert (chain.status, chain.requests[0].form) == (ChainStatus.AWAITING_INPUT, form)
    await decided(desk, chain_id, Choice.ANSWER, value={"size": 7})
    await tell(desk, "All is well.")
    chain = await desk.chain(chain_id)
    assert (chain.status, chain.end.answer) == (ChainStatus.COMPLETED, "All is well.")


async def test_c11_c12_a_chain_that_leaves_out_what_its_goal_requires_is_read_as_it_was_decided(desk: Desk) -> None:
    desk.tools |= with_built_in({"pay": spec("pay", read_only=False)})
    watch(desk)
    chain_id = await desk.submit(Task(goal="Settle the bill", style=Style.REACT))
    ends = call("end_step", outcome="not_needed", reason="There is no bill.")
    await tell(desk, Bounds(required_tools=("pay",)), Proposal(calls=(ends,)))
    chain = await desk.chain(chain_id)
    assert chain.bounds is not None
    assert [bound.tools for bound in chain.bounds.required_tools] == [("pay",)]
    assert chain.requests[0].kind is RequestKind.LEAVE_OUT
    await decided(desk, chain_id, Choice.ACCEPT)
    await tell(desk, "There was nothing to pay.")
    chain = await desk.chain(chain_id)
    assert (chain.status, chain.end.unfinished) == (ChainStatus.COMPLETED, True)
    assert [left.reason for left in chain.left_out] == ["There is no bill."]
