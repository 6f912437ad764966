"""What one program reads as this and another as that comes in by no door; in a tool's result, whose
effect has happened, it becomes text.
"""

import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from faststream.redis import BinaryMessageFormatV1
from pydantic import ValidationError

from haltpoint.chain.model.schemas import argument_faults, read_arguments
from haltpoint.cli.answering import NotUnderstoodError, understand
from haltpoint.cli.task import context_of, read_json
from haltpoint.contracts.catalogue import Stream
from haltpoint.contracts.strict_json import read_strictly
from haltpoint.contracts.tools import ToolSpec
from haltpoint.faststream import TaskSubmitted
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.toml_file import TomlFile
from haltpoint.runtime.streams.wire import Rejected, decode, read_foreign
from haltpoint.tools import DeclarationError, register
from haltpoint_planner.drafting import draft_proposal
from haltpoint_planner.exchange import NativeCall, Reply
from haltpoint_planner.parsing.completions import read_reply
from haltpoint_tool_worker.results.outcomes import read_result
from haltpoint_tool_worker.skills import SkillError, split
from tests.support.builders import spec, specs
from tests.unit.cli.test_asking import question

VALUES = {
    "NaN": ("NaN", "NaN"),
    "Infinity": ("-Infinity", "Infinity"),
    "1e999": ("1e999", "too large: 1e999"),
    "4,000 digits": ("9" * 4000, "4000 digits"),
    "5,000 digits": ("9" * 5000, "5000 digits"),
    "a key twice": ('1, "name": 2', "'name' twice"),
    "a key twice, deep": ('[{"a": 1, "\\u0061": 2}]', "'a' twice"),
    "half of a character": ('"\\ud83d"', "half of a character"),
}
"""What is put behind `"name":`, and how its fault is named."""

Door = Callable[[str, Path], str | Awaitable[str]]
"""Brings `{"name": ...}` to a door; what it answers. A door that takes it answers nothing."""


def document(value: str) -> str:
    return f'{{"name": {value}}}'


def task_message(value: str) -> bytes:
    data = f'{{"goal": "x", "context": {document(value)}}}'
    text = f'{{"type": "task.submitted.v1", "id": "k", "source": "shop", "data": {data}}}'
    return text.encode()


def of_stream(data: bytes) -> str:
    """What an executor makes of an entry of another program."""
    fields = {b"__data__": data}
    read = decode(Stream.EVENTS, fields)
    if isinstance(read, Rejected):
        read = read_foreign("hp:{0}:events", "17-0", fields, read)
    return f"{read.reason}: {read.detail}" if isinstance(read, Rejected) else ""


def own_format(value: str, _: Path) -> str:
    return of_stream(task_message(value))


def bare_task(value: str, _: Path) -> str:
    return of_stream(f'{{"goal": "x", "context": {document(value)}}}'.encode())


async def faststream(value: str, _: Path) -> str:
    return of_stream(
        await BinaryMessageFormatV1.encode(
            message=task_message(value), reply_to=None, headers={}, correlation_id="c"
        )
    )


def refusal_of(read: Callable[[], object]) -> str:
    try:
        read()
    except (HaltpointError, NotUnderstoodError, SkillError) as error:
        return str(error)
    return ""


def file_of_the_command_line(value: str, folder: Path) -> str:
    (folder / "plan.json").write_text(document(value))
    return refusal_of(lambda: read_json(folder / "plan.json"))


def context_of_the_command_line(value: str, _: Path) -> str:
    return refusal_of(lambda: context_of(document(value)))


def answer_at_the_prompt(value: str, _: Path) -> str:
    return refusal_of(lambda: understand(question("confirmation"), f"approve {document(value)}"))


def proposed(reply: Reply | None) -> str:
    assert reply is not None
    proposal = draft_proposal(reply, specs(spec("find")), due=True)
    assert not proposal.calls
    return proposal.faults[0]


