"""The suite itself: cases with a truth, kinds that are pure and that do misbehave."""

import re
from pathlib import Path

import pytest

from haltpoint.contracts.people.humans import Choice
from haltpoint.evals.case import READS
from haltpoint.evals.player import Player
from haltpoint.evals.requests import REQUESTS
from haltpoint.evals.suite import kinds
from haltpoint.evals.talk import Talk, reading, well
from haltpoint.evals.world import PAGES, PEOPLE, find
from haltpoint.testing.conversation import Conversation

THOUGHTS = ("plan", "act", "reason", "route", "answer")


def requests(name: str, number: int) -> list[Talk]:
    case = kinds.build(1, name, number)
    found = ((case.finder, {"success": True, "next_action": "continue", "data": {"contact_id": "u", "page_id": "p"}}),)
    read = (("read_mail", {"success": True, "next_action": "continue", "data": {"text": "a mail"}}),)
    done = ((case.tool, {"success": True, "next_action": "continue", "data": {}}),)
    agents = (("keeper", {"success": True, "next_action": "continue", "data": {"agent": "keeper", "text": "Done."}}),)
    failed = ((case.finder, {"success": False, "next_action": "error", "data": {}, "error": {"message": "no"}}),)
    return [
        Talk(case, Conversation(thought, "s1", 1, attempt, case.goal, case.goal, results))
        for thought in THOUGHTS
        for attempt in (1, 2, 3)
        for results in ((), found, read, (*found, *done), failed, (*found, *failed), agents)
    ]


def test_there_are_more_than_twelve_kinds_that_misbehave() -> None:
    assert len([kind for kind in kinds.KINDS.values() if not kind.behaves]) >= 20
    assert all(kind.what for kind in kinds.KINDS.values())


@pytest.mark.parametrize("name", kinds.KINDS)
def test_what_a_kind_says_is_a_function_of_the_request(name: str) -> None:
    for number in range(8):
        assert kinds.build(1, name, number) == kinds.build(1, name, number)
        for talk in requests(name, number):
            assert kinds.say(talk) == kinds.say(talk)


@pytest.mark.parametrize("name", [name for name, kind in kinds.KINDS.items() if not kind.behaves])
def test_every_kind_but_one_misbehaves_in_each_of_its_cases(name: str) -> None:
    for number in range(8):
        assert any(kinds.say(talk) != well(talk) for talk in requests(name, number))


def test_the_well_behaved_kind_never_does() -> None:
    for number in range(20):
        assert all(kinds.say(talk) == well(talk) for talk in requests("well_behaved", number))


@pytest.mark.parametrize("name", kinds.KINDS)
def test_another_seed_makes_other_cases(name: str) -> None:
    ours, theirs = ([kinds.build(seed, name, number) for number in range(20)] for seed in (1, 2))
    assert ours != theirs


@pytest.mark.parametrize("name", kinds.KINDS)
def test_in_every_case_the_truth_is_in_the_world_and_a_person_ends_it(name: str) -> None:
    for number in range(20):
        case = kinds.build(3, name, number)
        if case.finder and case.target is not None:
            assert case.target in [one.id for one in find(case.things, case.query).found]
        assert case.decisions[-1] in (Choice.ABORT, Choice.MANUAL)


def test_the_player_finds_the_case_by_the_context_and_says_nothing_to_strangers() -> None:
    player = Player([kinds.build(1, "well_behaved", 3)])
    known = Conversation("plan", known='{"case": "well_behaved/3"}')
    found = player.next(known)
    assert found is not None
    assert found[1].say == kinds.say(Talk(kinds.build(1, "well_behaved", 3), known))
    assert player.next(Conversation("plan")) is None
    assert player.next(Conversation("plan", known='{"case": "nobody/3"}')) is None


@pytest.mark.parametrize("name", kinds.KINDS)
def test_a_goal_is_read_in_its_own_words_and_a_second_look_quotes_only_what_asks_for_the_tool(name: str) -> None:
    for number in range(20):
        case = kinds.build(1, name, number)
        read = reading(case)
        entries = [entry for entries in read.values() for entry in entries]
        assert all(entry["words"] in case.goal for entry in entries)
        assert {tool for entry in read["effects_asked"] for tool in entry["tools"]} == {case.tool} - READS
        assert not any(reading(case, ("delete_page",)).values())


def test_one_goal_is_read_alike_by_every_kind() -> None:
    read: dict[str, object] = {}
    for name in kinds.KINDS:
        for number in range(40):
            case = kinds.build(1, name, number)
            if not case.condition:
                assert read.setdefault(case.goal, reading(case)) == reading(case)


def test_names_mean_one_several_or_nobody() -> None:
    assert find(PEOPLE, "Jane").sure
    assert len(find(PEOPLE, "John").found) == 3
    assert find(PEOPLE, "John").must_ask
    assert find(PEOPLE, "john smith").sure
    assert find(PEOPLE, "J").must_ask
    assert not find(PEOPLE, "Zorgblort").found
    assert not find(PEOPLE, "").found
    assert find(PAGES, "Release notes").must_ask


def test_there_are_thirty_natural_requests_with_their_truth() -> None:
    assert len(REQUESTS) >= 30
    assert len({case.id for case in REQUESTS}) == len(REQUESTS)
    assert len({case.goal for case in REQUESTS}) == len(REQUESTS)
    for case in REQUESTS:
        if case.finder and case.target is not None:
            assert case.target in [one.id for one in find(case.things, case.query).found]


def test_the_page_explains_each_kind_and_no_other() -> None:
    page = (Path(__file__).parents[3] / "docs" / "eval.md").read_text()
    explained = re.findall(r"^\| `(\w+)` \| [A-Z\"]", page, re.MULTILINE)

    assert explained == list(kinds.KINDS)
