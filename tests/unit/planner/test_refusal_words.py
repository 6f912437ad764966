"""What the words of a refusal are about: the length of a prompt, the key, or a part of it."""

import json

import pytest

from haltpoint.contracts.base import JsonObject
from haltpoint.runtime.config.settings import ModelSettings
from haltpoint_planner.servers import RefusedError, Server, TooLongError

SERVER = Server(ModelSettings(base_url="http://model/v1"))


def failure(body: JsonObject, status: int = 400) -> Exception:
    return SERVER.failure(status, [body], json.dumps(body), 0.0)


LENGTH = """\
This model's maximum prompt length is 6000 but the request contains 9023 tokens.
Input validation error: `inputs` tokens + `max_new_tokens` must be <= 7000.
The decoder prompt (length 9023) is longer than the maximum model length of 6000.
prompt token count of 9023 exceeds the limit of 6000
Prompt exceeds max length
<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 6000]
invalid params, context window exceeds limit (2013)
input length and `max_tokens` exceed context limit: 9000 + 2048 > 10000
Your input exceeds the context window of this model.
too many tokens: total number of tokens (prompt and prediction) cannot exceed 4081
exceeded model token limit: 8192 (requested: 9023)
token sequence length is longer than the specified maximum sequence length
chat history too long"""


@pytest.mark.parametrize("words", LENGTH.splitlines())
def test_a_prompt_is_too_long_in_whatever_words_its_server_says_so(words: str) -> None:
    assert isinstance(failure({"error": {"message": words}}), TooLongError)


PARTS = """\
`max_tokens` must be less than or equal to `1024`, which is less than the `context_window`
max_tokens: 10000 > 8192, which is the maximum allowed number of output tokens
Range of max_tokens should be [1, 8192]
Invalid 'tools[0].function.name': string too long. Expected a maximum length of 64.
Invalid 'messages[3].tool_calls[0].id': string too long. Expected a maximum length of 40.
Input should be less than or equal to 1.5
'messages' must contain the word 'json' in some form
Unexpected role 'user' after role 'tool'"""


@pytest.mark.parametrize("words", PARTS.splitlines())
def test_a_part_that_is_refused_is_no_prompt_that_is_too_long(words: str) -> None:
    assert type(failure({"error": {"message": words}})) is RefusedError