def words_of_a_model(value: str, _: Path) -> str:
    return proposed(Reply(f'{{"tool": "find", "arguments": {document(value)}}}'))


def arguments_of_a_model(value: str, _: Path) -> str:
    return proposed(Reply("", (NativeCall("find", document(value)),)))


def arguments_as_an_object(value: str, _: Path) -> str:
    call = f'{{"id": "1", "function": {{"name": "find", "arguments": {document(value)}}}}}'
    message = f'{{"role": "assistant", "tool_calls": [{call}]}}'
    choices = f'[{{"finish_reason": "stop", "message": {message}}}]'
    return proposed(read_reply(f'{{"choices": {choices}}}'))


DOORS: dict[str, Door] = {
    door.__name__: door
    for door in (
        own_format,
        bare_task,
        faststream,
        file_of_the_command_line,
        context_of_the_command_line,
        answer_at_the_prompt,
        words_of_a_model,
        arguments_of_a_model,
        arguments_as_an_object,
    )
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", VALUES)
async def test_no_door_takes_what_others_read_as_something_else(
    name: str, door: str, tmp_path: Path
) -> None:
    value, words = VALUES[name]
    answer = DOORS[door](value, tmp_path)
    answer = answer if isinstance(answer, str) else await answer
    in_other_words = ("bad_json", "it has Infinity")
    assert any(said in answer for said in (words, *in_other_words))


@pytest.mark.parametrize("value", [".nan", "-.inf", "1.0e+999", "9" * 4000, "1\nname: 2"])
def test_no_skill_has_what_json_cannot_say(value: str) -> None:
    with pytest.raises(SkillError, match="it has"):
        split(f"---\nname: {value}\n---\n")


@pytest.mark.parametrize("value", ["nan", "-inf", "1e999", "9" * 4000, "1\nsigns = 2"])
def test_no_file_of_an_operator_has_what_json_cannot_say(value: str, tmp_path: Path) -> None:
    file = tmp_path / "file.toml"
    file.write_text(f"signs = {value}\n")
    kind = TomlFile("HP-018", "the file", "Correct it")
    with pytest.raises(HaltpointError, match=r"cannot be used: (it has|it is not TOML)"):
        kind.checked(file, kind.read(file), dict)


@pytest.mark.parametrize("value", [math.nan, math.inf, 10**4000, [1, {"a": -math.inf}]])
async def test_no_program_sends_it(value: object) -> None:
    with pytest.raises(ValidationError, match="it has"):
        TaskSubmitted.model_validate({"data": {"goal": "x", "context": {"a": value}}})


def test_a_text_is_not_read_as_a_number_that_no_program_knows() -> None:
    count = ToolSpec("count", parameters={"properties": {"n": {"type": "integer"}}})
    given = {"n": "9" * 4000}
    assert read_arguments(count, given) == given
    assert "whole number" in argument_faults(count, given)[0]


@pytest.mark.parametrize("value", [math.nan, math.inf, 10**400])
def test_no_schema_of_a_tool_has_it(value: Any) -> None:
    def wait(seconds: float | int = value) -> None: ...

    with pytest.raises(DeclarationError):
        register(wait)


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ({"a": math.nan, "b": None}, {"a": "NaN", "b": None}),
        ({"a": [-math.inf, 1.5]}, {"a": ["-Infinity", 1.5]}),
        ({"a": 10**400}, {"a": "1" + "0" * 400}),
        ({"a": {1: "x", "1": "y"}}, {"a": '[["1","x"],["1","y"]]'}),
    ],
)
@pytest.mark.parametrize("whole", [False, True])
def test_h3_in_a_result_it_becomes_text_with_a_warning(
    value: dict[str, Any], data: dict[str, Any], whole: bool
) -> None:
    def act() -> Any: ...

    said = {"success": True, "next_action": "continue", "data": value} if whole else value
    reading = read_result(register(act), said)
    assert reading.cause is None
    assert read_strictly(reading.data) == data
    assert "are texts" in reading.outcome.warnings[0]
