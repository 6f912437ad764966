"""F1: texts that say that something was done without a receipt for it."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from haltpoint.chain.claims import Claim, unfounded_claims
from haltpoint.contracts.tools import ToolSpec
from tests.unit.chain.claim_sentences import CLAIMS, NO_CLAIMS, OUT_OF_REACH


def spec(name: str, description: str = "", **declared: Any) -> ToolSpec:
    return ToolSpec(name=name, description=description, **declared)


TOOLS = {
    one.name: one
    for one in (
        spec("lookup_contacts", "Find the person that a name means.", read_only=True),
        spec("send_message", "Send a message to a person."),
        spec("write_file", "Write a file."),
        spec("read_file", read_only=True),
        spec("create_event", "Put an event into the calendar."),
        spec("unlock_door"),
    )
}


def plainly(line: str) -> str:
    return line.replace("\\u200b", "\u200b")


@pytest.mark.parametrize("line", CLAIMS)
def test_f1_a_deed_that_is_told_needs_a_receipt(line: str) -> None:
    assert unfounded_claims(plainly(line), TOOLS, ()), line


@pytest.mark.parametrize("line", NO_CLAIMS)
def test_f1_what_is_not_told_as_done_needs_none(line: str) -> None:
    assert unfounded_claims(plainly(line), TOOLS, ()) == (), line


@pytest.mark.parametrize("line", OUT_OF_REACH)
def test_f1_what_is_out_of_reach_is_known(line: str) -> None:
    assert unfounded_claims(line, TOOLS, ()) == (), f"found now; move it to the claims: {line}"


def test_f1_there_are_enough_sentences() -> None:
    assert len(set(CLAIMS)) >= 100 <= len(set(NO_CLAIMS))
    assert len({*CLAIMS, *NO_CLAIMS}) == len(CLAIMS) + len(NO_CLAIMS)


def test_f1_a_receipt_of_the_kind_founds_a_claim() -> None:
    told = "I looked up John and sent the message."
    assert unfounded_claims(told, TOOLS, ("lookup_contacts", "send_message")) == ()
    assert unfounded_claims(told, TOOLS, ("lookup_contacts",)) == (Claim("send", told, ("send_message",)),)
    assert [claim.verb for claim in unfounded_claims(told, TOOLS, ("send_message",))] == ["look up"]


@pytest.mark.parametrize(
    ("text", "receipt", "verb"),
    [
        ("I sent it to John and deleted the file.", "send_message", "delete"),
        ("I sent the message to John and deleted the file.", "send_message", "delete"),
        ("The file was sent to John and deleted.", "send_message", "delete"),
        ("I wrote the file and sent the message.", "write_file", "send"),
        ("I looked up John's number and sent the message.", "lookup_contacts", "send"),
        ("I looked it up for you and sent the message.", "lookup_contacts", "send"),
    ],
)
def test_f1_the_receipt_of_one_deed_does_not_found_the_next(text: str, receipt: str, verb: str) -> None:
    assert [claim.verb for claim in unfounded_claims(text, TOOLS, (receipt,))] == [verb]


def test_f1_a_read_only_tool_founds_no_deed() -> None:
    tools = {
        "list_sent_mail": spec("list_sent_mail", read_only=True),
        "book_lookup": spec("book_lookup", read_only=True),
    }
    assert unfounded_claims("I have booked the room.", tools, ("book_lookup",))
    assert unfounded_claims("I sent the mail.", tools, ("list_sent_mail",))


def test_f1_a_deed_that_no_tool_could_do_is_unfounded() -> None:
    assert unfounded_claims("I have deleted the file.", {}, ()) == (Claim("delete", "I have deleted the file.", ()),)
    assert unfounded_claims("I looked it up.", {}, ()) == (), "nobody knows where"


def test_f1_verbs_come_from_name_declaration_docstring_and_policy() -> None:
    told = "I have unlocked the door."
    assert unfounded_claims(told, {}, ()), "a verb of the table"
    odd = "I have frobbed the door."
    assert unfounded_claims(odd, {}, ()) == ()
    named = {"frob_door": spec("frob_door")}
    assert unfounded_claims(odd, named, ())[0].tools == ("frob_door",)
    declared = {"door_7": spec("door_7", claims=("open", "unlock"))}
    assert unfounded_claims("The door was opened.", declared, ())[0].tools == ("door_7",)
    assert unfounded_claims(told, declared, ("door_7",)) == ()
    assert unfounded_claims("The door was closed.", TOOLS, (), {"unlock_door": ("close",)}) != ()
    assert unfounded_claims("The door was closed.", TOOLS, ("unlock_door",), {"unlock_door": ("close",)}) == ()
    supplied = {"supply_parts": spec("supply_parts")}
    assert unfounded_claims("I have supplied the parts.", supplied, ())[0].tools == ("supply_parts",)
    assert unfounded_claims("I have supplied the parts.", supplied, ("supply_parts",)) == ()
    described = {"gate7": spec("gate7", "Sends a message to the guard.")}
    assert unfounded_claims("I sent the message.", described, ("gate7",)) == ()
    renamed = {"createEvent": spec("createEvent")}
    assert unfounded_claims("I booked the meeting.", renamed, ("createEvent",)) == ()


def test_f1_a_shell_may_have_done_anything() -> None:
    tools = {"bash": spec("bash")}
    assert unfounded_claims("I deleted the file.", tools, ())[0].tools == ("bash",)
    assert unfounded_claims("I deleted the file.", tools, ("bash",)) == ()


def test_f1_a_tool_that_is_not_served_any_more_still_founds() -> None:
    assert unfounded_claims("I sent the message.", {}, ("send_message",)) == ()


def test_f1_silence_claims_nothing() -> None:
    assert unfounded_claims("", TOOLS, ()) == ()


def test_f1_whole_answers() -> None:
    answer = (
        "Hi!\n\nI found two Johns. Which one do you mean?\n\n- John Doe\n- John Smith\n\nNothing has been sent yet."
    )
    assert unfounded_claims(answer, TOOLS, ()) == ()
    lie = answer.replace("Nothing has been sent yet.", "Meanwhile I have sent the message to both.")
    (claim,) = unfounded_claims(lie, TOOLS, ())
    assert (claim.verb, claim.sentence) == ("send", "Meanwhile I have sent the message to both.")


@pytest.mark.parametrize(
    "whole",
    [
        "```\n{}\n```",
        "```json\n{}\n```",
        "```{}```",
        "```\n{}",
        "> {}\n> Bye.",
        ">> {}",
        "> ```\n> {}\n> ```",
        '"{}" "Bye."',
        "“{}”",
        '```\n"{}"\n```',
        '```json\n{{"reply": "{}", "n": 1}}\n```',
        '{{"message": "{}", "recipient": "John"}}',
        '{{"status": "ok", "details": "{}"}}',
        '{{"note": "{}"}}',
        '{{"data": {{"message": "{}"}}}}',
        '{{"user_message": "{}", "final_response": "Bye."}}',
    ],
)
def test_f1_a_text_that_is_all_quotation_quotes_nobody(whole: str) -> None:
    assert unfounded_claims(whole.format("I have sent the message."), TOOLS, ())


@pytest.mark.parametrize(
    "partly",
    [
        "Ann wrote:\n> {}",
        "This is in the file:\n```\n{}\n```",
        'He wrote "{}" and "Bye."',
        '{{"from": "Bo", "text": "{}"}}',
        'The reply is {{"content": "{}", "n": 1}}',
    ],
)
def test_f1_what_is_quoted_among_other_words_is_no_claim(partly: str) -> None:
    assert unfounded_claims(partly.format("I have sent the message."), TOOLS, ()) == ()


def test_f1_steps_in_a_list_are_deeds() -> None:
    (claim,) = unfounded_claims("Steps taken:\n1. Looked up John\n2. Sent him the message", TOOLS, ())
    assert claim.verb == "send"


SMALL = "I we John you have not was been sent written the message file and if will by to it deleted Done , . ? ' - :"
WORDS = st.sampled_from(SMALL.split())
TEXTS = st.one_of(st.text(), st.lists(WORDS).map(" ".join), st.lists(st.sampled_from(CLAIMS + NO_CLAIMS)).map(" ".join))


@given(TEXTS)
@example("\ud800 sent")
@example("[" * 3000 + "I sent it" + "]" * 3000)
def test_f1_no_text_breaks_it(text: str) -> None:
    unfounded_claims(text, TOOLS, ())


@given(TEXTS, st.sets(st.sampled_from(sorted(TOOLS))), st.sampled_from(sorted(TOOLS)))
def test_f1_one_more_receipt_never_makes_a_claim(text: str, receipts: set[str], more: str) -> None:
    before, after = unfounded_claims(text, TOOLS, receipts), unfounded_claims(text, TOOLS, receipts | {more})
    assert set(after) <= set(before)


@given(
    st.sampled_from(["Nobody says that", "It is not true that", "I don't know whether", "If", "Once"]),
    st.sampled_from(CLAIMS[:9]),
)
def test_f1_what_a_sentence_takes_back_is_no_claim(prefix: str, claim: str) -> None:
    assert unfounded_claims(f"{prefix} {claim}", TOOLS, ()) == ()


@pytest.mark.parametrize(
    "unit",
    [
        "sent ",
        "and sent ",
        '{"answer": "',
        '"answer":"\\\\',
        "> ",
        "-",
        "'",
        '"',
        "a.",
        "I sent it. ",
        "a/",
        "```",
        "(",
        "was sent, ",
    ],
)
def test_f1_long_texts_take_no_longer_per_letter(unit: str) -> None:
    """64 kB of the worst; the test's time limit would end what is not linear."""
    unfounded_claims(unit * (65536 // len(unit)), TOOLS, tuple(TOOLS))
