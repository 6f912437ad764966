"""The tolerant parser: from what a model said to a proposal (C9, C11). Total: whatever comes in, a
value comes out.

Models say the same thing in many dialects. Read are native calls, then JSON in the words: bare,
fenced, between the markers ---JSON_OUTPUT_START--- and ---JSON_OUTPUT_END---, in <tool_call> tags;
names of fields in any case and under the design documents' names; a provider's whole message that a
model writes out; and the forms of `tagged`. Prose is content, never an error; so is a call beside
it, or of a tool that is not known: the model is asked once whether it meant it. What cannot be read
as a call although it wants to be one becomes a fault in words, so that the model can be told. What
can be read in two ways is `repaired`.

A text that a model only thinks (<think>) is not what it says: nothing is called from there.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from haltpoint.chain.checks.built_in import IMPOSSIBLE
from haltpoint.chain.model.canonical import UNSEEN
from haltpoint.contracts.base import MAX_ARGUMENTS, MAX_BODY
from haltpoint.contracts.tools import END_STEP, ToolSpec
from haltpoint.contracts.work.plans import MOST_EXPECTED, ProposedCall
from haltpoint.contracts.work.routing import ROUTE
from haltpoint.contracts.work.thoughts import Proposal
from haltpoint_planner.decisions import decision_in
from haltpoint_planner.exchange import Reply
from haltpoint_planner.parsing.dialects import as_call, bare_name, names_no_tool, plain
from haltpoint_planner.parsing.json_text import Found, leaves_open, mend, parse, without_surrogates
from haltpoint_planner.parsing.only_calls import MARKERS, called_in, only_calls, quoted_calls
from haltpoint_planner.parsing.python_calls import literal_in
from haltpoint_planner.parsing.shown import (
    BESIDE_WORDS,
    MEANT,
    ends_in_python,
    read_calls,
    without_thoughts,
)
from haltpoint_planner.parsing.tagged import cut_off, pieces
from haltpoint_planner.parsing.unread import names_one, pieces_in, unread
from haltpoint_planner.parsing.wrapped import Said, said_in, words_in

_NO_TOOLS: Final[Mapping[str, ToolSpec]] = {}
MAX_CONTENT: Final = (
    MAX_BODY - 64 * 1024
)  # bytes of words and arguments as JSON: with the rest they fit into a message
MAX_CALLS: Final = 32
_MAX_PROPOSAL: Final = (
    96 * 1024
)  # bytes of all arguments together: the message must stay under MAX_BODY
_TOOL_NAME: Final = 128
_LONGEST_REASON: Final = 2000  # characters of why a step is given up
_NO_REASON: Final = "The model gave no reason."
_SHORT: Final = 40  # characters of a name that is no tool's
_SPOKEN: Final = frozenset({"content", "response", "answer", "finalanswer", "reply", "summary"})
"""Fields that are the model's own words also behind prose; a message or a result there may be what
it shows.
"""

_MARKED: Final = re.compile(
    r"-{3}\s*JSON_OUTPUT_START\s*-{3}(.*?)(?:-{3}\s*JSON_OUTPUT_END\s*-{3}|\Z)", re.DOTALL
)
_NOTHING: Final = re.compile(r'\s*+(?:```[\w-]*+\s*+)?(?:\{\s*+\}|null|"")?\s*+(?:```\s*+)?')
"""A text without anything that a person can read: an empty fence, `{}`, `null`, `""`."""

_WRAPPING: Final = re.compile(rf"{MARKERS}|\bfunctools\Z", re.IGNORECASE)
_MEANT_AS_JSON: Final = re.compile(
    r"""(?: \A\s* | ```[\w-]*\s* | <tool_calls?>\s* )(?=[{\[])
      | (?= \[? \s{0,64} \{ \s{0,64} ["']?
            (?:tool|function|name|calls|content|steps|todo|plan|next_?step) [\w-]* ["']?
            \s{0,64} : )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CALLING: Final = re.compile(r"<[\w:|]*(?:tool|function|invoke|call)", re.IGNORECASE)
_CUT_OFF: Final = "the call of {} is cut off: the reply reached its limit of tokens"


@dataclass(slots=True)
class _Draft:
    """A proposal in the making; `tools`: all that are known; `cut`: the reply reached its limit of
    tokens.
    """

    tools: Mapping[str, ToolSpec]
    cut: bool
    calls: list[ProposedCall] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    gives_up: bool = False
    repaired: bool = False
    shown: bool = False
    size: int = 0


@dataclass(frozen=True, slots=True)
class Words:
    """A text taken apart: the JSON values in it, and the prose around them; `left`: that of the
    part that was read.
    """

    values: tuple[Found, ...]
    prose: str
    left: str = ""


def draft_proposal(
    reply: Reply, tools: Mapping[str, ToolSpec] = _NO_TOOLS, *, in_words: bool = False
) -> Proposal:
    """What the model wants in this turn. Native calls go before calls in the words.

    `in_words`: no call is due; calls that the words show are words, as is what cannot be read and
    names no known tool.
    """
    draft = _Draft(tools, reply.cut)
    for native in reply.calls:
        _add_call(draft, native.name, native.arguments)
    if len(reply.content) > MAX_BODY:
        draft.words.append(without_surrogates(reply.content[: MAX_CONTENT + 1]))
        draft.faults.append(
            f"the reply has {len(reply.content)} characters; at most {MAX_BODY} are read"
        )
    elif (decision := _decision(reply, tools)) is not None:
        _add_call(draft, ROUTE, decision)
    elif reply.content:
        _read_words(draft, reply.content, calls_too=not reply.calls, in_words=in_words)
    content = "\n".join(word for word in draft.words if word)
    if not (draft.calls or draft.faults) and _is_empty(content) and not draft.gives_up:
        why = "it reached its limit of tokens" if reply.cut else "it has neither text nor calls"
        draft.faults.append(f"the reply is empty: {why}")
    return Proposal(
        content=cut(content, MAX_CONTENT - draft.size),
        calls=(*_end_of(draft, content), *draft.calls)[:MAX_CALLS],
        repaired=draft.repaired,
        faults=tuple(draft.faults[:MAX_CALLS]),
        shown=draft.shown,
    )


def without_guesses(proposal: Proposal) -> Proposal:
    """The proposal as it is sent: calls whose JSON had to be repaired are none (C9)."""
    if not proposal.repaired or not proposal.calls:
        return proposal
    return msgspec.structs.replace(
        proposal, calls=(), faults=(*proposal.faults, "the JSON of a call is broken")
    )


def _end_of(draft: _Draft, content: str) -> tuple[ProposedCall, ...]:
    """The call of `end_step` that the documents' `next_step_decision: fail` stands for (C11)."""
    if not draft.gives_up:
        return ()
    reason = content.strip()[:_LONGEST_REASON] or _NO_REASON
    return (ProposedCall(tool=END_STEP, arguments={"outcome": IMPOSSIBLE, "reason": reason}),)


def _decision(reply: Reply, tools: Mapping[str, ToolSpec]) -> dict[str, Any] | None:
    """The arguments of `route` where the words are a decision who works on the task (I3)."""
    if ROUTE not in tools or reply.calls:
        return None
    words = take_apart(without_surrogates(reply.content))
    return decision_in(words.values, words.prose)


def said(reply: Reply) -> str:
    """What the model said in words, without its thoughts: the text of an answer.

    Words in JSON, bare, fenced or behind a line of prose, are taken out of it; any other text stays
    as it is, unless it holds nothing that a person can read.
    """
    text = without_thoughts(without_surrogates(reply.content[:MAX_BODY])).strip()
    if _is_empty(text):
        return ""
    words = take_apart(text)
    guess = mended(text) if text.startswith("{") and not words.values else None
    found = (guess,) if guess else words.values
    told = words_in(found[0].value) if len(found) == 1 and not found[0].tool else None
    if told is None:
        return cut(text)
    if guess or not words.prose:
        return cut(told.strip())
    spoken = isinstance(found[0].value, dict) and not _SPOKEN.isdisjoint(map(plain, found[0].value))
    return cut(
        f"{words.prose}\n{told}".strip() if spoken and text.rstrip("`\n ").endswith("}") else text
    )


