"""The planner over a real server and a real (scripted) model: a thought is had once, or clearly
cannot be had.
"""

import json
import time
from typing import Any

import pytest

from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import Settings
from haltpoint.runtime.store.rows import Key
from haltpoint.runtime.streams.wire import encode
from haltpoint.runtime.views.story import tell
from haltpoint.testing.script_model import ScriptedModel
from haltpoint_planner.app import run
from haltpoint_planner.chat_completions import ChatCompletions
from tests.integration.planning import GOOD_PLAN, Board, script
from tests.support import wait_until


async def test_a_thought_is_asked_recorded_and_told_once(board: Board) -> None:
    async with (
        ScriptedModel(script(GOOD_PLAN)) as model,
        board.planner(model),
    ):
        chain = await board.chain()
        thought = await board.ask(chain)
        reply = await board.reply(thought)
        assert (reply["id"], reply["type"], reply["source"]) == (
            f"{thought}/reply",
            "plan.drafted.v1",
            "haltpoint/planner",
        )
        assert reply["traceparent"] == "00-11111111111111111111111111111111-2222222222222222-01"
        assert reply["data"]["plan"]["steps"][0]["required_tools"] == ["lookup_contacts"]
        assert reply["data"]["usage"]["input_tokens"] > 0
        recorded = await board.stored.thought(thought)
        assert recorded is not None
        assert json.loads(recorded.data) == reply["data"]
        assert json.loads(recorded.raw) == GOOD_PLAN["say"]["plan"]
        (asked,) = model.requests
        talk = asked.talk
        assert (asked.chain, talk.thought, talk.step) == (chain, "plan", None)
        assert (talk.turn, talk.attempt) == (1, 1)


async def test_a_paid_thought_that_was_not_recorded_is_paid_again_and_recorded_once(
    board: Board,
) -> None:
    """A planner that died before it recorded looks like one whose entry somebody else has to take
    over.
    """
    slowly = GOOD_PLAN | {"delay": 30, "times": 1}
    async with (
        ScriptedModel(script(slowly, GOOD_PLAN)) as model,
        board.planner(model),
        board.planner(model),
    ):
        chain = await board.chain()
        thought = await board.ask(chain)
        await wait_until(lambda: len(model.requests) == 1)
        # Whoever had it is dead, as far as anybody can see: it has not been touched for a lease.
        key = board.topology.stream(board.topology.partition(chain), Stream.PLANS)
        ((entry, _),) = await board.redis.xrange(key)
        await board.redis.xclaim(key, "planner", "nobody", 0, [entry], idle=10_000)
        await board.reply(thought)
        assert len(model.requests) == 2


