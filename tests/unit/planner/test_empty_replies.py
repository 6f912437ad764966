"""Replies without anything that a person can read are empty (C9), and no answer (F1)."""

import pytest

from haltpoint_planner.drafting import draft_proposal, said
from haltpoint_planner.exchange import Reply

EMPTY = [
    "",
    " \n ",
    "\u200b\u200b",
    "{}",
    "{ }",
    "null",
    '""',
    "```\n```",
    "```json\n{}\n```",
    "<think>Hm.</think>\u200b",
]
WORDS = ["...", "0", "👍", "[]", "null and void", "```\nx\n```"]


@pytest.mark.parametrize("words", EMPTY)
def test_f1_what_nobody_can_read_is_no_answer(words: str) -> None:
    assert said(Reply(words)) == ""
    assert draft_proposal(Reply(words)).faults == (
        "the reply is empty: it has neither text nor calls",
    )


@pytest.mark.parametrize("words", WORDS)
def test_f1_what_a_person_can_read_is_an_answer(words: str) -> None:
    assert said(Reply(words)) == words
    assert (draft_proposal(Reply(words)).content, draft_proposal(Reply(words)).faults) == (
        words,
        (),
    )