def _is_empty(text: str) -> bool:
    """Whether it holds nothing that a person can read."""
    return _NOTHING.fullmatch(UNSEEN.sub("", text)) is not None


def take_apart(text: str) -> Words:
    """The JSON values of a text and what stands around them. Text in thoughts is dropped."""
    if (whole := parse(text.strip())) and isinstance(whole.value, dict | list):
        return Words((whole,), "")
    text = without_thoughts(text)
    inside, around = text, ""
    if marked := _MARKED.search(text):
        inside, around = marked[1], text[: marked.start()] + text[marked.end() :]
    values: list[Found] = []
    prose: list[str] = []
    last = 0
    for start, end, found in pieces(inside):
        if found.value is not None or found.tool:
            values.append(found)
        prose.append(inside[last:start])
        last = end
    prose.append(inside[last:])
    left = "".join(prose).rstrip()
    return Words(tuple(values), _WRAPPING.sub("", around + left).strip(), _WRAPPING.sub("", left))


def mended(text: str) -> Found | None:
    """The JSON that a text seems to begin and does not finish, or writes wrongly; None when it is
    plainly prose.
    """
    return _guess(text)[0]


def _guess(text: str) -> tuple[Found | None, str]:
    """The same, and the words before it; of a call with a dialect's marks none."""
    text = without_thoughts(text)
    if marked := _MARKED.search(text):
        text = marked[1]
    call, meant = cut_off(text), _MEANT_AS_JSON.search(text)
    if call is not None or meant is None:
        return call, ""
    return mend(text[meant.end() :]), "" if meant[0].startswith("<") else _WRAPPING.sub(
        "", text[: meant.start()]
    )


