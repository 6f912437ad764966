"""Any model of pydantic-ai: `provider` of the settings, or of a section of the agents file, with
haltpoint[providers].

The only file that knows pydantic-ai. It is imported when a model of it is asked for, since it is an
extra, and what its providers need comes in packages of their own. Its own form of a reply is kept
whole in a field of the message, and goes back as it came.
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final, cast

from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.work.thoughts import Usage
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint_planner.connections import goes_directly, without_proxies
from haltpoint_planner.exchange import Finish, Message, NativeCall, Reply
from haltpoint_planner.model import Body, PassingError, RefusedError
from haltpoint_planner.servers import Server, own_words

if TYPE_CHECKING:
    import pydantic_ai
    from pydantic_ai import ModelMessage, ModelRequestPart, ModelResponse
    from pydantic_ai.models import Model as ProviderModel
    from pydantic_ai.models import ModelRequestParameters

OWN: Final = "pydantic_ai"
"""The field of a message that holds it in pydantic-ai's form."""
_FINISHES: Final = {"length": Finish.LENGTH, "content_filter": Finish.FILTER}
_KEY_REJECTED: Final = frozenset({401, 403})
_REFUSED: Final = frozenset({400, 413, 422})
_PASSES: Final = frozenset({408, 409, 425, 429})
_FAILING: Final = 500
_SETTINGS: Final = ("temperature", "max_tokens", "tool_choice")


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

    # Its test model has no name: it is for trying out an agents file without any key.
    is_test = settings.provider == "test"
    name = "test" if is_test else f"{settings.provider}:{settings.name}"
    is_direct = settings.base_url is not None and goes_directly(settings.base_url)
    try:
        with without_proxies() if is_direct else nullcontext():
            model = infer_model(name, provider) if given else infer_model(name)
    except ImportError as error:
        package = f"pydantic-ai-slim[{settings.provider}]"
        if "SOCKS" in str(error):  # httpx names its extra, for a proxy of the shell
            package = "httpx2[socks]"
        raise server.error("HP-310", str(error), f"Run: pip install '{package}'") from error
    except (TypeError, ValueError) as error:  # no such provider, or none that takes what is given
        raise server.error("HP-310", str(error)) from error
    except UserError as error:
        is_unknown = str(error).startswith("Unknown model")
        raise server.error("HP-310" if is_unknown else "HP-303", str(error)) from error
    return Provided(model, settings, server)


class Provided:
    """The `Send` of one model of pydantic-ai."""

    def __init__(self, model: "ProviderModel", settings: ModelSettings, server: Server) -> None:
        self._model = model
        self._settings = settings
        self._server = server

    async def send(self, body: Body, request: ThoughtRequest) -> Reply:
        """See `Send`."""
        from pydantic_ai.exceptions import ModelAPIError, UnexpectedModelBehavior, UserError

        try:
            return _reply(await self._streamed(body))
        except TimeoutError as error:
            raise PassingError(self._server.too_slow(self._settings.silence, "silence")) from error
        except ModelAPIError as error:
            raise self._failure(error) from error
        except UserError as error:
            raise RefusedError(self._server.error("HP-304", str(error)), str(error)) from error
        except UnexpectedModelBehavior as error:
            raise self._server.error("HP-306", str(error)) from error

    async def _streamed(self, body: Body) -> "ModelResponse":
        from pydantic_ai.direct import model_request_stream

        async with model_request_stream(
            self._model,
            list(_history(body["messages"])),
            model_settings=_settings(body),
            model_request_parameters=self._parameters(body),
        ) as stream:
            events = aiter(stream)
            event: object = stream
            while event is not None:
                async with asyncio.timeout(self._settings.silence):
                    event = await anext(events, None)
            return stream.get()

    def _parameters(self, body: Body) -> "ModelRequestParameters":
        """The tools; without any the form of the answer where the model takes one: the prompt has
        it in words, too.
        """
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition
        from pydantic_ai.tools import ToolDefinition

        functions = [tool["function"] for tool in body.get("tools", ())]
        if functions:
            tools = [
                ToolDefinition(
                    name=function["name"],
                    description=function.get("description"),
                    parameters_json_schema=function["parameters"],
                )
                for function in functions
            ]
            return ModelRequestParameters(function_tools=tools)
        takes_one = self._model.profile.get("supports_json_schema_output", False)
        if "response_format" not in body or not takes_one:
            return ModelRequestParameters()
        form = body["response_format"]["json_schema"]
        wanted = OutputObjectDefinition(form["schema"], name=form["name"], strict=True)
        return ModelRequestParameters(output_mode="native", output_object=wanted)

    def _failure(self, error: "pydantic_ai.exceptions.ModelAPIError") -> Exception:
        """What an error of the provider is here."""
        from pydantic_ai import exceptions

        status = error.status_code if isinstance(error, exceptions.ModelHTTPError) else 0
        words = own_words(error.body) or str(error)
        if isinstance(error, exceptions.ModelConnectionError):
            return PassingError(self._server.error("HP-302", words))
        if isinstance(error, exceptions.ModelAuthenticationError) or status in _KEY_REJECTED:
            return self._server.error("HP-303", words)
        if isinstance(error, exceptions.ModelQuotaExceededError):
            return self._server.error("HP-305", words)
        passes = (
            exceptions.ModelRateLimitError
            | exceptions.ModelUnavailableError
            | exceptions.ModelServerError
        )
        is_unknown = not status and not isinstance(error, exceptions.ModelRequestRejectedError)
        if isinstance(error, passes) or is_unknown or status in _PASSES or status >= _FAILING:
            return PassingError(self._server.error("HP-305", words), error.retry_after or 0.0)
        told = self._server.error("HP-304", words)
        return RefusedError(told, words) if status in _REFUSED else told


