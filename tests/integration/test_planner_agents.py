"""The planner and agents: a thought goes to the agent's own model, behind the agent's own words."""

from collections.abc import AsyncIterator

import httpx
import pytest
from redis.asyncio import Redis

from haltpoint.contracts.events import ThoughtRequest
from haltpoint.contracts.work.agents import Agent, Agents, ModelEndpoint
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint.runtime.service.embedded import EmbeddedServer
from haltpoint.runtime.streams.agent_versions import AgentVersions
from haltpoint.runtime.streams.connection import AutoPipeline
from haltpoint.runtime.streams.topology import Topology
from haltpoint.testing.script_model import ScriptedModel
from haltpoint_planner.chat_completions import ChatCompletions
from haltpoint_planner.prompting.prompts import Prompt
from tests.integration.planning import LOOKUP, SEND, Board, script

GOOD_PLAN = {"say": {"plan": {"steps": [{"id": "find", "description": "x", "required_tools": ["lookup_contacts"]}]}}}


@pytest.fixture
async def board(server: EmbeddedServer, redis: Redis) -> AsyncIterator[Board]:
    topology = Topology(2)
    await topology.ensure(redis, [])
    async with AutoPipeline(redis) as calls:
        board = Board(server.url, redis, topology, calls)
        await board.know(LOOKUP, SEND)
        yield board


async def apply(board: Board, url: str, key: str | None = None) -> None:
    models = {"own": ModelEndpoint(base_url=url, name="own-model", api_key_env=key, max_tokens=77)}
    agents = (
        Agent(name="desk", description="d", prompt="You are the desk.", model="own", agents=("post",), tools=("l*",)),
        Agent(name="post", description="Sends messages.", tools=("send_message",)),
        Agent(name="plain", description="d"),
    )
    await AgentVersions(board.calls, board.topology).apply(Agents(agents=agents, models=models), 100)


async def test_i1_a_thought_goes_to_the_agents_own_model_behind_its_own_words(board: Board) -> None:
    async with (
        ScriptedModel(script(GOOD_PLAN)) as configured,
        ScriptedModel(script(GOOD_PLAN)) as own,
        board.planner(configured),
    ):
        await apply(board, own.base_url)
        thought = await board.ask(await board.chain(Task(goal="Tell John hi", agent="desk")))
        reply = await board.reply(thought)
        assert reply["data"]["usage"]["model"] == "own-model"
        (asked,) = own.requests
        assert (asked.body["model"], asked.body["max_tokens"]) == ("own-model", 77)
        system, task = (message["content"] for message in asked.body["messages"])
        assert system.startswith("You are the desk.\n\nYou draw up plans.")
        assert "- post(task, context): Sends messages." in task
        named, _, inside = task.partition("For the intent only, the tools of the agents: no step names these.")
        assert "send_message" not in named
        assert "- send_message(" in inside
        assert not configured.requests
        await board.reply(await board.ask(await board.chain(Task(goal="Tell John hi", agent="plain"))))
        await board.reply(await board.ask(await board.chain()))
        one, other = configured.requests
        assert one.body["messages"] == other.body["messages"], "an agent without words of its own has ours"


async def test_i1_what_the_runtime_asks_about_the_goal_is_no_agents_business(board: Board) -> None:
    intent = {"say": {"content": '{"effects_asked": [], "ask_before": [], "forbidden": []}'}}
    async with ScriptedModel(script(intent)) as own, board.planner(own):
        await apply(board, own.base_url)
        chain = await board.chain(Task(goal="Tell John hi", agent="desk"))
        await board.reply(await board.ask(chain, ThoughtKind.INTENT, thought_id=f"{chain}.intent.t0.1"))
        (asked,) = own.requests
        assert asked.body["messages"][0]["content"].startswith("You read what a goal asks for.")


async def test_a_model_without_its_key_is_told_by_the_name_of_the_variable(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ScriptedModel(script(GOOD_PLAN)) as own, board.planner(own):
        await apply(board, own.base_url, "DESK_KEY")
        task = Task(goal="Tell John hi", agent="desk")
        monkeypatch.delenv("DESK_KEY", raising=False)
        reply = await board.reply(await board.ask(await board.chain(task)))
        assert (reply["type"], reply["data"]["code"]) == ("thought.failed.v1", "HP-303")
        assert "DESK_KEY is not set in the planner's environment" in reply["data"]["message"]
        monkeypatch.setenv("DESK_KEY", "k1")
        reply = await board.reply(await board.ask(await board.chain(task)))
        assert reply["type"] == "plan.drafted.v1"


@pytest.mark.parametrize(
    ("section", "named"), [("own", "base_url of [models.own]"), (None, "HALTPOINT_MODEL__BASE_URL")]
)
async def test_an_error_of_a_model_names_the_setting_that_says_where_it_is(section: str | None, named: str) -> None:
    nothing = httpx.MockTransport(lambda _: httpx.Response(200, text="hello"))
    async with httpx.AsyncClient(transport=nothing) as http:
        model = ChatCompletions(ModelSettings(base_url="http://models.test/v1"), http, section=section)
        with pytest.raises(HaltpointError, match="HP-306") as caught:
            await model.ask(
                "m", Prompt(()), ThoughtRequest(thought_id="c.plan.t0.1", kind=ThoughtKind.PLAN, deadline=10**14)
            )
    assert named in caught.value.fix
