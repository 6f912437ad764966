"""Any model of pydantic-ai: `provider` of the settings, or of a section of the agents file, with
haltpoint[providers].

The only file that knows pydantic-ai. It is imported when a model of it is asked for, since it is an
extra, and what its providers need comes in packages of their own. Its own form of a reply is kept
whole in a field of the message, and goes back as it came.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, cast

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint_planner.connections import goes_directly, without_proxies
from haltpoint_planner.exchange import OTHER_FORM, Message, Reply
from haltpoint_planner.parsing.completions import reply_of
from haltpoint_planner.servers import PassingError, Server

if TYPE_CHECKING:
    import pydantic_ai
    from pydantic_ai import ModelResponse
    from pydantic_ai.models import Model as ProviderModel
    from pydantic_ai.models import ModelRequestParameters

_SETTINGS: Final = ("temperature", "max_tokens", "tool_choice")
_KINDS: Final = {"system": "system-prompt", "user": "user-prompt", "tool": "tool-return"}
"""What a message is for pydantic-ai, by its role."""
_STATUSES: Final = {
    "ModelAuthenticationError": 401,
    "ModelQuotaExceededError": 402,
    "ModelRequestRejectedError": 400,
}
"""Of errors that come without one."""


def provided(settings: ModelSettings, server: Server) -> "Provided":
    """The model of these settings. Raises HaltpointError HP-310 when pydantic-ai, or what the
    provider needs, is not installed, or when there is no such provider; HP-303 when it has no key.
    """
    try:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
        from pydantic_ai.providers import infer_provider_class
    except ImportError as error:
        fix = "Run: pip install 'haltpoint[providers]'"
        raise server.error("HP-310", "pydantic-ai is not installed", fix) from error
    key = settings.api_key and settings.api_key.get_secret_value()
    named = {"api_key": key, "base_url": settings.base_url}
    given = {name: value for name, value in named.items() if value}

    def provider(name: str) -> Any:
        return infer_provider_class(name)(**given)

    name = f"{settings.provider}:{settings.name}"
    if settings.provider == "test":  # for trying out an agents file without any key
        name = "test"
    is_direct = settings.base_url is not None and goes_directly(settings.base_url)
    try:
        with without_proxies() if is_direct else nullcontext():
            model = infer_model(name, provider)
    except ImportError as error:
        package = f"pydantic-ai-slim[{settings.provider}]"
        if "SOCKS" in str(error):  # httpx names its extra, for a proxy of the shell
            package = "httpx2[socks]"
        raise server.error("HP-310", str(error), f"Run: pip install '{package}'") from error
    except (UserError, TypeError, ValueError) as error:
        code = "HP-303" if "api_key" in str(error).lower() else "HP-310"
        raise server.error(code, str(error)) from error
    return Provided(model, settings, server)


@dataclass
class Provided:
    """The `Send` of one model of pydantic-ai."""

    model: "ProviderModel"
    settings: ModelSettings
    server: Server

    async def send(self, body: JsonObject, request: ThoughtRequest) -> Reply:
        """See `Send`."""
        from pydantic_ai import exceptions

        try:
            return _reply(await self._streamed(body))
        except TimeoutError as error:
            raise self.server.too_slow(self.settings.silence, "silence") from error
        except exceptions.ModelConnectionError as error:
            raise PassingError(self.server.error("HP-302", str(error))) from error
        except exceptions.ModelAPIError as error:
            raise self._failure(error) from error
        except exceptions.UserError as error:
            raise self.server.failure(400, [], str(error), 0.0) from error
        except exceptions.UnexpectedModelBehavior as error:
            raise self.server.error("HP-306", str(error)) from error

    async def _streamed(self, body: JsonObject) -> "ModelResponse":
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        settings = {"max_retries": 0}  # a thought rests
        settings |= {name: body[name] for name in _SETTINGS if name in body}
        async with model_request_stream(
            self.model,
            ModelMessagesTypeAdapter.validate_python(list(_history(body["messages"]))),
            model_settings=cast("pydantic_ai.ModelSettings", settings),
            model_request_parameters=self._parameters(body),
        ) as stream:
            events = aiter(stream)
            event: object = stream
            while event is not None:
                async with asyncio.timeout(self.settings.silence):
                    event = await anext(events, None)
            return stream.get()

    def _parameters(self, body: JsonObject) -> "ModelRequestParameters":
        """The tools; without any the form of the answer where the model takes one: the prompt has
        it in words, too.
        """
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition

        tools = list(map(_tool, body.get("tools", ())))
        takes_one = self.model.profile.get("supports_json_schema_output", False)
        if tools or "response_format" not in body or not takes_one:
            return ModelRequestParameters(function_tools=tools)
        form = body["response_format"]["json_schema"]
        output = OutputObjectDefinition(form["schema"], name=form["name"], strict=True)
        return ModelRequestParameters(output_mode="native", output_object=output)

    def _failure(self, error: "pydantic_ai.exceptions.ModelAPIError") -> Exception:
        """What an error of the provider is here."""
        kinds = [kind.__name__ for kind in type(error).__mro__]
        usual = next((status for name, status in _STATUSES.items() if name in kinds), 0)
        status = getattr(error, "status_code", usual)
        body = [error.body] if isinstance(error.body, dict) else []
        return self.server.failure(status, body, str(error), error.retry_after or 0.0)


def _tool(tool: JsonObject) -> "pydantic_ai.ToolDefinition":
    from pydantic_ai import ToolDefinition

    function = tool["function"]
    return ToolDefinition(
        name=function["name"],
        description=function.get("description"),
        parameters_json_schema=function.get("parameters", {"type": "object", "properties": {}}),
    )


def _history(messages: Sequence[Message]) -> Iterator[JsonObject]:
    """The conversation as pydantic-ai stores it: what is said to the model between two replies is
    one request. A reply of the model is there as it came, or else with its words and calls.
    """
    for is_reply, group in groupby(messages, key=lambda message: message["role"] == "assistant"):
        if is_reply:
            yield from (message.get(OTHER_FORM) or _earlier(message) for message in group)
        else:
            yield {"kind": "request", "parts": list(map(_part, group))}


def _part(message: Message) -> JsonObject:
    part = {"part_kind": _KINDS[message["role"]], "content": message["content"]}
    if message["role"] == "tool":
        part |= {"tool_name": message["name"], "tool_call_id": message["tool_call_id"]}
    return part


def _earlier(message: Message) -> JsonObject:
    parts = [{"part_kind": "text", "content": message["content"]}]
    for call in message.get("tool_calls") or ():
        function = call["function"]
        part = {"tool_name": function["name"], "args": function["arguments"]}
        parts.append({"part_kind": "tool-call", **part, "tool_call_id": call["id"]})
    return {"kind": "response", "parts": parts if message["content"] else parts[1:]}


def _reply(response: "ModelResponse") -> Reply:
    """Words and calls of a response; its thoughts stay in the message."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    (own,) = ModelMessagesTypeAdapter.dump_python([response], mode="json")
    message: Message = {"role": "assistant", "content": response.text or "", OTHER_FORM: own}
    calls: list[Message] = []
    for part in response.tool_calls:  # their arguments may be no JSON
        function = {"name": part.tool_name, "arguments": part.args or {}}
        calls.append({"id": part.tool_call_id, "type": "function", "function": function})
    if calls:
        message["tool_calls"] = calls
    used = response.usage
    counts = {"prompt_tokens": used.input_tokens, "completion_tokens": used.output_tokens}
    return reply_of(message, counts, response.finish_reason)
