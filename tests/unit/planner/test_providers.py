"""A model of pydantic-ai behind our port: what goes in, what comes out, and what its errors are
here.
"""

import asyncio
import builtins
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from pydantic import SecretStr
from pydantic_ai import (
    ModelMessage,
    ModelRequest,
    SystemPromptPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.models import Model
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaThinkingPart,
    DeltaToolCall,
    FunctionModel,
)
from pydantic_ai.models.test import TestModel

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint_planner.exchange import NativeCall, Prompt
from haltpoint_planner.model import Port
from haltpoint_planner.providers import Provided, provided
from haltpoint_planner.servers import PassingError, Server

NOTE = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOL = {"name": "note", "description": "Note it.", "parameters": NOTE}
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "note", "arguments": '{"text": "a"}'},
}
TALK: tuple[JsonObject, ...] = (
    {"role": "system", "content": "You note."},
    {"role": "user", "content": "Goal: note a"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "name": "note", "content": "noted"},
    {"role": "user", "content": "Go on."},
)
SETTINGS = ModelSettings(
    name="big", provider="anthropic", max_tokens=77, api_key=SecretStr("sk-12345")
)
Answer = Callable[[list[ModelMessage], AgentInfo], AsyncIterator[Any]]


def thought(attempt: int = 1, left: float = 60.0) -> ThoughtRequest:
    deadline = int((time.time() + left) * 1000)
    return ThoughtRequest(
        thought_id="c.a.t1.1", kind=ThoughtKind.ACT, deadline=deadline, attempt=attempt
    )


def port(model: Model, settings: ModelSettings = SETTINGS) -> Port:
    server = Server(settings, "own")
    return Port(settings, server, Provided(model, settings, server).send)


def answering(answer: Answer) -> Port:
    return port(FunctionModel(stream_function=answer))


async def test_a_conversation_with_tools_goes_in_and_words_and_calls_come_out() -> None:
    seen: list[tuple[list[ModelMessage], AgentInfo]] = []

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        seen.append((messages, info))
        yield "Noting."
        yield {0: DeltaToolCall("note", '{"text": "b"}', tool_call_id="call_2")}
        yield {1: DeltaToolCall("note", "{", tool_call_id="call_3")}

    reply = await answering(answer).ask(
        "big", lambda _: Prompt(TALK, (TOOL,), force=True), thought()
    )
    assert reply.content == "Noting."
    assert reply.calls == (
        NativeCall("note", '{"text": "b"}'),
        NativeCall("note", "{"),
    )
    assert reply.usage.model == "big"
    ((messages, info),) = seen
    first, said, last = messages
    assert isinstance(first, ModelRequest)
    assert isinstance(last, ModelRequest)
    assert [type(part) for part in first.parts] == [SystemPromptPart, UserPromptPart]
    assert [type(part) for part in last.parts] == [ToolReturnPart, UserPromptPart]
    (call,) = said.parts
    assert isinstance(call, ToolCallPart)
    assert (call.tool_name, call.args, call.tool_call_id) == ("note", '{"text": "a"}', "call_1")
    (tool,) = info.function_tools
    assert (tool.name, tool.description, tool.parameters_json_schema) == ("note", "Note it.", NOTE)
    assert info.model_settings == {
        "max_retries": 0,
        "max_tokens": 77,
        "temperature": 0,
        "tool_choice": "required",
    }


