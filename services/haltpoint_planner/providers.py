"""Any model of pydantic-ai behind our port: `provider` of a section of the agents file, with
haltpoint[providers].

The only file that knows pydantic-ai. It is imported when a model of it is asked for, since it is an
extra, and what its providers need comes in packages of their own.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pydantic import SecretStr

from haltpoint.contracts.commands import ThoughtRequest
from haltpoint.contracts.work.agents import ModelEndpoint
from haltpoint.contracts.work.thoughts import Usage
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint_planner.connections import goes_directly, without_proxies
from haltpoint_planner.exchange import Finish, Message, NativeCall, Prompt, Reply
from haltpoint_planner.model import PassingError, patiently, seconds_left

if TYPE_CHECKING:
    from pydantic_ai import ModelMessage, ModelRequestPart, ModelResponse, ModelSettings
    from pydantic_ai.exceptions import ModelAPIError
    from pydantic_ai.models import Model as ProviderModel
    from pydantic_ai.models import ModelRequestParameters

_FINISHES: Final = {"length": Finish.LENGTH, "content_filter": Finish.FILTER}
_SHOWN: Final = 300  # characters of a provider's own words in an error
_ERRORS: Final = {
    "HP-302": ("cannot be reached", "Check the network, and base_url of [models.{section}]"),
    "HP-303": (
        "rejects the key",
        "Check api_key_env of [models.{section}], or the provider's own variable",
    ),
    "HP-304": ("rejects the request", "Check provider and name of [models.{section}]"),
    "HP-305": ("answered with an error", "Try again later, or use another model"),
    "HP-306": ("did not reply with something to read", "Try again, or use another model"),
    "HP-307": ("got no request in time", "Give the task more time"),
    "HP-310": ("cannot be used", "Correct provider of [models.{section}]"),
}
"""What the provider does, and what fixes it."""


def provided(section: str, endpoint: ModelEndpoint, key: SecretStr | None) -> "ProviderPort":
    """The port to the model of a section that names a provider. Raises HaltpointError HP-310 when
    pydantic-ai, or what the provider needs, is not installed, or when there is no such provider;
    HP-303 when it has no key.
    """
    about = _About(section, endpoint.provider or "", key)
    try:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
        from pydantic_ai.providers import infer_provider_class
    except ImportError as error:
        fix = "Run: pip install 'haltpoint[providers]'"
        raise about.error("HP-310", "pydantic-ai is not installed", fix) from error
    direct = endpoint.base_url is not None and goes_directly(endpoint.base_url)
    given = {"api_key": key and key.get_secret_value(), "base_url": endpoint.base_url}
    given = {name: said for name, said in given.items() if said}

    def provider(name: str) -> Any:
        return infer_provider_class(name)(**given)

    # Its test model has no name: it is for trying out an agents file without any key.
    name = "test" if endpoint.provider == "test" else f"{endpoint.provider}:{endpoint.name}"
    try:
        with without_proxies() if direct else nullcontext():
            found = infer_model(name, provider) if given else infer_model(name)
    except ImportError as error:
        raise about.error(
            "HP-310", str(error), f"Run: pip install 'pydantic-ai-slim[{endpoint.provider}]'"
        ) from error
    except (TypeError, ValueError) as error:  # no such provider, or none that takes what is given
        raise about.error("HP-310", str(error)) from error
    except UserError as error:
        raise about.error(
            "HP-310" if str(error).startswith("Unknown model") else "HP-303", str(error)
        ) from error
    return ProviderPort(found, about, endpoint)


class _About:
    """Which section, provider and key a model has, for its errors."""

    def __init__(self, section: str, provider: str, key: SecretStr | None) -> None:
        self._section = section
        self._provider = provider
        self._key = key

    def error(self, code: str, why: str, fix: str = "") -> HaltpointError:
        """An error of the provider, whose words may repeat the key."""
        does, usually = _ERRORS[code]
        if self._key is not None and self._key.get_secret_value():
            why = why.replace(self._key.get_secret_value(), "***")
        why = " ".join(why.split())[:_SHOWN].rstrip(".")
        what = f"the model's provider {self._provider} {does}"
        return HaltpointError(code, what, why, fix or usually.format(section=self._section))


class ProviderPort:
    """One model of pydantic-ai. `pause`: seconds before the first retry, doubled each time up to a
    minute.
    """

    def __init__(
        self, model: "ProviderModel", about: _About, endpoint: ModelEndpoint, *, pause: float = 0.5
    ) -> None:
        self._model = model
        self._about = about
        self._endpoint = endpoint
        self._pause = pause

    async def ask(self, name: str, prompt: Prompt, request: ThoughtRequest) -> Reply:
        """The reply of the model. Raises HaltpointError HP-302 to HP-307 when it cannot be had."""
        return await patiently(partial(self._once, name, prompt, request), request, self._pause)

    async def _once(self, name: str, prompt: Prompt, request: ThoughtRequest) -> Reply:
        from pydantic_ai.direct import model_request
        from pydantic_ai.exceptions import ModelAPIError, UnexpectedModelBehavior, UserError

        left = seconds_left(request)
        if left <= 0:
            raise self._about.error("HP-307", "the deadline has passed")
        seconds = min(self._endpoint.timeout, left)
        # A model that said the wrong thing would say it again: the second time it may vary.
        settings: ModelSettings = {
            "max_tokens": self._endpoint.max_tokens,
            "temperature": 0 if request.attempt == 1 else 0.4,
        }
        if prompt.tools:
            settings["tool_choice"] = "required" if prompt.force else "auto"
        try:
            async with asyncio.timeout(seconds):
                response = await model_request(
                    self._model,
                    list(_history(prompt.messages)),
                    model_settings=settings,
                    model_request_parameters=self._parameters(prompt, request),
                )
        except TimeoutError as error:
            raise PassingError(
                self._about.error("HP-302", f"no answer within {seconds:g} s")
            ) from error
        except ModelAPIError as error:
            code, passing = _kind_of(error)
            told = self._about.error(code, str(error))
            raise (PassingError(told, error.retry_after) if passing else told) from error
        except (UserError, UnexpectedModelBehavior) as error:
            code = "HP-304" if isinstance(error, UserError) else "HP-306"
            raise self._about.error(code, str(error)) from error
        return _reply(response, name)

    def _parameters(self, prompt: Prompt, request: ThoughtRequest) -> "ModelRequestParameters":
        """The tools; without any the form of the answer where the model takes one: the prompt has
        it in words, too.
        """
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition
        from pydantic_ai.tools import ToolDefinition

        functions = [tool["function"] for tool in prompt.tools]
        if functions:
            tools = [
                ToolDefinition(
                    name=one["name"],
                    description=one["description"],
                    parameters_json_schema=one["parameters"],
                )
                for one in functions
            ]
            return ModelRequestParameters(function_tools=tools)
        if prompt.schema is None or not self._model.profile.get(
            "supports_json_schema_output", False
        ):
            return ModelRequestParameters()
        form = OutputObjectDefinition(prompt.schema, name=request.kind.value, strict=True)
        return ModelRequestParameters(output_mode="native", output_object=form)


def _kind_of(error: "ModelAPIError") -> tuple[str, bool]:
    """The code of a provider's error, and whether it may be gone the next time."""
    from pydantic_ai import exceptions

    status = error.status_code if isinstance(error, exceptions.ModelHTTPError) else 0
    if isinstance(error, exceptions.ModelConnectionError | exceptions.ModelRequestTimeout):
        return "HP-302", True
    if isinstance(error, exceptions.ModelAuthenticationError) or status in (401, 403):
        return "HP-303", False
    if isinstance(error, exceptions.ModelQuotaExceededError):
        return "HP-305", False
    passing = (
        exceptions.ModelRateLimitError
        | exceptions.ModelUnavailableError
        | exceptions.ModelServerError
    )
    if isinstance(error, passing) or status in (408, 409, 425, 429) or status >= 500:
        return "HP-305", True
    return "HP-304" if status or isinstance(
        error, exceptions.ModelRequestRejectedError
    ) else "HP-305", False


