"""The planner and agents: a thought goes to the agent's own model, behind the agent's own words."""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import StringIO
from typing import Any

import structlog
from structlog.testing import capture_logs

from haltpoint.contracts.work.agents import Agent, Agents, ModelEndpoint
from haltpoint.contracts.work.tasks import Task
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.config.settings import LogSettings
from haltpoint.runtime.observability import logs
from haltpoint.testing.script_model import ScriptedModel
from tests.integration.planning import GOOD_PLAN, Board, script
from tests.support.secret_forms import FORMS, secret_in


@asynccontextmanager
async def desks(board: Board, url: str) -> AsyncIterator[None]:
    """The agents file of the planners that start in here."""
    models = {"own": ModelEndpoint(base_url=url, name="own-model", max_tokens=77)}
    agents = (
        Agent(
            name="desk",
            description="d",
            prompt="You are the desk.",
            model="own",
            agents=("post",),
            tools=("l*",),
        ),
        Agent(name="post", description="Sends messages.", tools=("send_message",)),
        Agent(name="plain", description="d"),
    )
    board.agents = Agents(agents=agents, models=models)
    yield


async def test_i1_a_thought_goes_to_the_agents_own_model_behind_its_own_words(board: Board) -> None:
    async with (
        ScriptedModel(script(GOOD_PLAN)) as configured,
        ScriptedModel(script(GOOD_PLAN)) as own,
        desks(board, own.base_url),
        board.planner(configured),
    ):
        thought = await board.ask(await board.chain(Task(goal="Tell John hi", agent="desk")))
        reply = await board.reply(thought)
        assert reply["data"]["usage"]["model"] == "own-model"
        (asked,) = own.requests
        assert (asked.body["model"], asked.body["max_tokens"]) == ("own-model", 77)
        system, task = (message["content"] for message in asked.body["messages"])
        assert system.startswith("You are the desk.\n\nYou draw up plans.")
        assert "- route(target_agent, task, reasoning, confidence)" in task
        assert "post: Sends messages." in task
        named, _, inside = task.partition(
            "For the bounds only, the tools of the agents: no step names these."
        )
        assert "send_message" not in named
        assert "- send_message(" in inside
        assert not configured.requests
        await board.reply(
            await board.ask(await board.chain(Task(goal="Tell John hi", agent="plain")))
        )
        await board.reply(await board.ask(await board.chain()))
        one, other = configured.requests
        assert one.body["messages"] == other.body["messages"], (
            "an agent without words of its own has ours"
        )


async def test_c12_a_goal_is_read_with_lookups_beside_the_tools_that_it_may_bind(
    board: Board,
) -> None:
    async with ScriptedModel(script(GOOD_PLAN)) as model, board.planner(model):
        await board.reply(await board.ask(await board.chain(), ThoughtKind.BOUNDS))
        (asked,) = model.requests
        _, task = (message["content"] for message in asked.body["messages"])
        assert "- lookup_contacts: " in task
        assert "- send_message: " in task
        assert "askHuman" not in task


@asynccontextmanager
async def clerks(board: Board, **about: Any) -> AsyncIterator[None]:
    """An agent with these settings, and one without any."""
    agents = (Agent(name="clerk", description="d", **about), Agent(name="all", description="d"))
    models = {"test": ModelEndpoint(name="any", provider="test")}
    board.agents = Agents(agents=agents, models=models)
    yield


async def test_prompts_and_replies_of_a_verbose_agent_are_in_the_log(board: Board) -> None:
    async with (
        ScriptedModel(script(GOOD_PLAN)) as model,
        clerks(board, verbose=True, prompt="You are kind."),
        board.planner(model),
    ):
        with capture_logs() as lines:
            await board.reply(
                await board.ask(await board.chain(Task(goal="Tell John hi", agent="all")))
            )
            assert not [line for line in lines if line["event"] in ("prompt", "reply")]
            await board.reply(
                await board.ask(await board.chain(Task(goal="Tell John hi", agent="clerk")))
            )
    prompt, reply = (line for line in lines if line["event"] in ("prompt", "reply"))
    system, task = prompt["messages"]
    assert system["content"].startswith("You are kind.\n\nYou draw up plans.")
    assert task["content"].endswith("Goal: Tell John hi")
    assert (prompt["tools"], prompt["thought"]) == ([], reply["thought"])
    assert reply["words"] == json.dumps(GOOD_PLAN["say"]["plan"])


async def test_the_log_of_prompts_has_no_secret(board: Board) -> None:
    stream, root = StringIO(), logging.getLogger()
    handlers, level, before = root.handlers, root.level, structlog.get_config()
    logs.configure(LogSettings(), service="planner", stream=stream)
    goal = f"Log in with password=hunter2-99: {' | '.join(FORMS.values())}"
    try:
        async with (
            ScriptedModel(script(GOOD_PLAN)) as model,
            clerks(board, verbose=True),
            board.planner(model),
        ):
            await board.reply(await board.ask(await board.chain(Task(goal=goal, agent="clerk"))))
    finally:
        root.handlers, root.level = handlers, level
        structlog.configure(**before)
    written = stream.getvalue()
    assert '"event": "prompt"' in written
    assert "hunter2" not in written
    assert [form for form, text in FORMS.items() if secret_in(text) in written] == []


async def test_i1_no_model_thinks_where_the_agent_is_not_in_the_file_any_more(board: Board) -> None:
    chain = await board.chain(Task(goal="Tell John hi", agent="desk"))
    async with ScriptedModel(script({"say": {"content": "hello"}})) as model, board.planner(model):
        reply = await board.reply(await board.ask(chain, ThoughtKind.PLAN))
        assert (reply["type"], reply["data"]["code"]) == ("thought.failed.v1", "HP-216")
        assert "there is no agent 'desk' any more: there are: none" in reply["data"]["message"]
        assert not model.requests
