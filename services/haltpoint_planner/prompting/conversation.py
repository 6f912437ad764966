"""The conversation that a model is shown: earlier calls with results, choices of people, what was
wrong last. Pure.

With tools the earlier calls are there as the provider had them; without, as text: some providers
refuse calls then, and small models that see calls go on calling. What is said to the model behind a
result is in the message of that result, since Mistral takes none of the user there; and messages of
the user in a row are one, as some templates demand.
"""

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from haltpoint.contracts.tools import ASK_HUMAN
from haltpoint.runtime.store.rows import local
from haltpoint_planner.exchange import Message
from haltpoint_planner.own_messages import fresh_ids, sent_back
from haltpoint_planner.prompting.about import with_goal
from haltpoint_planner.prompting.context import Context, Question
from haltpoint_planner.prompting.results import MARK, cut_text, pretty, shown
from haltpoint_planner.prompting.turns import Turn, turns_of

_QUOTED: Final = 600
"""Characters of a rejected reply that are shown to the model again."""
_FOUND: Final = 12_000
"""Characters of what a step found out."""


def messages(question: Question, context: Context) -> Iterator[Message]:
    """The whole conversation; its results have their data still in `DATA`."""
    fresh = fresh_ids()
    yield _says("system", question.system)
    yield _says("user", question.task)
    if not question.is_first:
        yield from _history(question, context, fresh)
    yield from _corrections(question, context, fresh)
    if not question.is_first:
        yield _says("user", with_goal(context, question.last))
    elif context.request.corrections:
        yield _says("user", question.last)


def joined(spoken: Iterable[Message]) -> tuple[Message, ...]:
    """The messages; words to the model that follow others, or a result, are in one with it."""
    whole: list[Message] = []
    for message in spoken:
        if message["role"] == "user" and whole and whole[-1]["role"] in ("user", "tool"):
            whole[-1]["content"] += f"\n\n{message['content']}"
        else:
            whole.append(message)
    return tuple(whole)


def _says(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _history(question: Question, context: Context, fresh: Iterator[str]) -> Iterator[Message]:
    """Earlier calls and results as a conversation, each choice of a person said plainly where it
    was made (B4).
    """
    for step_id, words in context.findings:
        yield _says("user", f"Found out in step {step_id}:\n{cut_text(words, _FOUND)}")
    known = " So this is known and is not looked up again: use this id exactly as it stands."
    for turn in turns_of(context.receipts, context.owned):
        if question.tools:
            yield from _as_it_came(turn, sent_back(turn.own, context.by, fresh))
        for receipt in turn.results.values():
            if not question.tools:
                call = f"{receipt.tool} was called with {receipt.arguments or '{}'}. Its result:"
                yield _says("user", call)
                yield {"role": "user", **shown(receipt)}
            chosen = _chosen(receipt.tool, receipt.data)
            if chosen:
                text = f"A person was asked which one is meant and chose {chosen}."
                yield _says("user", f"{text}{known if question.tools else ''}")


def _as_it_came(turn: Turn, message: Message) -> Iterator[Message]:
    """The provider's own message, and what became of each of its calls."""
    yield message
    for place, call in enumerate(message["tool_calls"]):
        receipt = turn.results.get(place)
        result = shown(receipt) if receipt else {"content": f"not started: {turn.why_not(place)}"}
        name = call["function"]["name"]
        yield {"role": "tool", **result, "tool_call_id": call["id"], "name": name}


@lru_cache(maxsize=512)
def _chosen(tool: str, data: str) -> str:
    """What a person chose of the things that this result offered; empty when no person was
    asked.
    """
    # What they said to a question in words (B5) is the result itself, and names nothing.
    if tool == ASK_HUMAN or '"selected"' not in data:
        return ""
    try:
        selected = json.loads(data)["selected"]
        return pretty({"id": selected["id"], "title": selected["title"], "title_is": MARK})
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _corrections(question: Question, context: Context, fresh: Iterator[str]) -> Iterator[Message]:
    """The rejected reply, what was wrong with it, and the exact form (C6, D1)."""
    request = context.request
    if not request.corrections:
        return
    own = context.owned.get(local(request.previous or ""))
    if own is None or not (own.calls and question.tools):
        words = _says("assistant", cut_text(context.previous, _QUOTED) or "(no reply)")
        if own is not None and not own.calls and own.by == context.by:
            words |= own.message
        yield words
    elif own.after == context.last_number:  # else it is in the history, with the calls that ran
        refused = Turn(own)
        yield from _as_it_came(refused, sent_back(own, context.by, fresh))
    lines = [f"- {each.message} {each.form}".rstrip() for each in request.corrections]
    yield _says("user", "\n".join(["Your reply was not accepted:", *lines]))