def _history(messages: Sequence[Message]) -> Iterator["ModelMessage"]:
    """The conversation as pydantic-ai has it: what is said to the model between two replies is one
    request.
    """
    from pydantic_ai import ModelRequest

    said: list[ModelRequestPart] = []
    for message in messages:
        if message["role"] != "assistant":
            said.append(_part(message))
            continue
        if said:
            yield ModelRequest(said)
            said = []
        yield _earlier(message)
    if said:
        yield ModelRequest(said)


def _part(message: Message) -> "ModelRequestPart":
    from pydantic_ai import SystemPromptPart, ToolReturnPart, UserPromptPart

    text = message["content"]
    match message["role"]:
        case "system":
            return SystemPromptPart(text)
        case "tool":
            return ToolReturnPart(message["name"], text, message["tool_call_id"])
        case _:
            return UserPromptPart(text)


def _earlier(message: Message) -> "ModelResponse":
    """What the model said before: words, or calls."""
    from pydantic_ai import ModelResponse, TextPart, ToolCallPart

    calls: list[Mapping[str, Any]] = message.get("tool_calls", [])
    if not calls:
        return ModelResponse([TextPart(message["content"])])
    functions = [(call["id"], call["function"]) for call in calls]
    return ModelResponse(
        [ToolCallPart(one["name"], one["arguments"], name) for name, one in functions]
    )


def _reply(response: "ModelResponse", name: str) -> Reply:
    """Words and calls of a response; its thoughts are left out."""
    from pydantic_ai import TextPart, ToolCallPart

    words = "\n".join(part.content for part in response.parts if isinstance(part, TextPart))
    calls = tuple(
        NativeCall(part.tool_name, part.args, part.tool_call_id)
        for part in response.parts
        if isinstance(part, ToolCallPart)
    )
    used = response.usage
    usage = Usage(input_tokens=used.input_tokens, output_tokens=used.output_tokens, model=name)
    finish = _FINISHES.get(response.finish_reason or "", Finish.STOP)
    return Reply(words, calls, usage, finish)