async def test_r12_what_a_dead_planner_had_in_hand_is_thought_before_all_else(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    send, inside, most = ChatCompletions.send, 0, 0

    async def counted(self: ChatCompletions, *args: Any) -> Any:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        try:
            return await send(self, *args)
        finally:
            inside -= 1

    monkeypatch.setattr(ChatCompletions, "send", counted)
    thoughts = [await board.ask(await board.chain()) for _ in range(6)]
    for number in range(board.topology.partitions):
        await board.redis.xreadgroup(
            "planner", "dead", {board.topology.stream(number, Stream.PLANS): ">"}
        )
    async with ScriptedModel(script(GOOD_PLAN | {"delay": 0.2})) as model, board.planner(model):
        for thought in thoughts:
            await board.reply(thought)
        assert most > 1, "what was delivered once is taken over together"


async def test_d3_another_model_is_asked_when_a_person_wants_that(board: Board) -> None:
    async with ScriptedModel(script(GOOD_PLAN)) as model, board.planner(model, retry_name="bigger"):
        chain = await board.chain()
        first = await board.reply(await board.ask(chain))
        again = await board.reply(
            await board.ask(chain, thought_id=f"{chain}.plan.t0.2", other_model=True)
        )
        assert [reply["data"]["usage"]["model"] for reply in (first, again)] == [
            "scripted",
            "bigger",
        ]
        assert [asked.body["model"] for asked in model.requests] == ["scripted", "bigger"]


async def test_a_slow_thought_keeps_its_lease(board: Board) -> None:
    """Three leases long, beside an idle planner that would take it over."""
    slowly = script(GOOD_PLAN | {"delay": 1.8})
    async with ScriptedModel(slowly) as model, board.planner(model), board.planner(model):
        await board.reply(await board.ask(await board.chain()))
        assert len(model.requests) == 1


@pytest.mark.parametrize("fault", [{"status": 500}, {"status": 503}, {"cut": True}])
async def test_what_passes_is_asked_again(board: Board, fault: dict[str, object]) -> None:
    rules = script({"times": 2, "fault": fault}, GOOD_PLAN)
    async with ScriptedModel(rules) as model, board.planner(model):
        assert (await board.reply(await board.ask(await board.chain())))[
            "type"
        ] == "plan.drafted.v1"
        assert len(model.requests) == 3


AWAY = {"fault": {"status": 503, "words": "loading"}}


async def test_a_chain_says_why_it_waits_for_its_model_and_until_when(board: Board) -> None:
    async with ScriptedModel(script(AWAY)) as model, board.planner(model):
        chain = await board.chain()
        thought = await board.ask(chain)
        await wait_until(lambda: board.resting(chain))
        view = await board.view(chain)
        rest = view.waits_for_model
        assert rest is not None
        assert (rest.code, rest.tries) == ("HP-305", 1)
        assert "loading" in rest.message
        assert rest.since < rest.until
        assert "loading" in "".join(line.text for line in tell(view))
        await wait_until(lambda: board.tried(chain, 3))
        again = (await board.view(chain)).waits_for_model
        assert again is not None
        assert again.since == rest.since
        assert again.until > rest.until
        assert not await board.replies(thought)


async def test_a_rest_outlives_its_planner_and_ends_with_the_reply(board: Board) -> None:
    async with ScriptedModel(script(AWAY | {"times": 1}, GOOD_PLAN)) as model:
        async with board.planner(model):
            chain = await board.chain()
            thought = await board.ask(chain)
            await wait_until(lambda: board.resting(chain))
        async with board.planner(model):
            assert (await board.reply(thought))["type"] == "plan.drafted.v1"
        assert len(model.requests) == 2
    assert (await board.view(chain)).waits_for_model is None


async def test_a_server_is_asked_as_late_as_it_wants(board: Board) -> None:
    busy = {"times": 1, "fault": {"status": 429, "retry_after": 2}}
    async with ScriptedModel(script(busy, GOOD_PLAN)) as model, board.planner(model):
        begun = time.monotonic()
        await board.reply(await board.ask(await board.chain()))
        assert time.monotonic() - begun > 2.0


async def test_a_thought_without_time_for_another_try_fails_with_the_reason(board: Board) -> None:
    async with ScriptedModel(script(AWAY)) as model, board.planner(model):
        thought = await board.ask(await board.chain(), deadline=int(time.time() * 1000) + 2500)
        reply = await board.reply(thought)
    assert (reply["type"], reply["data"]["code"]) == ("thought.failed.v1", "HP-305")
    assert len(model.requests) > 1


async def test_a_view_says_when_its_tokens_are_an_estimate(board: Board) -> None:
    chain = await board.chain()
    for estimated in (False, True):
        usage = {"input_tokens": 9, "estimated": estimated}
        thought = {"thought_id": f"{chain}.plan.t0.1", "usage": usage}
        row = f"plan.drafted.v1\n{encode(thought).decode()}\n"
        await board.redis.hset(board.topology.key_of(Key.DATA, chain), "plan.t0.1", row)
        line = [1, "plan.drafted", [], f"{chain}.plan.t0.1"]
        await board.redis.rpush(board.topology.key_of(Key.LOG, chain), encode(line))
        assert (await board.view(chain)).tokens_estimated is estimated


async def test_a_cancelled_chain_is_not_asked_for_again(board: Board) -> None:
    async with ScriptedModel(script(AWAY)) as model, board.planner(model):
        chain = await board.chain()
        await board.ask(chain)
        await wait_until(lambda: board.resting(chain))
        await board.redis.hset(board.topology.key_of(Key.CHAIN, chain), "status", "cancelled")
        before = len(model.requests)
        await wait_until(lambda: board.idle(chain))
        assert len(model.requests) == before


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        ({"status": 401, "words": "bad key sk-very-secret"}, "HP-303", "HALTPOINT_MODEL__API_KEY"),
        ({"status": 404, "words": "no such model"}, "HP-304", "no such model"),
        ({"malformed": True}, "HP-306", "OpenAI-compatible"),
    ],
)
async def test_what_does_not_pass_fails_at_once_with_clear_words(
    board: Board, fault: dict[str, object], code: str, words: str
) -> None:
    async with (
        ScriptedModel(script({"fault": fault})) as model,
        board.planner(model, api_key="sk-very-secret"),
    ):
        reply = await board.reply(await board.ask(await board.chain()))
        assert (reply["type"], reply["data"]["code"], reply["data"]["kind"]) == (
            "thought.failed.v1",
            code,
            "plan",
        )
        assert words in reply["data"]["message"]
        assert "secret" not in json.dumps(reply)
        assert len(model.requests) <= 2  # a 404 may be of a part of the question


