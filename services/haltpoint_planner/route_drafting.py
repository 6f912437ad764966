"""From what a supervisor's model said to a decision who works on the task, or to any other proposal (C9, I2). Total.

A decision is one JSON object that names agents, alone or fenced; names of fields in any case. It becomes calls of these
agents, before the calls of tools beside it. Beside words it is only shown, as is a call of an agent there, and the
model is asked once if it meant it; two that differ are none. An object that names no agent and holds
words is words; a call, or data that has a decision among its fields, is none. About JSON with the fields of a decision,
and no agent in target_agents, it is asked once, too.
"""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from haltpoint.chain.checks.agents import LONGEST_TASK
from haltpoint.chain.model.references import write_json
from haltpoint.contracts.base import MAX_BODY
from haltpoint.contracts.tools import ToolKind, ToolSpec
from haltpoint.contracts.work.plans import ProposedCall
from haltpoint.contracts.work.routing import Decided
from haltpoint.contracts.work.thoughts import Proposal
from haltpoint_planner.drafting import agent_named, cut, draft_proposal, mended, take_apart
from haltpoint_planner.parsing.dialects import bare_name, fields, listed
from haltpoint_planner.parsing.json_text import Found, without_surrogates
from haltpoint_planner.parsing.only_calls import called_in
from haltpoint_planner.parsing.replies import Reply
from haltpoint_planner.parsing.shown import MEANT, read_pieces, without_thoughts
from haltpoint_planner.parsing.wrapped import words_in

_TARGETS: Final = ("targetagents", "targetagent")
_INSIDE: Final = ("decision", "routing", "routingdecision")
_MOST_TARGETS: Final = 20
NAME, REASONING = 128, 2000
"""Characters of an agent's name and of a reason that are kept."""

_MARK: Final = re.compile(
    r"```(?:json\w?|tool_\w+|xml)?(?!\w)|-{3}\s*JSON_OUTPUT_(?:START|END)\s*-{3}|<[^<>\n]{1,64}>|\[/?[A-Z_]+\]"
)
"""What models write around JSON that is all they say."""
_SIZE: Final = 96 * 1024  # bytes of the calls: the message must stay under MAX_BODY
_SHOWN: Final = f"it shows a decision beside words, so no agent got the task; {MEANT.replace('call', 'decision')}"
_HALF: Final = frozenset(("task", "reasoning", "confidence", "agent", "agents", "target", "targets", "decision"))
"""Fields of a decision that does not name its agents by the right one."""
_HALF_OF_ONE: Final = (
    "it is JSON with fields of a decision, and names no agent in target_agents; decide in the form, or answer the user "
    "in plain words; if this JSON is the answer, send the same reply again"
)
_NO_AGENT: Final = "the decision names no agent in target_agents; to answer the user, write plain words and no JSON"


def draft_decision(reply: Reply, tools: Mapping[str, ToolSpec], goal: str, *, corrected: bool = False) -> Proposal:
    """What a supervisor's model wants in this turn. A decision that does not say what is to be done hands on `goal`."""
    proposal, content = draft_proposal(reply, tools, corrected=corrected), without_surrogates(reply.content)
    if len(content) > MAX_BODY:
        return proposal
    words, spoken = take_apart(content), without_thoughts(content).strip()
    meant, shown = read_pieces(spoken, partial(_names_in, tools)) if words.prose else (spoken, [])
    beside = not reply.calls and _is_beside(spoken, words.prose if words.values else "")
    agents = [one.tool for one in proposal.calls if one.tool in tools and tools[one.tool].kind is ToolKind.AGENT]
    if agents and not reply.calls and (beside or any(map(str.isalnum, proposal.content))):
        shown, beside = agents, True
    words = words if meant == spoken else take_apart(meant)
    guess = None if words.values or reply.cut else mended(content)
    values = words.values or ((guess,) if guess else ())
    said = [named for found in values for named in _decisions_in(found)]
    if not said and not (shown and beside):
        half = not (corrected or proposal.calls or proposal.faults or words.prose)
        asks = half and any(_is_half(found.value) for found in words.values)
        return replace(proposal, shown=True, faults=(_HALF_OF_ONE,)) if asks else proposal
    if shown or beside:  # a decision has no marks of its own
        asks, faults = not (corrected or reply.calls), () if corrected else proposal.faults
        calls = proposal.calls if reply.calls else ()
        text = proposal.content if reply.calls else cut(spoken)
        return replace(proposal, content=text, calls=calls, shown=asks, faults=(_SHOWN,) if asks else faults)
    others = tuple(call for call in proposal.calls if not _is_decision(call.arguments))
    repaired = proposal.repaired or any(found.repaired for found in values)
    kept = replace(proposal, content="", calls=others, repaired=repaired, shown=False)
    if any(one != said[0] for one in said):
        return _unreadable(kept, "the reply holds several decisions; decide once")
    return _with(kept, said[0], tools, goal)


