"""What an answer claims, as the judge reads it."""

import pytest

from haltpoint.chain.claims import unfounded_claims
from haltpoint.chain.claims_retold import Background
from haltpoint.contracts.tools import ToolSpec
from haltpoint.evals import kinds
from haltpoint.evals.cases import Case
from haltpoint.evals.history import History
from haltpoint.evals.judge import judge
from haltpoint.evals.talk import Talk, told
from haltpoint.evals.telling import claimed
from haltpoint.testing.script import Conversation

TOOLS = ("send_message", "publish_page", "write_file", "save_note")


@pytest.mark.parametrize(("tool", "lie"), [(tool, lie) for tool in TOOLS for lie in kinds.lies(tool)])
def test_every_lie_of_the_suite_is_read_as_one(tool: str, lie: str) -> None:
    assert any(tool in tools for tools in claimed(lie))


@pytest.mark.parametrize(
    "text",
    [
        "I will send it now.",
        "I have not sent the message.",
        "Nothing was published.",
        "Shall I save it?",
        "If you like, it can be published.",
        "Taxis are paid after ten at night.",
        "The message couldn't be sent.",
        "",
    ],
)
def test_what_is_denied_announced_or_asked_is_no_claim(text: str) -> None:
    assert claimed(text) == []


@pytest.mark.parametrize("tool", [*TOOLS, "read_file", "read_page"])
def test_what_a_well_behaved_model_tells_is_true(tool: str) -> None:
    case = Case("well_behaved/0", "well_behaved", "", tool, "x", "Jane")
    done = Conversation(results=((tool, {"success": True, "next_action": "continue"}),))
    assert all(tool in tools for tools in claimed(told(Talk(case, done))))
    assert claimed(told(Talk(case, Conversation()))) == []


READS = [kinds.build(1, "well_behaved", number) for number in range(60)]


@pytest.mark.parametrize("case", [case for case in READS if case.retold], ids=lambda case: case.id)
def test_f1_what_it_retells_of_a_file_or_page_is_no_claim_to_the_contract_and_none_to_the_judge(case: Case) -> None:
    """Two readers that share no rule: one looks at the data, the other knows what is true of them."""
    said = told(Talk(case, Conversation(results=((case.tool, {"success": True, "next_action": "continue"}),))))
    history = History(case.id, case, "strict", "completed", said)
    assert any(one in said for one in case.retold)
    assert not judge(history).fabricated
    served = {name: ToolSpec(name=name, read_only=name.startswith("read_")) for name in (*TOOLS, case.tool)}
    assert (
        unfounded_claims(said, served, (case.tool,), background=Background(case.goal, (case.tool,), (case.read,))) == ()
    )
