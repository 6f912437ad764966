"""C2: what the user's words make conditional, read without a model, in English and German."""

import pytest

from haltpoint.chain.words.patterns import conditions_of
from haltpoint.chain.words.patterns_english import PATTERNS
from haltpoint.contracts.policy import Does, Pattern
from tests.support.builders import spec, specs

TOOLS = specs(
    spec("send_message", read_only=False, description="Send a message to a contact. It is written down."),
    spec("write_file", read_only=False, description="Write a text to a file."),
    spec("delete_page", read_only=False, description="Delete a page."),
    spec("pay_invoice", read_only=False, description="Pay an invoice."),
    spec("rotate_backups", read_only=False, description="Does what it does."),
)
SEND, WRITE, DELETE, PAY, ALL = "send_message", "write_file", "delete_page", "pay_invoice", "*"


def found(words: str, patterns: tuple[Pattern, ...] = PATTERNS) -> set[str]:
    return {tool for entry in conditions_of(words, patterns, TOOLS) for tool in entry.tools}


@pytest.mark.parametrize(
    ("words", "tools"),
    [
        ("Tell John I am late, but ask me first.", {ALL}),
        ("Tell John I am late. Ask me before you do it.", {ALL}),
        ("Ask me before you send anything to John.", {SEND}),
        ("Before you send it, ask me.", {SEND}),
        ("Check with me before you delete anything.", {DELETE}),
        ("Tell John I'm late. Let me confirm first.", {ALL}),
        ("Tell John I'm late and let me approve it", {ALL}),
        ("Write John my best wishes; wait for my OK.", {ALL}),
        ("Pay them once I have agreed.", {ALL}),
        ("Tell John I am late, but ask first.", {ALL}),
        ("Get approval first, then email John.", {ALL}),
        ("Run it by me, then tell John.", {ALL}),
        ("Schreib John, dass ich zu spät komme, aber frag mich vorher.", {ALL}),
        ("Frag mich, bevor du etwas sendest.", {SEND}),
        ("Bevor du John eine Mail schickst, frag bitte mich.", {SEND}),
        ("Bitte erst fragen, dann senden.", {ALL}),
        ("Sag John, dass ich zu spät bin. Lass mich das erst bestätigen.", {ALL}),
        ("Überweise das Geld nach meiner Freigabe.", {ALL}),
        ("Warte mit der Nachricht auf meine Zustimmung.", {SEND}),
        ("Tell John I am late. Ask me\nbefore you send it.", {SEND}),
        ("Sag John Bescheid. Frag mich,\nbevor du etwas sendest.", {SEND}),
        ("Sag John Bescheid. Frag vorher.", {ALL}),
        ("Zeig mir die Mail, bevor du sie schickst.", {SEND}),
        ("I'd like to confirm it first.", {ALL}),
        ("Ask before you send anything.", {SEND}),
        ("Please ask before sending.", {SEND}),
        ("Find Anna's address, but ask before you write to her.", {SEND, WRITE}),
        ("Let me see it before you send it.", {SEND}),
        ("Write the mail and let me look at it first.", {ALL}),
        ("Bevor du schreibst, musst du mich fragen.", {SEND, WRITE}),
        ("Schreib die Mail und lass mich vorher drüberschauen.", {ALL}),
        ("Tell John I am late, but show me the text first.", {ALL}),
        ("Sag John Bescheid, aber zeig es mir vorher.", {ALL}),
    ],
)
def test_c2_words_that_want_to_be_asked_put_the_tools_they_speak_of_under_ask_before(
    words: str, tools: set[str]
) -> None:
    assert found(words) == tools