async def test_without_a_model_the_chain_hears_what_to_set(board: Board) -> None:
    async with board.planner():
        reply = await board.reply(await board.ask(await board.chain()))
        assert (reply["data"]["code"], "HALTPOINT_MODEL__BASE_URL" in reply["data"]["message"]) == (
            "HP-301",
            True,
        )


async def test_what_is_no_message_goes_to_the_dead_letters(board: Board) -> None:
    async with board.planner():
        key = board.topology.key(0, "plans")
        await board.redis.xadd(key, {"__data__": "{"})
        newer = '{"id":"c.plan.t0.1","subject":"c","type":"plan.requested.v9"}'
        await board.redis.xadd(key, {"__data__": newer})
        dead = board.topology.key(0, "dead")

        async def is_dead() -> bool:
            return int(await board.redis.xlen(dead)) == 2

        await wait_until(is_dead)
        letters = {
            (fields[b"reason"], fields[b"chain"]) for _, fields in await board.redis.xrange(dead)
        }
        assert letters == {(b"bad_json", b""), (b"unknown_version", b"c")}
        assert await board.redis.xlen(key) == 0


async def test_many_thoughts_are_had_at_once_and_the_slow_one_is_handed_back_at_the_end(
    board: Board,
) -> None:
    slow = {"when": {"goal": "slow"}, "delay": 60, "say": GOOD_PLAN["say"]}
    async with ScriptedModel(script(slow, GOOD_PLAN)) as model:
        held_up = await board.chain(Task(goal="slow"))
        async with board.planner(model):
            await board.ask(held_up)
            thoughts = [await board.ask(await board.chain()) for _ in range(40)]

            async def all_said() -> bool:
                return all([len(await board.replies(thought)) == 1 for thought in thoughts])

            await wait_until(all_said)
            assert len(model.requests) == 41
        key = board.topology.stream(board.topology.partition(held_up), Stream.PLANS)
        assert (
            await board.redis.xlen(key),
            (await board.redis.xpending(key, "planner"))["pending"],
        ) == (1, 0)


async def test_too_few_slots_are_refused(board: Board) -> None:
    with pytest.raises(HaltpointError, match="HALTPOINT_SLOTS=4"):
        await run(Settings(redis_url=board.url, partitions=4, slots=2))


async def test_r1_a_question_that_cannot_be_read_is_told_to_its_chain(board: Board) -> None:
    async with ScriptedModel(script(GOOD_PLAN)) as model, board.planner(model):
        chain = await board.chain()
        question = {
            "id": f"{chain}.plan.t0.1",
            "source": "x",
            "subject": chain,
            "type": "plan.requested.v1",
        }
        partition = board.topology.partition(chain)
        await board.redis.xadd(
            board.topology.stream(partition, Stream.PLANS), {"__data__": json.dumps(question)}
        )
        events = board.topology.stream(partition, Stream.EVENTS)

        await wait_until(lambda: board.idle(chain))
        (_, (_, fields)) = await board.redis.xrange(events)
    word = json.loads(fields[b"__data__"])
    assert (word["type"], word["subject"]) == ("message.lost.v1", chain)
    assert word["data"]["message_id"] == f"{chain}.plan.t0.1"
