# ruff: noqa: E501 - a table
"""What models say, and what it means: (name, words, expected). One line of the corpus is one habit of some model."""

from typing import Any

from haltpoint.contracts.plans import Call
from haltpoint.contracts.thoughts import Proposal, StepDecision

LOOKUP = Call(tool="lookup_contacts", arguments={"query": "John"})
SEND = Call(tool="send_message", arguments={"recipient_id": "user_abc123", "content": "hi"})
FAIL = StepDecision.FAIL


def says(*calls: Call, content: str = "", **more: Any) -> Proposal:
    return Proposal(content=content, calls=calls, **more)


BARE = '{"name": "lookup_contacts", "arguments": {"query": "John"}}'
ENVELOPE = '{"toolCalls": [{"toolName": "lookup_contacts", "arguments": {"query": "John"}}]}'

PROPOSALS: list[tuple[str, str, Proposal]] = [
    ("nothing", "", says()),
    ("blanks", " \n\t ", says()),
    ("prose", "I will look John up.", says(content="I will look John up.")),
    ("prose with braces", "Use {name} and [1] as usual.", says(content="Use {name} and [1] as usual.")),
    ("prose with an apostrophe", "It's {done}, isn't it?", says(content="It's {done}, isn't it?")),
    ("prose that names a tool", "I called lookup_contacts.", says(content="I called lookup_contacts.")),
    ("a list of sources", '["a.txt", "b.txt"]', says(content='["a.txt", "b.txt"]')),
    ("data, no proposal", '{"rows": 3, "mean": 1.5}', says(content='{"rows": 3, "mean": 1.5}')),
    ("a person, no call", '{"name": "John", "age": 3}', says(content='{"name": "John", "age": 3}')),
    ("a number", "42", says(content="42")),
    ("null", "null", says(content="null")),
    ("bare call", BARE, says(LOOKUP)),
    ("bare call, padded", f"\n\n  {BARE}\n", says(LOOKUP)),
    ("call in a list", f"[{BARE}]", says(LOOKUP)),
    ("camelCase envelope", ENVELOPE, says(LOOKUP)),
    ("snake_case", '{"tool_calls": [{"tool_name": "lookup_contacts", "args": {"query": "John"}}]}', says(LOOKUP)),
    ("tool and parameters", '{"tool": "lookup_contacts", "parameters": {"query": "John"}}', says(LOOKUP)),
    ("capitals", '{"ToolCalls": [{"Tool": "lookup_contacts", "Arguments": {"query": "John"}}]}', says(LOOKUP)),
    ("hyphens", '{"tool-calls": [{"tool-name": "lookup_contacts", "args": {"query": "John"}}]}', says(LOOKUP)),
    ("one call, no list", '{"toolCalls": {"toolName": "lookup_contacts", "args": {"query": "John"}}}', says(LOOKUP)),
    ("calls", f'{{"calls": [{BARE}]}}', says(LOOKUP)),
    ("no arguments", '{"tool": "list_rooms"}', says(Call(tool="list_rooms"))),
    ("null arguments", '{"tool": "list_rooms", "arguments": null}', says(Call(tool="list_rooms"))),
    ("empty text as arguments", '{"name": "list_rooms", "arguments": ""}', says(Call(tool="list_rooms"))),
    ("arguments as text", r'{"name": "lookup_contacts", "arguments": "{\"query\": \"John\"}"}', says(LOOKUP)),
    ("arguments as text twice", r'{"name": "lookup_contacts", "arguments": "\"{\\\"query\\\": \\\"John\\\"}\""}', says(LOOKUP)),
    ("OpenAI's own shape", r'{"type": "function", "function": {"name": "lookup_contacts", "arguments": "{\"query\": \"John\"}"}}', says(LOOKUP)),
    ("function as a name", '{"function": "lookup_contacts", "arguments": {"query": "John"}}', says(LOOKUP)),
    ("old function_call", '{"function_call": {"name": "lookup_contacts", "arguments": {"query": "John"}}}', says(LOOKUP)),
    ("Anthropic's block", '{"type": "tool_use", "id": "t1", "name": "lookup_contacts", "input": {"query": "John"}}', says(LOOKUP)),
    ("Gemini's part", '{"functionCall": {"name": "lookup_contacts", "args": {"query": "John"}}}', says(LOOKUP)),
    ("namespaced", '{"name": "functions.lookup_contacts", "arguments": {"query": "John"}}', says(LOOKUP)),
    ("fenced", f"```json\n{BARE}\n```", says(LOOKUP)),
    ("fenced without a language", f"```\n{BARE}\n```", says(LOOKUP)),
    ("fence never closed", f"```json\n{BARE}", says(LOOKUP)),
    ("prose before a fence", f"Let me see.\n```json\n{BARE}\n```", says(LOOKUP, content="Let me see.")),
    ("prose after a fence", f"```json\n{BARE}\n```\nThere.", says(LOOKUP, content="There.")),
    ("prose around bare JSON", f"First {BARE} then more.", says(LOOKUP, content="First  then more.")),
    ("fence inside of a text", r'{"content": "Use ```json\n{}\n```"}', says(content="Use ```json\n{}\n```")),
    ("markers", f"---JSON_OUTPUT_START---\n{ENVELOPE}\n---JSON_OUTPUT_END---", says(LOOKUP)),
    ("markers without an end", f"Thus:\n---JSON_OUTPUT_START---\n{ENVELOPE}", says(LOOKUP, content="Thus:")),
    ("what stands outside of the markers", f"As in {{\"tool\": \"x\"}}:\n---JSON_OUTPUT_START---{ENVELOPE}---JSON_OUTPUT_END---", says(LOOKUP, content='As in {"tool": "x"}:')),
    ("fence in markers", f"---JSON_OUTPUT_START---\n```json\n{ENVELOPE}\n```\n---JSON_OUTPUT_END---", says(LOOKUP)),
    ("tool_call tags", f"<tool_call>\n{BARE}\n</tool_call>", says(LOOKUP)),
    ("tag never closed", f"<tool_call>{BARE}", says(LOOKUP)),
    ("two calls in tags", f'<tool_call>{BARE}</tool_call><tool_call>{{"name": "b", "arguments": {{}}}}</tool_call>', says(LOOKUP, Call(tool="b"))),
    ("one call a line", f'{BARE}\n{{"name": "b", "arguments": {{}}}}', says(LOOKUP, Call(tool="b"))),
    ("the same call again and again", "\n".join([BARE] * 5), says(LOOKUP)),
    ("thoughts first", f"<think>Should I call x?</think>{BARE}", says(LOOKUP)),
    ("a call that is only thought", f"<think>{BARE}</think>I am not sure.", says(content="I am not sure.")),
    ("thoughts never closed", f"<think>Perhaps {BARE}", says()),
    ("thoughts never opened", f"Perhaps {BARE}</think>Done.", says(content="Done.")),
    ("thinking", f"<Thinking>hm</Thinking>{BARE}", says(LOOKUP)),
    ("think tags inside of JSON", '{"content": "Write <think> first"}', says(content="Write <think> first")),
    ("content beside calls", f'{{"content": "On it.", "toolCalls": [{BARE}]}}', says(LOOKUP, content="On it.")),
    ("content alone", '{"content": "All done.", "nextStepDecision": "continue"}', says(content="All done.")),
    ("giving up", '{"next_step_decision": "fail", "content": "Nobody is called so."}', says(content="Nobody is called so.", decision=FAIL)),
    ("giving up in camelCase", '{"nextStepDecision": " FAIL "}', says(decision=FAIL)),
    ("an unknown decision", '{"nextStepDecision": "maybe", "content": "x"}', says(content="x")),
    ("unknown fields", f'{{"mood": 1, "toolCalls": [{BARE}], "thoughts": ["a"]}}', says(LOOKUP)),
    ("no calls after all", '{"toolCalls": [], "content": "Nothing to do."}', says(content="Nothing to do.")),
    ("a call without a name", '{"toolCalls": [{"arguments": {}}]}', says(faults=("call 1 names no tool",))),
    ("arguments that are a list", '{"tool": "a", "arguments": [1]}', says(faults=("the arguments of a are not a JSON object within the limits",))),
    ("arguments that are prose", '{"tool": "a", "arguments": "John"}', says(faults=("the arguments of a are not a JSON object within the limits",))),
    ("a line break inside of a text", '{"tool": "a", "arguments": {"q": "x\ny"}}', says(Call(tool="a", arguments={"q": "x\ny"}))),
    ("a trailing comma", '{"tool": "lookup_contacts", "arguments": {"query": "John",}}', says(LOOKUP, repaired=True)),
    ("single quotes", "{'tool': 'lookup_contacts', 'arguments': {'query': 'John'}}", says(LOOKUP, repaired=True)),
    ("bare keys", '{tool: "lookup_contacts", arguments: {query: "John"}}', says(LOOKUP, repaired=True)),
    ("cut off", '{"tool": "lookup_contacts", "arguments": {"query": "John', says(LOOKUP, repaired=True)),
    ("cut off in a fence", '```json\n{"toolCalls": [{"tool": "lookup_contacts", "arguments": {"query": "John"', says(LOOKUP, repaired=True)),
    ("a comment", '{"tool": "lookup_contacts", /* who */ "arguments": {"query": "John"}}', says(LOOKUP, repaired=True)),
    ("a key twice", '{"tool": "x", "tool": "lookup_contacts", "arguments": {"query": "John"}}', says(LOOKUP, repaired=True)),
    ("NaN", '{"tool": "a", "arguments": {"n": NaN}}', says(Call(tool="a", arguments={"n": None}), repaired=True)),
    ("infinity", '{"tool": "a", "arguments": {"n": 1e999}}', says(Call(tool="a", arguments={"n": None}), repaired=True)),
    ("a lone surrogate", r'{"tool": "a", "arguments": {"q": "\ud800x"}}', says(Call(tool="a", arguments={"q": "\ufffdx"}))),
    ("a surrogate pair", r'{"tool": "a", "arguments": {"q": "\ud83d\ude00"}}', says(Call(tool="a", arguments={"q": "😀"}))),
    ("a large integer", '{"tool": "a", "arguments": {"n": 123456789012345678901234567890}}', says(Call(tool="a", arguments={"n": 123456789012345678901234567890}))),
    ("a made-up verb", '{"name": "complete", "content": "sent"}', says(content="sent")),
]  # fmt: skip
