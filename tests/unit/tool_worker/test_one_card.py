"""One call, one card (CONTRACT G5): the core and a worker together, whatever the reasons to ask a
person.
"""

from collections.abc import Callable
from typing import Any

from haltpoint import hook
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.runtime.config import policy_file
from haltpoint.tools import tool_of
from haltpoint_tool_worker.targets import marked
from tests.support.builders import open_task
from tests.unit.chain.story import Story, submitted
from tests.unit.tool_worker.test_hooks import SENT, nag, pay, pre, run_call, send_message

NAMES = policy_file.read(None).targets

TOOLS = {
    "send_message": (send_message, {"to": "ann"}),
    "pay": (pay, {"bill": "b1"}),
    "nag": (nag, {"bill": "b1"}),
}


def sure(_: object) -> hook.Ask:
    return hook.ask("Really?")


def begin() -> Story:
    SENT.clear()
    tools = [tool_of(function) for function, _ in TOOLS.values()]
    specs = [marked(tool, NAMES) for tool in tools if tool is not None]
    return submitted(open_task("go on with ann"), *specs)


async def work(told: Story, *hooks: Callable[..., Any]) -> None:
    """A worker does the last order, and the chain hears of it."""
    order = told.order
    action = order.action
    approval = None if order.approval is None else order.approval.digest
    ran = await run_call(
        action.tool, action.arguments, *hooks, approval=approval, reasons=order.reasons
    )
    told.result(ran.outcome, ran.data)


def kinds(told: Story) -> list[str]:
    return [reason.kind.value for reason in told.questions[-1].reasons]


async def test_g5_a_call_is_asked_about_once_with_all_reasons() -> None:
    told, made = begin(), ProposedCall(tool="send_message", arguments=TOOLS["send_message"][1])
    told.propose(made)
    await work(told)
    told.propose(made)
    await work(told, pre(sure))
    assert (kinds(told), len(SENT)) == (["repeat", "hook"], 1)
    told.approve()
    await work(told, pre(sure))
    assert (len(told.questions), len(SENT)) == (1, 2)
    assert told.status == "executing"