async def test_a_providers_message_goes_back_as_it_came() -> None:
    seen: list[list[ModelMessage]] = []

    async def answer(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[Any]:
        seen.append(messages)
        yield {0: DeltaThinkingPart(content="let me see", signature="sig")}
        yield {1: DeltaToolCall("note", '{"text": "b"}', tool_call_id="call_2")}

    model = answering(answer)
    first = await model.ask("big", lambda _: Prompt(TALK[:2], (TOOL,)), thought())
    assert first.message is not None
    stored = json.loads(json.dumps(first.message))
    result = {"role": "tool", "tool_call_id": "call_2", "name": "note", "content": "noted"}
    await model.ask("big", lambda _: Prompt((*TALK[:2], stored, result), (TOOL,)), thought())
    thinking, call = seen[1][1].parts
    assert isinstance(thinking, ThinkingPart)
    assert (thinking.content, thinking.signature) == ("let me see", "sig")
    assert isinstance(call, ToolCallPart)
    (returned,) = seen[1][2].parts
    assert isinstance(returned, ToolReturnPart)
    assert (returned.tool_name, returned.tool_call_id) == ("note", "call_2")


async def test_a_form_is_asked_for_where_the_model_takes_one_and_a_retry_may_vary() -> None:
    seen: list[AgentInfo] = []

    async def answer(_: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        seen.append(info)
        yield '{"text": "a"}'

    again = ({"role": "assistant", "content": "No."}, {"role": "user", "content": "Once more."})
    prompt = Prompt((*TALK[:2], *again), schema=NOTE)
    reply = await answering(answer).ask("big", lambda _: prompt, thought(attempt=2))
    assert reply.content == '{"text": "a"}'
    (info,) = seen
    form = info.model_request_parameters.output_object
    assert form is not None
    assert (form.json_schema, form.name, form.strict) == (NOTE, "act", True)
    assert info.model_settings == {"max_retries": 0, "max_tokens": 77, "temperature": 0.4}
    plain = port(TestModel(custom_output_text="hello"))
    reply = await plain.ask("big", lambda _: Prompt(TALK[:2], schema=NOTE), thought())
    assert (reply.content, reply.usage.model) == ("hello", "big")
    assert reply.usage.input_tokens > 0


LASTING: tuple[tuple[Exception, str], ...] = (
    (ModelAuthenticationError("big", "invalid key sk-12345"), "HP-303"),
    (ModelHTTPError(403, "big", {"message": "no permission"}), "HP-303"),
    (ModelNotFoundError("big", "no such model"), "HP-304"),
    (ModelHTTPError(422, "big"), "HP-304"),
    (UserError("not with this model"), "HP-304"),
    (ModelQuotaExceededError("big", "pay first"), "HP-304"),
    (UnexpectedModelBehavior("no parts"), "HP-306"),
)


PASSING: tuple[tuple[Exception, str], ...] = (
    (ModelConnectionError("big", "no route"), "HP-302"),
    (ModelHTTPError(503, "big"), "HP-305"),
    (ModelAPIError("big", "what?"), "HP-305"),
    (ModelRateLimitError("big", "slow down", retry_after=7.0), "HP-305"),
)


def raising(error: Exception, asked: list[Any]) -> Port:
    async def answer(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[Any]:
        asked.append(messages)
        if asked:
            raise error
        yield ""

    return answering(answer)


@pytest.mark.parametrize(("error", "code"), LASTING, ids=repr)
async def test_what_lasts_is_told_at_once_without_the_key(error: Exception, code: str) -> None:
    asked: list[Any] = []
    with pytest.raises(HaltpointError) as caught:
        await raising(error, asked).ask("big", lambda _: Prompt(TALK[:2]), thought())
    assert caught.value.code == code
    assert len(asked) <= 5
    assert "sk-12345" not in str(caught.value)
    assert caught.value.what.startswith("the model's provider anthropic ")


@pytest.mark.parametrize(("error", "code"), PASSING, ids=repr)
async def test_what_passes_is_no_failure(error: Exception, code: str) -> None:
    asked: list[Any] = []
    with pytest.raises(PassingError) as caught:
        await raising(error, asked).ask("big", lambda _: Prompt(TALK[:2]), thought())
    assert (caught.value.code, len(asked)) == (code, 1)
    assert caught.value.after == (getattr(error, "retry_after", None) or 0.0)


async def test_silence_of_a_provider_passes_and_names_the_setting() -> None:
    async def answer(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[Any]:
        yield "a"
        await asyncio.sleep(5)
        yield "b"

    settings = SETTINGS.model_copy(update={"silence": 0.2})
    silent = port(FunctionModel(stream_function=answer), settings)
    with pytest.raises(PassingError) as caught:
        await silent.ask("big", lambda _: Prompt(TALK[:2]), thought())
    assert caught.value.code == "HP-307"
    assert "HALTPOINT_MODEL__SILENCE" in caught.value.fix


def refused(**settings: Any) -> HaltpointError:
    given = ModelSettings(name="x", **settings)
    with pytest.raises(HaltpointError) as caught:
        provided(given, Server(given))
    return caught.value


def test_without_the_extra_or_the_providers_own_package_the_command_that_installs_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = builtins.__import__
    missing = "anthropic"

    def without(name: str, *more: Any, **named: Any) -> Any:
        if name.startswith(missing):
            raise ImportError(f"no {name}")
        return known(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    error = refused(provider="anthropic", api_key=SecretStr("sk-12345"))
    assert (error.code, error.fix) == ("HP-310", "Run: pip install 'pydantic-ai-slim[anthropic]'")
    missing = "pydantic_ai"
    error = refused(provider="anthropic")
    assert (error.code, error.why) == ("HP-310", "pydantic-ai is not installed")
    assert error.fix == "Run: pip install 'haltpoint[providers]'"