@pytest.mark.parametrize(
    ("words", "tools"),
    [
        ("Find Anna's number, do not write to her.", {SEND, WRITE}),
        *(
            (f"Find Anna's number{apart}do not write to her", {SEND, WRITE})
            for apart in (" - ", " – ", " — ", " -- ", " / ", "\n", "... ", " (", ". Also, ", "; please ")
        ),
        ("Find Anna's number. Do not\nwrite to her.", {SEND, WRITE}),
        ("Find Anna's number. Do\nnot write to her.", {SEND, WRITE}),
        ("Find Anna's number. Do not\r\nwrite to her.", {SEND, WRITE}),
        ("Find Anna's number. Do not \nwrite to her.", {SEND, WRITE}),
        ("Anna wrote:\n> Where are you?\n\nFind her number. Do not write to her.", {SEND, WRITE}),
        ("Send nothing to Anna.", {SEND}),
        ("Find Anna, and send her no message.", {SEND}),
        ("Find Anna and make sure not to write to her.", {SEND, WRITE}),
        ("Find Anna's number, you're not to write to her.", {SEND, WRITE}),
        ("You should never pay.", {PAY}),
        ("Bezahle die Rechnung nicht.", {PAY}),
        ("Die Rechnung bitte nicht bezahlen.", {PAY}),
        ("Bezahl nichts.", {PAY}),
        ("Leite die Mail nicht weiter.", {SEND}),
        ("Finde Annas Nummer – schreib ihr nicht", {SEND, WRITE}),
        ("Find Anna's number and don't send her anything", {SEND}),
        ("Never delete pages.", {DELETE}),
        ("I don't want you to pay anything. Find the sum.", {PAY}),
        ("Find the sum. Avoid paying it.", {PAY}),
        ("Find her number. Never email her.", {SEND}),
        ("Find the sum without paying it.", {PAY}),
        ("Clean up. Please do not touch backups.", {"rotate_backups"}),
        ("Such die Nummer von Anna, aber schreibe ihr bitte nicht.", {SEND, WRITE}),
        ("Schreib ihr nicht, such nur die Nummer.", {SEND, WRITE}),
        ("Such die Nummer von Anna. Bitte nichts senden.", {SEND}),
        ("Such die Nummer, ohne ihr eine Mail zu schicken.", {SEND}),
        ("Lösche nichts.", {DELETE}),
        ("Sum it up; don't do anything else.", {ALL}),
        ("Send the report to Ann. Don't send it to Bob.", {SEND}),
        ("Pay the invoices but do not pay the one of ACME.", {PAY}),
    ],
)
def test_c2_words_that_forbid_something_put_the_tools_they_speak_of_under_ask_before(
    words: str, tools: set[str]
) -> None:
    assert found(words) == tools


@pytest.mark.parametrize(
    "words",
    [
        "Do not forget to write to John.",
        "Vergiss nicht zu schreiben.",
        "Don't be too formal in the mail to John.",
        "Tell John that I do not like him.",
        "Find the mails that I read and never answered.",
        'Tell John: "do not write to her"',
        "Show me the first ten mails.",
        "Tell John and show me the entries, newest first.",
        "Tell John, and show me which invoice came first.",
        "Tell John who was asked before.",
        "Sende John, dass ich nicht komme.",
        "Tell John I am late.",
        "Book it no later than Monday.",
        "Reply no to Anna.",
        "Write message no. 5 to Anna.",
        "Mail no-reply@acme.example that we are done.",
        "Send her no more than three mails.",
        "Gibt es keine freien Räume?",
        "Tell John:\n- we do not ship\n- we never pay",
    ],
)
def test_c2_other_words_make_nothing_conditional(words: str) -> None:
    assert found(words) == set()


def test_c2_a_pattern_of_the_policy_says_what_it_does_to_its_own_tools() -> None:
    freeze = Pattern(id="freeze", does=Does.ASK_BEFORE, pattern="code freeze", tools=("rotate_*",))
    nobody = Pattern(id="nobody", does=Does.ASK_BEFORE, pattern="code freeze", tools=("deploy_*",))

    assert found("Mind the code freeze.", (freeze, nobody)) == {"rotate_backups"}


@pytest.mark.parametrize(
    ("words", "quote"),
    [
        (
            "Show me the mail to ann@example.com before you send it. Thanks.",
            "Show me the mail to ann@example.com before",
        ),
        (
            "Find it. Before you write to https://a.test/x?y=1,2 ask me",
            "Before you write to https://a.test/x?y=1,2 ask me",
        ),
        ("Schreib ann@example.com nicht", "Schreib ann@example.com nicht"),
        ("1. Such die Rechnung. 2. Ueberweis 3.000,50 Euro nicht.", "Ueberweis 3.000,50 Euro nicht"),
        ("- **Loesch notes.md nicht**, bitte", "Loesch notes.md nicht"),
    ],
)
def test_c2_an_address_a_file_or_a_number_ends_no_clause_and_is_quoted_whole(words: str, quote: str) -> None:
    [entry, *_] = conditions_of(words, PATTERNS, TOOLS)
    assert quote in entry.words


def test_c2_a_pattern_of_a_policy_file_may_name_an_address() -> None:
    own = Pattern(id="p", does=Does.ASK_BEFORE, pattern=r"to eve@evil\.test", tools=("send_*",))
    assert found("Write to eve@evil.test", (own,)) == {SEND}
