"""The conversation that a model is shown: earlier calls with results, choices of people, what was
wrong last. Pure.

With tools the earlier calls are there as the provider had them; without, as text: some providers
refuse calls then, and small models that see calls go on calling. Messages of the user in a row are
joined, as some templates demand.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint.runtime.store.rows import local
from haltpoint_planner.exchange import Message
from haltpoint_planner.own_messages import called, fresh_ids, sent_back
from haltpoint_planner.prompting.context import Context, Receipt
from haltpoint_planner.prompting.fitting import cut_text, pretty
from haltpoint_planner.prompting.results import MARK, shown
from haltpoint_planner.prompting.turns import Turn, turns_of

_QUOTED: Final = 600
"""Characters of a rejected reply that are shown to the model again."""
_FOUND: Final = 12_000
"""Characters of what a step found out."""


def messages(system: str, context: Context, task: str, last: str) -> tuple[Message, ...]:
    """The whole conversation: `system`, `task`, the turns so far, and `last`."""
    fresh = fresh_ids()
    history = [*_history(context, fresh), *_corrections(context, fresh)]
    begin, end = [_says("system", system), _says("user", task)], _says("user", last)
    return _joined([*begin, *history, end])


def corrected(system: str, context: Context, task: str, form: str) -> tuple[Message, ...]:
    """A question that no result is shown for, and what was wrong with the reply to it; `form` is
    what it has to be.
    """
    history = list(_corrections(context, fresh_ids()))
    end = [_says("user", form)] if context.request.corrections else []
    return _joined([_says("system", system), _says("user", task), *history, *end])


def _joined(spoken: list[Message]) -> tuple[Message, ...]:
    """The messages; those of the user in a row are one."""
    joined = spoken[:1]
    for message in spoken[1:]:
        if message["role"] == "user" == joined[-1]["role"]:
            before = joined.pop()["content"]
            joined.append(_says("user", f"{before}\n\n{message['content']}"))
        else:
            joined.append(message)
    return tuple(joined)


def _says(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _history(context: Context, fresh: Iterator[str]) -> Iterator[Message]:
    """Earlier calls and results as a conversation, each choice of a person said plainly where it
    was made (B4).
    """
    for step_id, words in context.findings:
        yield _says("user", f"Found out in step {step_id}:\n{cut_text(words, _FOUND)}")
    texts = shown(context.receipts, context.for_results)
    receipts = [
        replace(receipt, text=text) for receipt, text in zip(context.receipts, texts, strict=True)
    ]
    for turn in turns_of(receipts, context.owned):
        if not context.tools:
            yield from _as_text(turn)
        elif turn.own is None:
            yield from _as_call(turn.receipts[0], next(fresh))
        else:
            yield from _as_it_came(turn, sent_back(turn.own, context.by, fresh))
        for receipt in turn.receipts:
            yield from _choice(receipt, context)


def _as_text(turn: Turn) -> Iterator[Message]:
    for receipt in turn.receipts:
        told = f"{receipt.tool} was called with {receipt.arguments or '{}'}."
        yield _says("user", f"{told} Its result:\n{receipt.text}")


def _as_call(receipt: Receipt, name: str) -> Iterator[Message]:
    call = called({"name": receipt.tool, "arguments": receipt.arguments}, name)
    yield {"role": "assistant", "content": "", "tool_calls": [call]}
    yield _result(call, receipt.text)


def _as_it_came(turn: Turn, message: Message) -> Iterator[Message]:
    """The provider's own message, and what became of each of its calls."""
    yield message
    receipts = turn.by_call()
    ran = [place for place, receipt in enumerate(receipts) if receipt is not None]
    for place, (call, receipt) in enumerate(zip(message["tool_calls"], receipts, strict=True)):
        # One before a call that ran did not wait for its turn: it was refused.
        why = "refused" if ran and place < ran[-1] else turn.not_started
        yield _result(call, f"not started: {why}" if receipt is None else receipt.text)


def _result(call: Message, text: str) -> Message:
    name = call["function"]["name"]
    return {"role": "tool", "tool_call_id": call["id"], "name": name, "content": text}


def _choice(receipt: Receipt, context: Context) -> Iterator[Message]:
    chosen = _chosen(receipt.tool, receipt.data)
    if not chosen:
        return
    known = " So this is known and is not looked up again: use this id exactly as it stands."
    text = f"A person was asked which one is meant and chose {chosen}."
    yield _says("user", f"{text}{known if context.tools else ''}")


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


def _corrections(context: Context, fresh: Iterator[str]) -> Iterator[Message]:
    """The rejected reply, what was wrong with it, and the exact form (C6, D1)."""
    request = context.request
    if request.answered is not None:
        yield _says("assistant", cut_text(context.previous, _QUOTED))
        yield _says("user", request.answered)
    if not request.corrections:
        return
    yield from _rejected(context, fresh)
    lines = [f"- {one.message} {one.form}".rstrip() for one in request.corrections]
    yield _says("user", "\n".join(["Your reply was not accepted:", *lines]))


def _rejected(context: Context, fresh: Iterator[str]) -> Iterator[Message]:
    """The reply that the corrections are about. One of which calls ran is in the history."""
    own = context.owned.get(local(context.request.previous or ""))
    if own is None or not context.tools:
        yield _says("assistant", cut_text(context.previous, _QUOTED) or "(no reply)")
    elif all(turn.own is not own for turn in turns_of(context.receipts, context.owned)):
        yield from _as_it_came(Turn(own, ()), sent_back(own, context.by, fresh))