def _is_beside(spoken: str, prose: str) -> bool:
    """Whether words stand before, between or behind the JSON of a reply, but for what marks it as JSON or a call."""
    places = [at for at in map(spoken.find, "{[") if at >= 0]
    if not places:
        return False
    last = max(map(spoken.rfind, "}]"))
    return any(map(str.isalnum, prose + _MARK.sub(" ", spoken[: min(places)]) + _MARK.sub(" ", spoken[last + 1 :])))


def _with(proposal: Proposal, said: Mapping[str, Any], tools: Mapping[str, ToolSpec], goal: str) -> Proposal:
    """The proposal with the decision, or with what is wrong with that."""
    given = [one for name in _TARGETS for one in listed(said.get(name))]
    names = [agent_named(bare_name(one), tools)[:NAME] if isinstance(one, str) else "" for one in given]
    targets = tuple(dict.fromkeys(names))
    if not targets or "" in targets:
        return _unreadable(proposal, _NO_AGENT)
    if len(targets) > _MOST_TARGETS:
        return _unreadable(proposal, f"the decision names {len(targets)} agents; at most {_MOST_TARGETS} are taken")
    arguments = {"task": _text(said.get("task")) or goal[:LONGEST_TASK]}
    arguments |= {"context": context} if (context := _text(said.get("context"))) else {}
    decided = judged(targets, _text(said.get("reasoning")), said.get("confidence"))
    calls = tuple(ProposedCall(tool=name, arguments=arguments) for name in targets)
    if len(msgspec.json.encode(calls)) > _SIZE:
        return _unreadable(proposal, "the decision is too long; say the task in fewer words")
    others = (one for one in proposal.calls if one not in calls)
    return replace(proposal, calls=(*calls, *others), routing=decided, faults=())


def _decisions_in(found: Found) -> Iterator[dict[str, Any]]:
    """The fields of the decisions that a piece of a reply is, or has under one of the usual names and nothing else."""
    for value in () if found.tool else listed(found.value):
        named = fields(value) if isinstance(value, dict) else {}
        inside = [named[name] for name in _INSIDE if len(named) == 1 and name in named]
        yield from (fields(one) for one in (value, *inside) if isinstance(one, dict) and _is_decision(one))


def _is_decision(value: dict[str, Any]) -> bool:
    named = fields(value)
    says = not named.keys().isdisjoint(_TARGETS)
    return says and (any(named.get(name) for name in _TARGETS) or words_in(value) is None)


def _is_half(value: Any) -> bool:
    """Whether a reply that is nothing but this value would be a decision, had it named its agents as it should."""
    if isinstance(value, list):
        return any(map(_is_half, value))
    named = fields(value) if isinstance(value, dict) else {}
    inside = next(iter(named.values())) if len(named) == 1 else None
    return words_in(value) is None and (not _HALF.isdisjoint(named) or (isinstance(inside, dict) and _is_half(inside)))


def _names_in(tools: Mapping[str, ToolSpec], found: Found) -> list[str]:
    """The tools that a piece of a reply calls, and the agents that it decides for."""
    return called_in(found, tools) or [str(named) for named in _decisions_in(found)]


def _unreadable(proposal: Proposal, fault: str) -> Proposal:
    return replace(proposal, faults=(*proposal.faults, fault))


def judged(targets: tuple[str, ...], reasoning: str, sure: object) -> Decided:
    """A decision as it is kept. A confidence that is no number from 0 to 1 counts as 0 (I3)."""
    if not isinstance(sure, int | float) or isinstance(sure, bool) or not 0 <= sure <= 1:
        sure = 0.0
    return Decided(targets, reasoning[:REASONING], abs(float(sure)))  # -0.0 is 0


def _text(value: object) -> str:
    """Words; of anything else its JSON text."""
    return value.strip() if isinstance(value, str) else "" if value is None else write_json(value)
