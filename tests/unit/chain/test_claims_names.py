"""F1: which deeds the receipt of a tool founds, by its name alone: the verb decides, not the thing."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haltpoint.chain.claims import unfounded_claims
from haltpoint.contracts.tools import ToolSpec

CLAIMS: Final = {
    "sent": "I've sent the message to Ann.",
    "posted": "I've posted the photo.",
    "booked": "I've booked the room.",
    "ordered": "I've ordered the pizza.",
    "paid": "I've paid the invoice.",
    "called": "I've called Ann.",
    "notified": "I've notified Ann.",
    "deleted": "I've deleted the file.",
    "wrote": "I've saved the file.",
    "updated": "I've updated the record.",
    "searched": "I've searched the web.",
    "restarted": "I've restarted the server.",
}

NAMES: Final = """
send_message            sent notified posted
sendMessage             sent notified posted
message_send            sent notified posted
gmail.send-email        sent notified posted
send_payment            sent notified posted paid ordered
send_reminder           sent notified posted
resend_email            sent notified posted
reply_to_email          sent notified posted
email_sender            sent notified posted
email_user              sent notified posted
message_user            sent notified posted
text_john               sent notified posted
sms                     sent notified posted
slack_message           sent notified posted
whatsapp                sent notified posted
notify_team             sent notified posted
notification_service    sent notified posted
create_post             sent notified posted wrote updated
post_update             sent notified posted wrote updated
send_and_archive_email  sent notified posted deleted
create_email_draft      wrote updated
draft_email             wrote updated
email_template          -
unsend_message          -
recall_message          -
mark_message_read       wrote updated
archive_email           deleted
email_archive           deleted
delete_message          deleted
message_delete          deleted
delete_post             deleted
list_messages           searched
message_history         searched
email_search            searched
flag_email              -
block_notification      restarted
mute_notifications      -
encrypt_message         -
create_email_template   wrote updated
add_message_reaction    wrote updated
process_message         -
create_booking          booked ordered wrote updated
booking_create          booked ordered wrote updated
book_room               booked ordered
room_booking            booked ordered
create_event            booked ordered wrote updated
calendar_create_event   booked ordered wrote updated
create_calendar_event   booked ordered wrote updated
create_event_in_calendar booked ordered wrote updated
create_reminder         booked ordered wrote updated
set_alarm               booked ordered wrote updated
schedule_meeting        booked ordered
make_reservation        booked ordered wrote updated
setup_meeting           booked ordered
confirm_booking         booked ordered
meeting                 booked ordered
cancel_booking          deleted
booking_cancel          deleted
cancel_event            deleted
unbook_room             -
reject_booking          -
get_booking             searched
calendar_lookup         searched
update_address_book     wrote updated
update_booking          wrote updated
join_meeting            -
make_payment            paid ordered wrote updated
create_payment          paid ordered wrote updated
payment_service         paid ordered
pay_invoice             paid ordered
process_refund          paid ordered
charge_card             paid ordered
cancel_payment          deleted
revoke_payment          deleted
record_payment          wrote updated
approve_payment         -
check_payment           searched
payment_status          searched
create_payment_link     wrote updated
new_order               ordered booked paid wrote updated
place_order             ordered booked paid
order_pizza             ordered booked paid
cancel_order            deleted
order_cancel            deleted
order_status            searched
order_history           searched
make_call               called wrote updated
phone_call              called
start_call              called restarted
call_user               called
log_call                wrote updated
read_write_file         wrote updated searched
write_file              wrote updated
remove_file             deleted
upload_file             sent notified posted wrote updated
download_file           restarted wrote updated
run_query               restarted searched
web_search              searched
get_or_create_file      wrote updated searched
restart_service         restarted
turn_on_light           restarted
look_up_contact         searched
google                  searched
google_search           searched
google_calendar         booked ordered
google_calendar_insert_event booked ordered wrote updated
create_note             wrote updated
create_invoice          wrote updated
send_invoice            sent notified posted
generate_email          wrote updated
open_message            wrote updated
open_payment            wrote updated
""".strip().splitlines()


def founded(name: str) -> set[str]:
    tools = {one: ToolSpec(name=one) for one in (name, "find_anything")}
    return {claim for claim, text in CLAIMS.items() if not unfounded_claims(text, tools, (name,))}


@pytest.mark.parametrize("line", NAMES)
def test_f1_the_verb_of_a_tools_name_decides_what_its_receipt_founds(line: str) -> None:
    name, *claims = line.split()
    assert founded(name) == set(claims) - {"-"}


SHELLS: Final = """
run_command execute_command run_shell shell_exec run_python run_bash_command run_terminal_cmd terminal_run
run_in_terminal execute_shell_command execute_sql run_sql sql_execute exec_sql sql_query run_sql_query execute_code
run_code run_script run_python_script code_execute bash
"""
NO_SHELLS: Final = "run_code_review list_commands delete_command get_shell_history run_workflow stop_command"
ANYTHING: Final = ("I deleted the file.", "I created the file.", "The records were updated.", "I've sent the message.")


def is_founded(name: str, text: str, *, read_only: bool = False) -> bool:
    tools = {one.name: one for one in (ToolSpec(name=name, read_only=read_only), ToolSpec(name="find_anything"))}
    return not unfounded_claims(text, tools, (name,))


@pytest.mark.parametrize("name", SHELLS.split())
def test_f1_a_shell_may_have_done_anything_unless_it_only_reads(name: str) -> None:
    assert [text for text in ANYTHING if not is_founded(name, text)] == []
    assert [text for text in ANYTHING if is_founded(name, text, read_only=True)] == []


@pytest.mark.parametrize("name", NO_SHELLS.split())
def test_f1_what_only_speaks_of_commands_or_code_is_no_shell(name: str) -> None:
    assert not is_founded(name, "I've sent the message.")


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (
            "calendar_create calendar_add calendar_insert add_to_calendar google_calendar_create",
            "I scheduled the meeting.",
        ),
        (
            "calendar_create calendar_add calendar_insert add_to_calendar google_calendar_create",
            "I booked the meeting.",
        ),
        ("accept_invite decline_invitation reply_to_invite invite_accept", "I replied to the invite."),
        ("accept_invite", "I accepted the invite."),
        ("add_comment create_comment post_comment", "I posted a comment."),
        ("add_comment create_comment", "I added a comment."),
        ("transfer_money send_money", "I paid 50 euros."),
        ("transfer_money send_money", "I transferred 50 euros."),
    ],
)
def test_f1_people_tell_of_the_same_deed_with_another_verb(names: str, told: str) -> None:
    assert [name for name in names.split() if not is_founded(name, told)] == []


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ("create_calendar calendar_delete calendar_update calendar_add_attendee", "I booked the meeting."),
        ("accept_payment accept_message", "I replied to the invite."),
        ("delete_comment get_comments", "I posted a comment."),
        ("request_money", "I paid 50 euros."),
    ],
)
def test_f1_a_name_with_the_same_thing_and_another_deed_founds_nothing(names: str, told: str) -> None:
    assert [name for name in names.split() if is_founded(name, told)] == []


def test_f1_there_are_enough_names() -> None:
    assert len({line.split()[0] for line in NAMES}) >= 80


TAKES_BACK: Final = (
    "cancel",
    "delete",
    "remove",
    "revoke",
    "unsend",
    "archive",
    "list",
    "get",
    "find",
    "reject",
    "mute",
)
THINGS: Final = ("message", "email", "booking", "payment", "order", "event", "call", "notification", "post", "reminder")


@given(
    st.sampled_from(TAKES_BACK),
    st.sampled_from(THINGS),
    st.sampled_from(["{v}_{n}", "{v}_{n}s", "{n}_{v}", "my_{v}_{n}"]),
)
def test_f1_who_takes_back_or_looks_never_founds_the_deed_itself(verb: str, noun: str, form: str) -> None:
    made = {"sent", "posted", "booked", "ordered", "paid", "called", "notified"}
    assert founded(form.format(v=verb, n=noun)).isdisjoint(made)


def test_f1_a_tool_of_another_verb_may_tell_of_its_deed_in_its_docstring() -> None:
    told = "I've booked the ride."
    rides = ToolSpec(name="request_ride", description="Book a ride. Then wait.")
    asks = ToolSpec(name="request_ride", description="Reserve a ride.")
    assert unfounded_claims(told, {"request_ride": asks}, ("request_ride",)) == ()
    assert unfounded_claims(told, {"request_ride": rides}, ("request_ride",)), "a book of rides, or to book one?"
    assert unfounded_claims("I've requested the ride.", {"request_ride": rides}, ())[0].tools == ("request_ride",)
