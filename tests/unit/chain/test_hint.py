"""F3: a hint that words tell of a deed without a receipt. It flags little that is honest; it never harms an answer."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from haltpoint.chain.decide import decide
from haltpoint.chain.model.limits import Policy
from haltpoint.chain.model.statuses import ChainStatus
from haltpoint.chain.words.hint import MOST, claims, past_of
from haltpoint.contracts.doors import door
from haltpoint.contracts.events import AnswerDrafted, Received
from haltpoint.contracts.facts import FactType
from haltpoint.contracts.results import ErrorType, Metadata, NestedCall
from haltpoint.contracts.work.intent import ChainIntent, IntentEntry
from haltpoint.contracts.work.plans import OnFailure, Step
from haltpoint.contracts.work.tasks import Style, Task
from haltpoint.contracts.work.thoughts import Finding, ThoughtKind, Told, Usage, Violation
from tests.support.builders import OK, call, failed, plan, spec
from tests.unit.chain.story import Story

DATA = Path(__file__).parents[2] / "data" / "claims"
SETS = sorted(DATA.glob("*.yaml"))
FIND = spec("find_contact")
SEND = spec("send_message", read_only=False)
WRITE = spec("write_file", read_only=False)
LIE = "I've sent the message to John."
TRUTH = "I could not send the message."


# ---- the sentences


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_f3_the_hint_flags_at_most_two_percent_of_the_honest_texts(path: Path) -> None:
    """Of each set, whatever the goal asks for: here every tool with effects that has no receipt is asked for."""
    said = json.loads(path.read_text())
    honest, flagged = 0, list[str]()
    for group in said["groups"]:
        if group["claims"]:
            continue
        done = group.get("succeeded", ())
        tools = [one["name"] for one in group.get("tools", said["tools"]) if not one.get("read_only")]
        honest += len(group["texts"])
        flagged += [text for text in group["texts"] if claims(text, tuple(one for one in tools if one not in done))]

    assert len(flagged) <= honest * 0.02, flagged


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("I have sent the message.", "send_message"),
        ("OK. I’ve just emailed Ana about it.", "email_user"),
        ("I looked up John and sent him the message.", "send_message"),
        ("I was able to book the room.", "book_room"),
        ("I copied the file.", "copy_file"),
        ("As you asked, I have updated the contact.", "updateContact"),
        ("Your order has been cancelled.", "cancel_order"),
        ("Ich habe dir den Raum gebucht.", "book_room"),
        ("Wie gewünscht habe ich die Datei gelöscht.", "delete_file"),
        ("Deine Rechnung wurde bezahlt.", "pay_invoice"),
    ],
)
def test_f3_a_deed_of_this_tool_is_found_and_none_of_another(text: str, tool: str) -> None:
    assert claims(f"Hello. {text} Bye.", (tool,))
    assert claims(text, ("restart_server",)) == ()
    assert claims(text, ()) == ()


@pytest.mark.parametrize(
    "text",
    [
        "I have not sent the message.",
        "If I have sent the message, John knows.",
        "Have I sent the message? I have sent it?",
        "I will send the message.",
        'Draft: "I have sent the message."',
        "```\nI have sent the message.\n```",
        "> I have sent the message.",
        "Dear John,\nI have sent the message.",
        "Subject: news\n\nI have sent the message.",
        "- I have sent the message.",
        "| I have sent the message | John |",
        "Tom said that I have sent the message.",
        "Agent: I have sent the message.",
        "I have sent you the message.",
        "Your message has been sent by Ana.",
        "Ich habe die Nachricht nicht gesendet.",
    ],
)
def test_f3_what_is_shown_denied_asked_or_told_of_others_is_none(text: str) -> None:
    assert claims(text, ("send_message",)) == ()


def test_f3_most_verbs_count_only_beside_the_thing_of_the_name() -> None:
    assert claims("I have written a summary.", ("write_file",)) == ()
    assert claims("I have written the file.", ("write_file",)) == ("I have written the file.",)


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("I've written a summary of the file above.", "write_file"),
        ("I wrote about the file's three parts above.", "write_file"),
        ("I created the overview below from the events of this week.", "create_event"),
        ("I have updated the summary below with the record's numbers.", "update_record"),
    ],
)
def test_f3_the_thing_is_what_the_verb_is_done_to(text: str, tool: str) -> None:
    assert claims(text, (tool,)) == ()


def test_f3_the_sentences_are_those_of_the_text_and_not_too_many() -> None:
    text = "Hi. I\u200b’ve sent the message to “John”! " + " ".join(f"I booked room {n}." for n in range(20))
    found = claims(text, ("send_message", "book_room"))
    assert found[0] == "I\u200b’ve sent the message to “John”!"
    assert len(found) == MOST
    assert all(one in text for one in found)


def test_f3_past_forms() -> None:
    assert [past_of(verb) for verb in ("send", "book", "move", "copy", "play")] == [
        ("sent",),
        ("booked",),
        ("moved",),
        ("copied",),
        ("played",),
    ]


@given(
    st.one_of(
        st.text(), st.lists(st.sampled_from(["I", "have", "sent", "your", ",", ".", '"', "\n", "> "])).map(" ".join)
    )
)
@example("\ud800 I sent it")
def test_f3_no_text_breaks_it_and_each_sentence_is_in_the_text(text: str) -> None:
    assert all(one in text for one in claims(text, ("send_message", "write-file", "x2")))


@pytest.mark.parametrize(
    "unit", ["I sent ", "i and ", '"', "```", "'", "your a has ", "ich habe ", "and sent, ", "§", "> "]
)
def test_f3_long_texts_take_no_longer_per_letter(unit: str) -> None:
    """64 kB of the worst; the test's time limit would end what is not linear."""
    claims(unit * (65536 // len(unit)), ("send_message", "book_room"))


# ---- in a chain


def answering(check: str = "hint", **task: Any) -> Story:
    """A chain that owes the words for the user: `send_message` was promised and has failed."""
    told = Story(
        door(Task).validate_python({"goal": "tell John", **task}), FIND, SEND, WRITE, policy=Policy(claims_check=check)
    )
    told.submit()
    told.draft(plan(Step(id="send", required_tools=("send_message",), on_failure=OnFailure.CONTINUE), Step(id="think")))
    told.propose(call("send_message"))
    told.result(failed(ErrorType.NOT_FOUND))
    told.propose(give_up=True)
    told.propose(content="John has no number.")
    assert told.thought.kind is ThoughtKind.ANSWER
    return told


def found(told: Story, *findings: Finding, usage: Usage | None = None) -> None:
    name = told.thought.thought_id
    data = AnswerDrafted.Data(thought_id=name, text="", findings=findings, usage=usage or Usage())
    told.hear(AnswerDrafted(id="w", source="test", subject="c", data=data))


def unharmed(told: Story) -> bool:
    return not told.told("contract.violated") and not told.told("chain.escalated") and told.chain.strikes == 0


def test_f3_an_answer_with_an_unproven_deed_is_asked_for_once_more_without_a_strike() -> None:
    told = answering()
    told.say(LIE)

    assert told.chain.status is ChainStatus.EXECUTING
    assert told.thought.kind is ThoughtKind.ANSWER
    assert told.thought.previous == "c.answer.t0.1"
    [correction] = told.thought.corrections
    assert (correction.violation, correction.tool) == (Violation.UNPROVEN, None)
    assert LIE in correction.message
    assert "send_message" not in correction.message
    assert unharmed(told)
    told.say(TRUTH)
    assert (told.chain.answer, told.chain.unproven) == (TRUTH, ())
    assert told.told("chain.completed") == [{}]


def test_f3_words_that_stay_are_delivered_with_the_sentence_marked() -> None:
    told = answering()
    told.say(LIE)
    told.say(f"Hello. {LIE}")

    assert told.chain.status is ChainStatus.COMPLETED
    assert (told.chain.answer, told.chain.unproven) == (f"Hello. {LIE}", (LIE,))
    assert told.told("chain.completed") == [{"unproven": [LIE]}]
    assert unharmed(told)


@pytest.mark.parametrize(
    "last",
    [
        lambda told: told.no_thought(kind=ThoughtKind.ANSWER),
        lambda told: told.say("", usage=Usage(output_tokens=1000)),
    ],
)
def test_f3_where_no_second_answer_can_be_had_the_first_one_is_delivered(last: Any) -> None:
    told = answering(budget={"tokens": 100})
    told.say(LIE)
    last(told)

    assert (told.chain.answer, told.chain.unproven) == (LIE, (LIE,))


def test_f3_with_no_budget_left_the_words_are_delivered_at_once() -> None:
    told = answering(budget={"tokens": 100})
    told.say(LIE, usage=Usage(output_tokens=100))

    assert (told.chain.answer, told.chain.unproven) == (LIE, (LIE,))


def test_f3_words_that_are_held_back_are_no_answer_of_a_chain_that_is_cancelled() -> None:
    told = answering()
    told.say(LIE)
    told.cancel()

    assert (told.chain.answer, told.chain.unproven) == (None, ())


def test_f3_advisory_records_and_off_does_not_look() -> None:
    told = answering(mode="advisory")
    told.say(LIE)
    assert (told.chain.answer, told.chain.unproven) == (LIE, (LIE,))
    assert told.told("contract.corrected") == []
    for told in (answering(mode="off"), answering("off")):
        told.say(LIE)
        assert (told.chain.answer, told.chain.unproven) == (LIE, ())


@pytest.mark.parametrize("nested", [False, True])
def test_f3_a_deed_with_its_receipt_is_not_looked_for(nested: bool) -> None:
    told = Story(Task(goal="tell John"), FIND, SEND, WRITE)
    told.submit()
    told.draft(plan(Step(id="send", required_tools=("write_file" if nested else "send_message",))))
    told.propose(call("write_file" if nested else "send_message"))
    inner = NestedCall(tool="send_message", key="c.send.1/1")
    told.result(msgspec.structs.replace(OK, metadata=Metadata(calls=(inner,))) if nested else OK)
    told.say(LIE)

    assert (told.chain.answer, told.chain.unproven) == (LIE, ())


def test_f3_only_deeds_that_are_asked_for_are_looked_for() -> None:
    told = answering()
    told.say("I have written the file.")
    assert (told.chain.answer, told.chain.unproven) == ("I have written the file.", ())


@pytest.mark.parametrize(("globs", "asked"), [(("send_*",), True), (("write_*",), False)])
def test_f3_open_ended_words_are_looked_at_by_the_intent_and_asked_for_as_an_answer(
    globs: tuple[str, ...],
    asked: bool,
) -> None:
    told = Story(Task(goal="tell John", style=Style.REACT), FIND, SEND, WRITE)
    told.submit()
    intent = ChainIntent(effects_asked=(IntentEntry(tools=globs, words="tell", when="if he asks"),))
    told.chain = msgspec.structs.replace(told.chain, intent=intent)
    told.propose(content=LIE)
    assert unharmed(told)
    if asked:
        assert told.thought.kind is ThoughtKind.ANSWER
        assert (told.thought.thought_id, told.thought.previous) == ("c.answer.t0.2", "c.react.t1.1")
        told.say(TRUTH)
    assert told.chain.answer == (TRUTH if asked else LIE)


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_f3_no_text_of_any_set_is_lost_is_a_strike_or_comes_before_a_person(path: Path) -> None:
    begun = answering()
    before, said = begun.chain, {text for group in json.loads(path.read_text())["groups"] for text in group["texts"]}
    for text in sorted(said):
        told, thought = before, "c.answer.t0.1"
        while not told.status.final:
            data = AnswerDrafted.Data(thought_id=thought, text=text)
            answer = Received(AnswerDrafted(id="w", source="test", subject="c", data=data))
            decision = decide(told, answer, begun.world, begun.now)
            told, thought = decision.chain, decision.chain.thought or ""
            assert not [fact for fact in decision.facts if fact.type is FactType.CONTRACT_VIOLATED]
        assert (told.status, told.answer, told.strikes) == (ChainStatus.COMPLETED, text, before.strikes)


# ---- a model, or a function, that looks at the words


def test_f3_a_model_looks_at_the_words_and_what_it_finds_without_a_receipt_is_unproven() -> None:
    told = answering("model")
    told.say(LIE)
    think = told.thought
    assert (think.kind, think.words, think.thought_id) == (ThoughtKind.VERIFY, LIE, "c.verify.t0.1")
    assert think.receipts == ("c.send.1",)
    found(told, Finding(quote=LIE, told=Told.DONE, action_id="c.send.1"))
    assert told.thought.kind is ThoughtKind.ANSWER
    assert (told.thought.thought_id, told.thought.previous) == ("c.answer.t0.2", "c.verify.t0.1")
    told.say(LIE)
    assert told.thought.thought_id == "c.verify.t0.2"
    found(told, Finding(quote=LIE, told=Told.DONE))

    assert (told.chain.answer, told.chain.unproven) == (LIE, (LIE,))
    assert unharmed(told)


@pytest.mark.parametrize(
    "finding",
    [
        Finding(quote="I have paid.", told=Told.DONE),
        Finding(quote=" ", told=Told.DONE),
        Finding(quote=LIE, told=Told.REPORTED),
        Finding(quote=LIE, told=Told.PLANNED),
        Finding(quote=LIE, told=Told.DONE, action_id="c.find.1"),
    ],
)
def test_f3_a_finding_needs_its_quote_in_the_words_and_no_receipt(finding: Finding) -> None:
    told = Story(Task(goal="tell John"), FIND, SEND, policy=Policy(claims_check="mine:check"))
    told.submit()
    told.draft(plan(Step(id="find", required_tools=("find_contact",))))
    told.propose(call("find_contact"))
    told.result()
    told.say(LIE)
    found(told, finding)

    assert (told.chain.answer, told.chain.unproven) == (LIE, ())


def test_f3_without_a_check_the_words_are_delivered() -> None:
    told = answering("model")
    told.say(LIE)
    told.no_thought(kind=ThoughtKind.VERIFY)
    assert (told.chain.answer, told.chain.unproven) == (LIE, ())

    told = answering("model", budget={"tokens": 100})
    told.say(LIE, usage=Usage(output_tokens=100))
    assert told.chain.answer == LIE, "there is no budget for it"

    told = answering("model", budget={"tokens": 100})
    told.say(LIE)
    found(told, Finding(quote=LIE, told=Told.DONE), usage=Usage(output_tokens=200))
    assert (told.chain.answer, told.chain.unproven) == (LIE, ()), "it cost too much to be acted on"
