"""A model of pydantic-ai behind our port: what goes in, what comes out, and what its errors are
here.
"""

import builtins
import time
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import SecretStr
from pydantic_ai import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    RequestUsage,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.work.agents import ModelEndpoint
from haltpoint.contracts.work.thoughts import ThoughtKind, Usage
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint_planner import providers
from haltpoint_planner.exchange import Finish, NativeCall, Prompt, Reply
from haltpoint_planner.providers import ProviderPort, provided

NOTE = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOL = {
    "type": "function",
    "function": {"name": "note", "description": "Note it.", "parameters": NOTE},
}
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "note", "arguments": '{"text": "a"}'},
}
TALK: tuple[dict[str, Any], ...] = (
    {"role": "system", "content": "You note."},
    {"role": "user", "content": "Goal: note a"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "name": "note", "content": "noted"},
    {"role": "user", "content": "Go on."},
)
ENDPOINT = ModelEndpoint(name="big", provider="anthropic", max_tokens=77, timeout=5)
Answer = Callable[[list[ModelMessage], AgentInfo], ModelResponse]


def thought(attempt: int = 1, left: float = 60.0) -> ThoughtRequest:
    deadline = int((time.time() + left) * 1000)
    return ThoughtRequest(
        thought_id="c.a.t1.1", kind=ThoughtKind.ACT, deadline=deadline, attempt=attempt
    )


def port(answer: Answer, endpoint: ModelEndpoint = ENDPOINT) -> ProviderPort:
    about = providers._About("own", "anthropic", SecretStr("sk-12345"))
    return ProviderPort(FunctionModel(answer), about, endpoint, pause=0.001)


async def test_a_conversation_with_tools_goes_in_and_words_and_calls_come_out() -> None:
    seen: list[tuple[list[ModelMessage], AgentInfo]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append((messages, info))
        parts: list[ModelResponsePart] = [
            ThinkingPart("hm"),
            TextPart("Noting."),
            ToolCallPart("note", {"text": "b"}, "c1"),
            ToolCallPart("note", "{", "c2"),
        ]
        return ModelResponse(
            parts, usage=RequestUsage(input_tokens=9, output_tokens=4), finish_reason="length"
        )

    reply = await port(answer).ask("big", Prompt(TALK, (TOOL,), force=True), thought())
    calls = (NativeCall("note", {"text": "b"}, "c1"), NativeCall("note", "{", "c2"))
    assert reply == Reply(
        "Noting.", calls, Usage(input_tokens=9, output_tokens=4, model="big"), finish=Finish.LENGTH
    )
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
    assert info.model_settings == {"max_tokens": 77, "temperature": 0, "tool_choice": "required"}


async def test_a_form_is_asked_for_where_the_model_takes_one_and_a_retry_may_vary() -> None:
    seen: list[AgentInfo] = []

    def answer(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info)
        return ModelResponse([TextPart('{"text": "a"}')])

    again = ({"role": "assistant", "content": "No."}, {"role": "user", "content": "Once more."})
    reply = await port(answer).ask(
        "big", Prompt((*TALK[:2], *again), schema=NOTE), thought(attempt=2)
    )
    assert reply.content == '{"text": "a"}'
    (info,) = seen
    form = info.model_request_parameters.output_object
    assert form is not None
    assert (form.json_schema, form.name, form.strict) == (NOTE, "act", True)
    assert info.model_settings == {"max_tokens": 77, "temperature": 0.4}
    plain = ProviderPort(
        TestModel(custom_output_text="hello"), providers._About("own", "test", None), ENDPOINT
    )
    reply = await plain.ask("big", Prompt(TALK[:2], schema=NOTE), thought())
    assert (reply.content, reply.usage.model) == ("hello", "big")
    assert reply.usage.input_tokens > 0


LASTING: tuple[tuple[Exception, str], ...] = (
    (ModelAuthenticationError("big", "invalid key sk-12345"), "HP-303"),
    (ModelHTTPError(403, "big"), "HP-303"),
    (ModelNotFoundError("big", "no such model"), "HP-304"),
    (ModelHTTPError(422, "big"), "HP-304"),
    (ModelAPIError("big", "what?"), "HP-305"),
    (UserError("not with this model"), "HP-304"),
    (ModelQuotaExceededError("big", "pay first"), "HP-305"),
    (UnexpectedModelBehavior("no parts"), "HP-306"),
)


@pytest.mark.parametrize(("error", "code"), LASTING, ids=repr)
async def test_what_lasts_is_told_at_once_without_the_key(error: Exception, code: str) -> None:
    asked: list[Any] = []

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        asked.append(messages)
        raise error

    with pytest.raises(HaltpointError) as caught:
        await port(answer).ask("big", Prompt(TALK[:2]), thought())
    assert (caught.value.code, len(asked)) == (code, 1)
    assert "sk-12345" not in str(caught.value)
    assert caught.value.what.startswith("the model's provider anthropic ")


def refused(endpoint: ModelEndpoint, key: str | None = None) -> HaltpointError:
    with pytest.raises(HaltpointError) as caught:
        provided("own", endpoint, None if key is None else SecretStr(key))
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
    error = refused(ModelEndpoint(name="x", provider="anthropic"), "sk-12345")
    assert (error.code, error.fix) == ("HP-310", "Run: pip install 'pydantic-ai-slim[anthropic]'")
    missing = "pydantic_ai"
    error = refused(ModelEndpoint(name="x", provider="anthropic"))
    assert (error.code, error.why) == ("HP-310", "pydantic-ai is not installed")
    assert error.fix == "Run: pip install 'haltpoint[providers]'"
