"""What a commit may write, typed: each operation is a function of the same name in lua/commit.lua,
with these fields.

A chain's part of a commit is one argument, `ChainWrites` as MessagePack. Text is `str` throughout:
the server's decoder knows no other. Numbers that become part of a key or a field are text too; Lua
would write large ones as 1e+12.
"""

from typing import Final

import msgspec


class Operation(msgspec.Struct, gc=False, array_like=True):
    """One write, as a list of its name and its fields; `id` is always the id inside the chain."""


class WriteHead(Operation, tag="write_head"):
    """Fields of `chain:<id>`: name, value, name, value ..."""

    fields: list[str]


class WriteData(Operation, tag="write_data"):
    """A field of `data:<id>`."""

    field: str
    value: str


class AppendLog(Operation, tag="append_log"):
    """A line of the log. Without facts the feed does not tell it."""

    line: str
    facts: bool


class Dispatch(Operation, tag="dispatch"):
    """Send an action to its queue; with `again` its former attempt's receipt is kept apart."""

    id: str
    queue: str
    attempt: str
    repeatable: str
    tool: str
    arguments: str
    message: str
    again: bool = False


class RecordAction(Operation, tag="record_action"):
    """Write an action down that no worker is asked to do."""

    id: str
    tool: str
    arguments: str


class ResolveAction(Operation, tag="resolve_action"):
    """Outcome and data of an action as a person completed them."""

    id: str
    outcome: str
    data: str


class AskModel(Operation, tag="ask_model"):
    """A message to the planner."""

    message: str


class OpenRequest(Operation, tag="open_request"):
    """Open a question and tell the gateway; `rank` is its place in the inbox."""

    id: str
    question: str
    deadline: str
    rank: int
    message: str


class WithdrawRequest(Operation, tag="withdraw_request"):
    """Take a question back, unless it was answered or has expired."""

    id: str
    message: str


class BeginChild(Operation, tag="begin_child"):
    """Begin the chain that carries out an action, unless there is one."""

    id: str
    child: str
    task: str
    message: str
    deadline: str
    trace: str = ""


class CancelChild(Operation, tag="cancel_child"):
    """A message to a child that is not over."""

    child: str
    message: str


class ReportToParent(Operation, tag="report_to_parent"):
    """This chain is a child and over: the receipt of `action`, once, and the message to a parent
    that is not over.
    """

    action: str
    outcome: str
    data: str
    message: str


class PublishFact(Operation, tag="publish_fact"):
    """A public fact (contracts/public_facts.py) that stays for `age` ms."""

    age: int
    message: str


class MoveStatus(Operation, tag="move_status"):
    """From one status index to another, since `at`."""

    old: str
    new: str
    at: int


class SetTimer(Operation, tag="set_timer"):
    """The chain's one timer."""

    due: int


class EndChain(Operation, tag="end_chain"):
    """Its keys expire after so many seconds, its timer goes."""

    retention: str


class Fail(Operation, tag="fail"):
    """Raises: what the executor could not put into words becomes a fault too."""

    problem: str


class ChainWrites(msgspec.Struct, gc=False, array_like=True):
    """A chain's part of a commit. `expected` is the version that was decided on, `version` the one
    after it; they are equal when nothing changed. `entries` of the events stream are finished with
    it, `counts` go to the day's counters.
    """

    chain: str
    expected: str
    version: str
    entries: list[str]
    operations: list[Operation] = []
    counts: dict[str, int] = {}


pack: Final = msgspec.msgpack.Encoder().encode
"""A `ChainWrites` as the function reads it."""
