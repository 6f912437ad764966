"""People answer on the pages, with what their browser gives them."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Route

from haltpoint.sync_client import SyncClient, SyncRun
from tests.e2e.running import Running
from tests.ui.conftest import Person

People = Callable[..., Person]
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


def deletes(client: SyncClient, page: str) -> SyncRun:
    """A chain that asks before it deletes a page."""
    call = {"tool": "delete_page", "arguments": {"page": page}}
    return client.run(plan={"steps": [{"id": "s", "actions": [call]}]}, goal=f"Delete {page}")


def test_john_is_chosen_by_a_key_and_the_next_question_follows(
    system: Running, client: SyncClient, person: People
) -> None:
    first = client.run("Tell John by key")
    client.run("Message John afterwards").expects_request()
    request = first.expects_request()
    ann = person()
    ann.goes_to(f"/inbox/{request.id}")
    ann.page.keyboard.press("2")
    ann.sends_now()
    ann.page.wait_for_url("**answered=**")
    assert first.result().status == "completed"
    (message,) = system.sent(first.id)
    assert message.to == request.options[1].id


def test_a_goal_is_typed_answered_and_its_deed_is_found(system: Running, person: People) -> None:
    ann = person()
    ann.goes_to("/")
    ann.page.get_by_role("link", name="New task").click()
    ann.page.get_by_label("What is to be done?").fill("Tell John from the page")
    ann.page.get_by_role("button", name="Start").click()
    ann.opens("Which 'John'")
    ann.page.get_by_role("button", name="John Doe").click()
    ann.sends_now()
    ann.goes_to("/chains")
    ann.opens("Tell John from the page")
    ann.sees('Message to "John Doe"')
    assert [one.name for one in system.outbox.read() if one.content == "from the page"] == [
        "John Doe"
    ]


def test_of_two_people_the_first_answers_and_the_other_sees_it_at_once(
    client: SyncClient, person: People
) -> None:
    request = client.run("Tell John first come").expects_request()
    ann, bob = person(), person()
    for somebody in (ann, bob):
        somebody.goes_to(f"/inbox/{request.id}")
    ann.page.get_by_role("button", name="John Smith").click()
    ann.sends_now()
    bob.sees("Answered by admin")
    assert bob.page.get_by_role("button", name="John Doe").count() == 0


def test_an_item_that_was_answered_elsewhere_stays_in_the_list_and_says_by_whom(
    client: SyncClient, person: People
) -> None:
    run = deletes(client, "elsewhere")
    request = run.expects_request()
    bob = person()
    bob.goes_to("/inbox?q=elsewhere")
    client.answer(request.id, decision="reject", text="not today")
    bob.page.locator(".item.closed", has_text="Answered by admin").wait_for()
    bob.sees("not today")


def test_alike_questions_are_ticked_and_answered_together(
    system: Running, client: SyncClient, person: People
) -> None:
    call = {"tool": "refund", "arguments": {"to": "acc-1", "amount": 300}}
    plan = {"steps": [{"id": "s", "actions": [call]}]}
    runs = [client.run(f"Refund {number}", plan=plan) for number in range(3)]
    for run in runs:
        run.expects_request()
    ann = person()
    ann.goes_to("/inbox?q=refund")
    ann.page.get_by_role("link", name="Answer them together").click()
    ann.page.get_by_label("all of these").check()
    ann.page.get_by_label("Answer:").last.uncheck()
    ann.page.get_by_role("button", name="Refund: yes").click()
    ann.sends_now()
    for run in runs[:2]:
        assert run.result().status == "completed"
    assert [len(system.written(run.id)) for run in runs] == [1, 1, 0]


def test_keys_search_and_show_themselves(person: People) -> None:
    ann = person()
    ann.goes_to("/inbox")
    ann.page.keyboard.press("?")
    ann.page.get_by_role("dialog", name="Keys").wait_for()
    ann.page.keyboard.press("Escape")
    ann.page.keyboard.press("/")
    ann.page.keyboard.type("nothing of this kind")
    ann.page.keyboard.press("Enter")
    ann.sees("No question fits these filters.")


def test_two_answers_at_one_moment_are_one_answer(client: SyncClient, person: People) -> None:
    run = client.run("Tell John at one moment")
    request = run.expects_request()
    people = [person(java_script_enabled=False) for _ in range(2)]
    for somebody in people:
        somebody.goes_to(f"/inbox/{request.id}")
    people[0].page.get_by_role("button", name="John Doe").click()
    people[1].page.get_by_role("button", name="John Smith").click()
    people[1].sees("has already answered")
    assert run.result().status == "completed"


def test_an_answer_is_taken_back_before_it_is_sent(client: SyncClient, person: People) -> None:
    run = deletes(client, "taken-back")
    request = run.expects_request()
    ann = person()
    ann.goes_to(f"/inbox/{request.id}")
    ann.page.keyboard.press("y")
    ann.page.get_by_role("button", name="Take it back").click()
    ann.page.keyboard.press("y")
    ann.page.keyboard.press("Escape")
    ann.goes_to(f"/inbox/{request.id}")
    assert client.request(request.id).status == "open"


def test_who_leaves_the_page_sends_the_answer_that_is_held_once(
    system: Running, client: SyncClient, person: People
) -> None:
    run = deletes(client, "left")
    ann = person()
    ann.goes_to(f"/inbox/{run.expects_request().id}")
    ann.page.keyboard.press("y")
    ann.page.get_by_role("link", name="Tools", exact=True).click()
    assert run.result().status == "completed"
    assert len(system.written(run.id)) == 1


def test_an_edit_with_a_fault_is_said_and_one_with_another_preview_is_shown_again(
    system: Running, client: SyncClient, person: People
) -> None:
    run = deletes(client, "edited")
    ann = person()
    ann.goes_to(f"/inbox/{run.expects_request().id}")
    ann.page.keyboard.press("e")
    ann.page.locator("[name='arguments.page']").fill("another")
    ann.page.locator("[name='arguments.keep_days']").fill("many")
    ann.page.get_by_role("button", name="with these arguments").click()
    ann.sends_now()
    ann.sees("'many' is")
    assert ann.page.locator("[name='arguments.page']").input_value() == "another"
    ann.page.locator("[name='arguments.keep_days']").fill("3")
    ann.page.get_by_role("button", name="with these arguments").click()
    ann.sends_now()
    ann.goes_to(f"/inbox/{run.expects_request().id}")
    ann.sees("Compared with what was approved before")
    ann.page.get_by_role("button", name="Delete page another", exact=True).click()
    ann.sends_now()
    assert run.result().status == "completed"
    assert system.written(run.id) == ["deleted another after 3"]


def test_a_page_that_was_cut_off_looks_again_and_a_form_in_use_is_left_alone(
    client: SyncClient, person: People
) -> None:
    request = client.run("Ask about the door").expects_request()
    ann = person()
    ann.goes_to(f"/inbox/{request.id}")
    ann.goes_to("/inbox")
    ann.context.set_offline(True)
    cut = client.run("Tell John while you are away")
    cut.expects_request()
    ann.context.set_offline(False)
    ann.sees("Tell John while you are away")
    ann.goes_to(f"/inbox/{cut.expects_request().id}")
    words = ann.page.get_by_label("Words for the model (optional)")
    words.fill("half a sen")
    client.run("Tell Jane something else").result()
    ann.page.evaluate("renew()")
    assert words.input_value() == "half a sen"


def test_a_page_sees_what_changed_before_its_stream_was_open(
    client: SyncClient, person: People
) -> None:
    run = deletes(client, "in-the-gap")
    request = run.expects_request()

    def late(stream: Route) -> None:
        client.answer(request.id, decision="reject")
        run.result()
        stream.continue_()

    ann = person()
    ann.page.route("**/live?chain=*", late)
    ann.goes_to(f"/chains/{run.id}")
    ann.sees("How it ended")


def test_without_scripts_all_six_kinds_of_answer_work_by_forms(
    client: SyncClient, person: People
) -> None:
    ann = person(java_script_enabled=False)
    run = client.run("Book without scripts")
    ann.goes_to(f"/inbox/{run.expects_request().id}")
    ann.page.get_by_label("The step is not needed, because").fill("we have one")
    ann.page.get_by_role("button", name="Leave it out").click()
    assert run.result().chain.unfinished
    run = deletes(client, "no-script")
    ann.goes_to(f"/inbox/{run.expects_request().id}")
    ann.page.get_by_role("button", name="No", exact=True).click()
    assert run.result().status == "failed"
    run = client.run("Ask without scripts")
    ann.goes_to(f"/inbox/{run.expects_request().id}")
    ann.page.get_by_role("button", name="red").click()
    assert "red" in run.result().answer.text


def test_by_keyboard_alone_from_the_list_to_the_answer(client: SyncClient, person: People) -> None:
    run = deletes(client, "by-keyboard")
    request = run.expects_request()
    ann = person()
    ann.goes_to("/inbox")
    here = ""
    while request.id not in here:
        ann.page.keyboard.press("j")
        here = str(ann.page.evaluate("document.activeElement.href"))
    ann.page.keyboard.press("Enter")
    ann.page.wait_for_url(f"**{request.id}")
    ann.page.keyboard.press("n")
    ann.page.keyboard.press("Tab")
    ann.page.keyboard.press("Enter")
    ann.page.wait_for_url("**answered=**")
    assert run.result().status == "failed"


@pytest.mark.parametrize("path", ["/", "/new", "/inbox", "/chains", "/tools", "/queues", "/stats"])
def test_on_a_phone_nothing_is_wider_than_the_screen(
    client: SyncClient, person: People, path: str
) -> None:
    del client
    ann = person(**PHONE)
    ann.goes_to(path)
    assert ann.page.evaluate("document.documentElement.scrollWidth") <= 360


def test_on_a_phone_a_question_fits_and_its_buttons_are_as_large_as_a_thumb(
    client: SyncClient, person: People
) -> None:
    request = deletes(client, "w" * 200).expects_request()
    ann = person(**PHONE)
    ann.goes_to(f"/inbox/{request.id}")
    assert ann.page.evaluate("document.documentElement.scrollWidth") <= 360
    for button in ann.page.locator(".answers button:visible").all():
        box = button.bounding_box()
        assert box is not None
        assert box["height"] >= 44
