"""A line of the log is read as it was written, and does not repeat the chain's id."""

from haltpoint.chain.model.outputs import Decision
from haltpoint.chain.model.state import Chain
from haltpoint.contracts.events import Received, ToolCompleted
from haltpoint.contracts.facts import Fact, FactType
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.store.log_lines import decode_line, encode_line
from tests.support.builders import OK

CHAIN = "0123456789abcdef~s1-1"
FACTS = (
    Fact(FactType.REQUEST_OPENED, {"action_id": f"{CHAIN}.s1.2"}),
    Fact(FactType.ACTION_NEVER_EXECUTED, {"arguments": f'{{"to":"{CHAIN}.x"}}', "reason": ".x"}),
    Fact(FactType.CONTRACT_VIOLATED, {"reason": f"{CHAIN}.s1.1 failed", "said": "\x01.r1"}),
)


def test_the_facts_are_read_as_they_were_written() -> None:
    decision = Decision(Chain(id=CHAIN, task=Task(goal="x")), facts=FACTS)
    data = ToolCompleted.Data(action_id=f"{CHAIN}.s1.2", outcome=OK)
    received = Received(ToolCompleted(id="x", source="w", subject=CHAIN, data=data))
    text = encode_line(CHAIN, received, decision, now=1)
    line = decode_line(CHAIN, text.encode())
    assert (line.type, line.ref) == ("tool.completed", f"{CHAIN}.s1.2")
    assert line.facts == [(fact.type.value, fact.details) for fact in FACTS]
    assert text.count(CHAIN) == 0, "also where a text only begins with an id"