def _settings(body: Body) -> "pydantic_ai.ModelSettings":
    given = {name: body[name] for name in _SETTINGS if name in body}
    return cast("pydantic_ai.ModelSettings", given | {"max_retries": 0})  # a thought rests


def _history(messages: Sequence[Message]) -> Iterator["ModelMessage"]:
    """The conversation as pydantic-ai has it: what is said to the model between two replies is one
    request.
    """
    from pydantic_ai import ModelRequest

    said: list[ModelRequestPart] = []
    names: dict[str, str] = {}
    for message in messages:
        if message["role"] != "assistant":
            said.append(_part(message, names))
            continue
        if said:
            yield ModelRequest(said)
            said = []
        calls = message.get("tool_calls") or ()
        names |= {call["id"]: call["function"]["name"] for call in calls}
        yield _earlier(message)
    if said:
        yield ModelRequest(said)


def _part(message: Message, names: dict[str, str]) -> "ModelRequestPart":
    """`names` are the tools of the calls so far, by id."""
    from pydantic_ai import SystemPromptPart, ToolReturnPart, UserPromptPart

    text = message["content"]
    match message["role"]:
        case "system":
            return SystemPromptPart(text)
        case "tool":
            call = message["tool_call_id"]
            return ToolReturnPart(names.get(call, ""), text, call)
        case _:
            return UserPromptPart(text)


def _earlier(message: Message) -> "ModelResponse":
    """What the model said before: as it came, or else its words and calls."""
    from pydantic_ai import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    if OWN in message:
        (response,) = ModelMessagesTypeAdapter.validate_python([message[OWN]])
        if isinstance(response, ModelResponse):
            return response
    parts: list[TextPart | ToolCallPart] = []
    if message.get("content"):
        parts.append(TextPart(message["content"]))
    for call in message.get("tool_calls") or ():
        function = call["function"]
        parts.append(ToolCallPart(function["name"], function["arguments"], call["id"]))
    return ModelResponse(parts)


def _reply(response: "ModelResponse") -> Reply:
    """Words and calls of a response; its thoughts stay in the message."""
    from pydantic_ai import TextPart, ToolCallPart

    words = "\n".join(part.content for part in response.parts if isinstance(part, TextPart))
    parts = [part for part in response.parts if isinstance(part, ToolCallPart)]
    calls = tuple(NativeCall(part.tool_name, part.args, part.tool_call_id) for part in parts)
    used = response.usage
    usage = Usage(input_tokens=used.input_tokens, output_tokens=used.output_tokens)
    finish = _FINISHES.get(response.finish_reason or "", Finish.STOP)
    return Reply(words, calls, usage, finish, _message(response, words, calls))


def _message(response: "ModelResponse", words: str, calls: Sequence[NativeCall]) -> Message:
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    (own,) = ModelMessagesTypeAdapter.dump_python([response], mode="json")
    message: Message = {"role": "assistant", "content": words, OWN: own}
    if calls:
        message["tool_calls"] = [_call(call) for call in calls]
    return message


def _call(call: NativeCall) -> dict[str, Any]:
    """A call in the form of chat completions."""
    given = call.arguments
    arguments = given if isinstance(given, str) else json.dumps(given or {})
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}
