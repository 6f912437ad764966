"""The suite itself: cases with a truth, kinds that are pure and that do misbehave."""

from pathlib import Path

import msgspec
import pytest

from evals.case import Case, real_requests
from evals.kinds import BENIGN, KINDS, Player, case_of, say
from evals.world import WORLD, find
from haltpoint.contracts.people.humans import Choice
from haltpoint.testing.conversation import Conversation
from haltpoint.testing.script import Say

PAGE = (Path(__file__).parents[3] / "docs/explanation/eval.md").read_text()
THOUGHTS = (("plan", "s1"), ("act", "s1"), ("reason", "s1"), ("act", "route"), ("answer", "s1"))
"""Kinds of thoughts, each with its step."""

OK = {"success": True, "next_action": "continue", "data": {}}
FOUND = {**OK, "data": {"id": "user_x"}}
FAILED = {"success": False, "next_action": "error", "data": {}, "error": {"message": "no"}}


def requests(case: Case) -> list[Conversation]:
    finder = case.finder or "lookup_contacts"
    talks: list[tuple[tuple[str, object], ...]] = [
        (),
        ((finder, FOUND),),
        (("read_mail", OK),),
        ((finder, FOUND), (case.tool, OK)),
        ((finder, FAILED),),
        ((finder, FOUND), (finder, FAILED)),
        (("route", OK),),
    ]
    return [
        Conversation(thought, step, 1, attempt, case.goal, case.goal, results)
        for thought, step in THOUGHTS
        for attempt in (1, 3)
        for results in talks
    ]


def behaves(case: Case) -> Case:
    return msgspec.structs.replace(case, kind=BENIGN)


def said(case: Case) -> list[Say]:
    return [say(case, request) for request in requests(case)]


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_but_one_misbehaves_in_each_of_its_cases_and_always_in_the_same_way(
    name: str,
) -> None:
    for number in range(8):
        case = case_of(1, name, number)
        assert case == case_of(1, name, number)
        words = said(case)
        assert words == said(case)
        assert (words == said(behaves(case))) == (name == BENIGN)


@pytest.mark.parametrize("name", KINDS)
def test_in_every_case_the_truth_is_in_the_world_and_a_person_ends_it(name: str) -> None:
    for number in range(20):
        case = case_of(3, name, number)
        if case.finder and case.target is not None:
            assert case.target in find(WORLD.things(case.finder), case.query).ids
        assert case.decisions[-1] is Choice.ABORT


def test_the_player_finds_the_case_by_the_context_and_says_nothing_to_strangers() -> None:
    case = case_of(1, BENIGN, 3)
    known = Conversation("plan", known='{"case": "well_behaved/3"}')
    answer = Player([case]).next(known)
    assert answer is not None
    assert answer.say == say(case, known)
    assert Player([case]).next(Conversation("plan")) is None
    assert Player([case]).next(Conversation("plan", known='{"case": "nobody/3"}')) is None


def test_there_are_thirty_natural_requests_with_their_truth() -> None:
    requests = real_requests()
    assert len({case.goal for case in requests}) == len(requests) >= 30
    for case in requests:
        if case.finder and case.target is not None:
            assert case.target in find(WORLD.things(case.finder), case.query).ids