def cut(text: str, room: int = MAX_CONTENT) -> str:
    """At most so many bytes as JSON; what is longer ends with a mark that says how many characters
    were cut off.
    """
    if _size(text) <= room:
        return text
    kept = (
        bisect_right(range(min(len(text), room)), room, key=lambda length: _size(text[:length])) - 1
    )
    return f"{text[:kept]} [cut: {len(text) - kept} more characters]"


def _size(text: str) -> int:
    return len(msgspec.json.encode(text))


def _read_words(draft: _Draft, content: str, *, calls_too: bool, in_words: bool) -> None:
    content = without_surrogates(content)
    words, spoken = take_apart(content), without_thoughts(content).strip()
    meant, shown = read_calls(spoken, draft.tools) if words.prose else (spoken, list[str]())
    if shown:
        draft.words.append(spoken)
        if calls_too and any(bare_name(name) in draft.tools for name in shown):
            if draft.cut and leaves_open(words.left):
                draft.faults.append(_CUT_OFF.format("a tool"))
            elif not in_words:
                _ask(draft, BESIDE_WORDS)
        return
    words = words if meant == spoken else take_apart(meant)
    prose, left, alone = words.prose, words.left, not words.prose
    read = _saying(words.values, draft.tools, alone=alone)
    before = left.partition("{")[0] if any(found.repaired for found, _ in read) else ""
    if not read and calls_too:
        whole = only_calls(spoken, words.values if alone else (), draft.tools)
        guess, before = (None, "") if whole else _guess(content)
        if read := _saying(whole or ([guess] if guess else []), draft.tools, alone=True):
            prose = left = ""
    beside = any(map(str.isalnum, before)) and not draft.cut
    if calls_too and (why := _in_doubt(read, draft.tools, beside=beside)):
        draft.words.append(spoken)
        if not in_words:
            _ask(draft, why)
        return
    prose = prose if any(map(str.isalnum, prose)) else ""
    draft.words.append(prose if read else spoken)
    for found, said in read:
        draft.repaired = draft.repaired or found.repaired
        if said is not None:
            _take(draft, said, calls_too=calls_too)
        elif calls_too:
            _add_call(draft, found.tool, found.value if isinstance(found.value, dict) else [])
    if not calls_too:
        return
    if draft.calls or draft.faults:
        fault = pieces_in(left, beside_calls=True)
    elif not read and alone and any(names_no_tool(found.value) for found in words.values):
        fault = "a call names no tool"
    else:
        fault = unread(meant, left, json=bool(read or words.values))
        words_only = not (fault or read or in_words)
        if words_only and (
            ends_in_python(spoken, draft.tools) or quoted_calls(spoken, draft.tools)
        ):
            _ask(draft, BESIDE_WORDS)
    if (
        draft.cut
        and not (read or fault)
        and _CALLING.match(spoken)
        and names_one(spoken, draft.tools)
    ):
        fault = _CUT_OFF.format("a tool")
    if in_words and not (draft.calls or draft.faults or names_one(spoken, draft.tools)):
        fault = None
    draft.faults += [fault] if fault else []


