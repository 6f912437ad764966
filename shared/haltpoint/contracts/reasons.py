"""Why a person is asked before a call runs (CONTRACT G5), and where a value of a call comes from
(C13).
"""

from enum import IntEnum, StrEnum
from typing import Any

from haltpoint.contracts.base import Contract


class SourceKind(StrEnum):
    """Where a value comes from, the first that holds: the user's words, a person, the task's
    context, a whole value of a result, a text that was read, or the model alone; or a hook, which
    wrote it later.
    """

    GOAL = "goal"
    PERSON = "person"
    CONTEXT = "context"
    RESULT = "result"
    TEXT = "text"
    MODEL = "model"
    HOOK = "hook"


class Source(Contract):
    """The source of one value. `where` is an action id and a path (`c.find.1 data.emails[0]`), or
    empty.
    """

    source: SourceKind
    where: str = ""
    excerpt: str | None = None
    """The text around a piece of free text."""


class Reach(StrEnum):
    """How far a yes goes until the chain ends: this call, this value in this parameter, this
    parameter, this tool.
    """

    CALL = "call"
    VALUE = "value"
    PARAMETER = "parameter"
    TOOL = "tool"


class Grant(Contract):
    """A yes that covers later calls of a tool: all, one parameter, or one value in it.

    `parameter` is a marked place: `letters[].to`.
    """

    tool: str
    parameter: str | None = None
    value: str | None = None


class Heard(IntEnum):
    """What a person has said so far in a chain that may be against a call (C6, C11), the weightiest
    of it.
    """

    NOTHING = 0
    NO = 1
    """A reject, `none`, or words."""
    ANSWER = 2
    """An answer to a question of a model."""


class ReasonKind(StrEnum):
    """Who or what wants a person to decide: the tool, a hook, a rule, the user's words, a no
    before, or the runtime.
    """

    DESTRUCTIVE = "destructive"
    RULE = "rule"
    HOOK = "hook"
    TOOL = "tool"
    DENIED = "denied"
    ASK_BEFORE = "ask_before"
    CONDITION = "condition"
    UNASKED = "unasked"
    TARGET = "target"
    REPEAT = "repeat"
    PRESSED = "pressed"
    CHANGED = "changed"


class Reason(Contract):
    """One reason for a confirmation. `words` are a sentence for the person.

    A reason about a value names its `parameter`, the `value` and its `source`.
    """

    kind: ReasonKind
    words: str
    parameter: str | None = None
    value: Any = None
    source: Source | None = None
