"""The conversation that a model is shown: earlier calls with results, choices of people, what was
wrong last. Pure.

With tools the earlier calls stand there as calls; without, as text: some providers refuse calls
then, and small models that see calls go on calling. Messages of the user in a row are joined, as
some templates demand.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint.contracts.work.thoughts import ThoughtKind
from haltpoint_planner.exchange import Message
from haltpoint_planner.prompting.context import Context
from haltpoint_planner.prompting.results import MARK, beginning, pretty, shown

BOUNDS_FORM: Final = (
    '{"required_tools": [], "optional_tools": [], "ask_before": [], '
    '"forbidden": [], "conditions": []}'
)
_QUOTED: Final = 600  # characters of a rejected reply that are shown to the model again


def messages(system: str, context: Context, task: str, last: str = "") -> tuple[Message, ...]:
    """The whole conversation: `system`, `task`, the turns so far, and `last` if there were any."""
    history = [_says("user", task), *_history(context), *_corrections(context)]
    if last and len(history) > 1:
        history.append(_says("user", last))
    joined: list[Message] = [_says("system", system)]
    for message in history:
        if message["role"] == "user" and joined[-1]["role"] == "user":
            joined[-1] = _says("user", f"{joined[-1]['content']}\n\n{message['content']}")
        else:
            joined.append(message)
    return tuple(joined)


def _says(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _history(context: Context) -> Iterator[Message]:
    """Earlier calls and results as a conversation, each choice of a person said plainly where it
    was made (B4).
    """
    for step_id, words in context.findings:
        yield _says("user", f"Found out in step {step_id}:\n{beginning(words)}")
    for number, (receipt, result) in enumerate(
        zip(context.receipts, shown(context.receipts), strict=True), start=1
    ):
        arguments = receipt.arguments or "{}"
        if context.tools:
            function = {"name": receipt.tool, "arguments": arguments}
            call = {"id": f"call_{number}", "type": "function", "function": function}
            yield {"role": "assistant", "content": "", "tool_calls": [call]}
            yield {
                "role": "tool",
                "tool_call_id": f"call_{number}",
                "name": receipt.tool,
                "content": result,
            }
        else:
            yield _says(
                "user", f"{receipt.tool} was called with {arguments}. Its result:\n{result}"
            )
        if chosen := _chosen(receipt.tool, receipt.data):
            so = (
                " So this is known now and is not looked up again: go on with this id, "
                "exactly as it stands."
            )
            yield _says(
                "user",
                "A person was asked which one is meant and chose "
                f"{chosen}.{so if context.tools else ''}",
            )


@lru_cache(maxsize=512)
def _chosen(tool: str, data: str) -> str:
    """What a person chose of the things that this result offered; empty when no person was
    asked.
    """
    # What they said to a question in words (B5) is the result itself, and names nothing.
    if tool == ASK_HUMAN or '"selected"' not in data:
        return ""
    try:
        selected = json.loads(data or "{}")["selected"]
        return pretty({"id": selected["id"], "title": selected["title"], "title_is": MARK})
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _corrections(context: Context) -> Iterator[Message]:
    """The rejected reply, what was wrong with it, and the exact form (C6, D1)."""
    previous = context.previous[:_QUOTED]
    if context.request.answered is not None:
        yield _says("assistant", previous)
        yield _says("user", context.request.answered)
    if not context.request.corrections:
        return
    yield _says("assistant", previous or "(no reply)")
    lines = [f"- {one.message} {one.form}".rstrip() for one in context.request.corrections]
    if context.request.kind is ThoughtKind.PLAN:
        form = '{"steps": [...]}' if context.bounds_known else '{"bounds": {...}, "steps": [...]}'
        lines.append(f"Answer again with the whole plan as one JSON object: {form}")
    if context.request.kind is ThoughtKind.BOUNDS:
        lines.append(f"Answer again with one JSON object: {BOUNDS_FORM}")
    yield _says("user", "\n".join(["Your reply was not accepted:", *lines]))