def _in_doubt(
    read: Sequence[tuple[Found, Said | None]], tools: Mapping[str, ToolSpec], *, beside: bool
) -> str:
    """Why the calls that were read are only shown: they are `beside` words, or no tool of theirs is
    known; else "".
    """
    if not any(found.tool or (said and said.calls) for found, said in read):
        return ""
    names = [bare_name(name) for found, _ in read for name in called_in(found, tools)]
    if any(name in tools for name in names):
        return BESIDE_WORDS if beside else ""
    name = next(filter(None, names), "")[:_SHORT]
    return f"no tool is called {name!r}" if name else "a call names no tool"


def _ask(draft: _Draft, why: str) -> None:
    """The model is asked, once and without a strike, whether it meant the call that its words show
    (C9).
    """
    draft.shown = True
    draft.faults.append(f"{why}, so nothing was called; {MEANT}")


def _saying(
    values: Sequence[Found], tools: Mapping[str, ToolSpec], *, alone: bool
) -> list[tuple[Found, Said | None]]:
    """The values that are calls of a tool named outside of them, or say something themselves."""
    said = (
        (found, None if found.tool else said_in(found.value, tools, alone=alone))
        for found in values
    )
    return [(found, told) for found, told in said if found.tool or told is not None]


def _take(draft: _Draft, said: Said, *, calls_too: bool) -> None:
    draft.words += said.words
    draft.repaired = draft.repaired or said.twice
    draft.gives_up = draft.gives_up or said.gives_up
    for number, item in enumerate(said.calls if calls_too else (), start=1):
        call = as_call(item)
        if call is None:
            draft.faults.append(f"call {number} names no tool")
        else:
            draft.repaired = draft.repaired or call.ambiguous
            _add_call(draft, call.name, call.arguments, expected=call.expected)


def _add_call(draft: _Draft, name: str, arguments: object, *, expected: object = None) -> None:
    """One more call, or one more fault. A call whose arguments cannot be read is never made with
    none.
    """
    tool = without_surrogates(bare_name(name))
    if not tool or len(tool) > _TOOL_NAME:
        draft.faults.append(
            f"a call names no tool: {tool[:_SHORT]!r}" if tool else "a call names no tool"
        )
        return
    found = _arguments(arguments)
    if draft.cut and (found is None or found.repaired or draft.repaired or arguments == ""):
        draft.faults.append(_CUT_OFF.format(tool))
        return
    exact = (
        parse(json.dumps(found.value)) if found is not None else None
    )  # the limits are those of the whole
    if found is None or exact is None:
        draft.faults.append(f"the arguments of {tool} are not a JSON object within the limits")
        return
    size = len(json.dumps(exact.value, separators=(",", ":")))  # as the executor sends it on
    if size > MAX_ARGUMENTS or draft.size + size > _MAX_PROPOSAL:
        draft.faults.append(
            f"the arguments of {tool} have {size} bytes; at most {MAX_ARGUMENTS} are taken"
        )
    elif len(draft.calls) == MAX_CALLS:
        draft.faults.append(f"more than {MAX_CALLS} calls; {tool} was left out")
    elif (tool, exact.value) not in (
        (call.tool, call.arguments) for call in draft.calls
    ):  # else it is a stutter
        told = without_surrogates(expected)[:MOST_EXPECTED] if isinstance(expected, str) else ""
        draft.calls.append(ProposedCall(tool=tool, arguments=exact.value, expected=told))
        draft.size += size + _size(told)
        draft.repaired = draft.repaired or found.repaired or exact.repaired


def _arguments(value: object) -> Found | None:
    """Arguments as an object; as JSON text they are read once more. None when they are neither."""
    if value is None or value == "":
        return Found({})
    found: Found | None = Found(value)
    if isinstance(value, str):
        found = parse(value)
        if found is None and value.lstrip().startswith("{"):
            found = literal_in(value) or mend(value)
        if found is not None and isinstance(found.value, str):  # encoded twice
            found = parse(found.value)
    return found if found is not None and isinstance(found.value, dict) else None
