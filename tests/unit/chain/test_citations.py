"""Which brackets are marks (F2), and what becomes of them."""

import pytest

from haltpoint.chain.checks.deeds import MOST_MARKS, marks_in, rendered

STEPS = {"send", "find", "1"}


def names(text: str) -> list[str]:
    return [mark[0][2:-2] for mark in marks_in(text, STEPS)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no brackets",
        "if [[ -f x ]]; then",
        "[[2.5]]",
        "[[Wiki]] [[Send.1]] [[ send.1 ]] [[send.1] ] [send.1] [[send.x]] [[send.1234567]]",
        "`[[send.1]]`",
        "``a ` [[send.1]] ` b``",
        "```\n[[send.1]]\n```",
        "~~~ text\n[[send.1]]\n```\n[[send.1]]",
        "````\n```\n[[send.1]]\n````",
        "   ```\n[[send.1]]\n``` no end\n[[send.1]]",
    ],
)
def test_f2_everything_else_in_brackets_is_text(text: str) -> None:
    assert names(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[[send.1]][[find.2]]", ["send.1", "find.2"]),
        ("[[[send.1]]]", ["send.1"]),
        ("[[1.5]]", ["1.5"]),
        ("`a` [[send.1]] `b`", ["send.1"]),
        ("a ` b [[send.1]]", ["send.1"]),
        ("a ` b\n\n[[send.1]] ` c", ["send.1"]),
        ("`a [[find.1]] `` b [[send.1]] ` [[send.2]]", ["send.2"]),
        ("```\ncode\n```\n[[send.1]]", ["send.1"]),
        ("~~~\ncode\n~~~~  \n[[send.1]]", ["send.1"]),
        ("    ```\n[[send.1]]", ["send.1"]),
        ("a ` b\n```\n[[find.1]]\n```\n[[send.1]] ` c", ["send.1"]),
    ],
)
def test_f2_a_mark_outside_of_code_is_one(text: str, found: list[str]) -> None:
    assert names(text) == found


def test_f2_of_very_many_marks_the_first_are_looked_at() -> None:
    text, unproven = rendered("[[send.1]]" * (MOST_MARKS + 1), STEPS, lambda _: "x", "unproven")
    assert (text, unproven) == ("x" * MOST_MARKS + "[[send.1]]", ())


def test_f2_each_sentence_with_a_false_mark_is_told_once() -> None:
    text = "First. Here [[send.1]] and [[send.2]]! Then [[find.1]]\nlast [[send.3]]"
    lines = {"find.1": "found. It"}
    shown, unproven = rendered(text, STEPS, lambda mark: lines.get(mark[0][2:-2]), "unproven")
    assert shown == "First. Here [send.1: unproven] and [send.2: unproven]! Then found. It\nlast [send.3: unproven]"
    assert unproven == ("Here [send.1: unproven] and [send.2: unproven]!", "last [send.3: unproven]")
    assert all(sentence in shown for sentence in unproven)
