"""C2: patterns are data, searched in the goal as it is; what is shipped asks first, in English and
German.
"""

import pytest

from haltpoint.chain.checks.bounds import found_in
from haltpoint.chain.model.limits import Policy
from haltpoint.contracts.policy import Pattern
from haltpoint.contracts.work.bounds import EVERY, Bound
from haltpoint.runtime.config import policy_file
from tests.support.builders import open_task, writing
from tests.unit.chain.story import submitted

SHIPPED = policy_file.read(None).patterns
SERVED = ("WritePlanTool_begin", "DatabaseTool_safe_query", "SkillTool_execute", "send_message")


def found(
    words: str, *patterns: Pattern, session: str = "", off: tuple[str, ...] = ()
) -> list[str | None]:
    return [bound.pattern for bound in bounds(words, *patterns, session=session, off=off)]


def bounds(
    words: str, *patterns: Pattern, session: str = "", off: tuple[str, ...] = ()
) -> tuple[Bound, ...]:
    """The bounds of an open-ended task that a model has read nothing from."""
    policy = Policy(patterns=tuple(patterns or SHIPPED))
    task = open_task(words, bounds=None, patterns_off=off, context={"active_session": session})
    held = submitted(task, *map(writing, SERVED), policy=policy).chain.bounds
    assert held is not None
    return (*held.required_tools, *held.ask_before)


@pytest.mark.parametrize(
    "words",
    [
        "Tell John I am late, but ask me first.",
        "Tell John I am late. Ask me before you do it.",
        "Before you send it, ask me.",
        "Check with me before you delete anything.",
        "Tell John I'm late and let me approve it",
        "Write John my best wishes; wait for my OK.",
        "Pay them once I have agreed.",
        "Tell John I am late, but ask first.",
        "Get approval first, then email John.",
        "Run it by me, then tell John.",
        "Tell John I am late. Ask me\nbefore you send it.",
        "I'd like to confirm it first.",
        "Let me see it before you send it.",
        "Schreib John, dass ich zu spät komme, aber frag mich vorher.",
        "Frag mich, bevor du etwas sendest.",
        "Bevor du John eine Mail schickst, frag bitte mich.",
        "Bitte erst fragen, dann senden.",
        "Sag John, dass ich zu spät bin. Lass mich das erst bestätigen.",
        "Überweise das Geld nach meiner Freigabe.",
        "Warte mit der Nachricht auf meine Zustimmung.",
        "Zeig mir die Mail, bevor du sie schickst.",
    ],
)
def test_c2_words_that_want_to_be_asked_first_put_every_effect_under_ask_before(words: str) -> None:
    [bound, *_] = bounds(words)
    assert bound.tools == (EVERY,)
    assert str(bound.pattern).startswith("ask-first")
    assert bound.words.strip('"') in " ".join(words.split()), (
        "the card quotes the goal, and says it once"
    )


@pytest.mark.parametrize(
    "words",
    [
        "Tell John I am late.",
        "Show me the first ten mails.",
        "Book it no later than Monday.",
        "Mail no-reply@acme.example that we are done.",
        "Tell John who was asked before.",
        "Tell John, and show me which invoice came in.",
        "Write a README.md file",
        "Find the invoices that are overdue and remind everybody.",
        "Sende John, dass ich nicht komme.",
        "Gibt es freie Räume?",
        "Pay the invoices of June, and send Ann the list.",
    ],
)
def test_c2_plain_words_say_nothing(words: str) -> None:
    assert found(words) == []


@pytest.mark.parametrize(
    ("words", "name", "tool"),
    [
        ("Write a README.md file", "file-write", "WritePlanTool_begin"),
        ("find in database: open orders", "database-search", "DatabaseTool_safe_query"),
        ("Run PCC", "skill-run", "SkillTool_execute"),
        ("analyze requirements", "skill-analyze", "SkillTool_execute"),
    ],
)
def test_c2_the_patterns_of_the_document_are_shipped_and_switched_off(
    words: str, name: str, tool: str
) -> None:
    assert found(words) == []
    [pattern] = [one for one in SHIPPED if one.id == name]
    on = pattern.model_copy(update={"on": True})
    [bound] = bounds(words, on)
    assert bound.tools == (tool,)


def test_c2_a_pattern_without_a_tool_that_is_served_says_nothing() -> None:
    assert found("deploy it", Pattern(id="deploy", pattern="deploy", tools=("deploy_*",))) == []


@pytest.mark.parametrize(
    ("words", "session", "hits"),
    [("go on", "plan:7", 1), ("go on", "chat", 0), ("stop", "plan:7", 0)],
)
def test_c2_where_it_looks_at_the_session_too_both_are_found(
    words: str, session: str, hits: int
) -> None:
    pattern = Pattern(id="open", pattern="go on", session="^plan:", tools=("send_*",))
    assert len(found(words, pattern, session=session)) == hits


def test_c2_a_session_alone_may_require_a_tool() -> None:
    pattern = Pattern(id="open", session="plan", tools=("send_*",))
    [bound] = bounds("anything", pattern, session="Plan 7")
    assert bound.words == '"Plan"'


@pytest.mark.parametrize("off", [("mine",), ("*",)])
def test_c2_a_task_may_switch_patterns_off(off: tuple[str, ...]) -> None:
    pattern = Pattern(id="mine", pattern="send", tools=("send_*",), reason="so")
    assert found("SEND it", pattern) == ["mine"]
    assert found("SEND it", pattern, off=off) == []


def test_what_is_found_is_cut() -> None:
    assert found_in("a" * 500, "a+") == "a" * 200
    assert found_in("b", "a+") is None
