"""The provider's own messages, and which results are of which of their calls (C9)."""

from haltpoint.contracts.results import NextAction, Outcome
from haltpoint_planner.own_messages import Own
from haltpoint_planner.prompting.context import Receipt
from haltpoint_planner.prompting.turns import turns_of

DONE = Outcome(success=True, next_action=NextAction.CONTINUE)


def test_a_message_that_calls_in_words_has_no_native_call_and_its_result_is_told_by_itself() -> (
    None
):
    own = Own(":m", 0, {"role": "assistant", "content": '{"tool": "find", "arguments": {}}'})
    receipt = Receipt("look", "find", "{}", DONE, "{}", number=1)
    assert own.calls == []
    (turn,) = turns_of([receipt], {"look.t1.1": own})
    assert (turn.own, turn.receipts) == (None, (receipt,))
