"""The policy file: what an operator says about the contract (CONTRACT C2, D, F). Read by
`runtime.policy_file`.

strikes = 3
blocked_tools = ["finalize_plan"]

[[patterns]]
id = "deploy"
pattern = "deploy|roll out"
tools = ["deploy_*"]
reason = "who asks for a deployment wants one"

[messages]
escalate = "The model did not call {expected_tools} in {count} tries."
"""

from enum import StrEnum
from string import Formatter
from typing import Annotated, Final, Self

from pydantic import AfterValidator, Field, NonNegativeFloat, StringConstraints, model_validator

from haltpoint.contracts.doors import Form
from haltpoint.contracts.people.approval_rules import ApprovalRule
from haltpoint.contracts.people.notices import NotifyRule
from haltpoint.contracts.work.plans import MOST_PARALLEL
from haltpoint.contracts.written import Id, Name, Names, Regex

Limit = Annotated[int, Field(ge=1)] | None
PLACEHOLDERS: Final = ("expected_tools", "count")


def _template(text: str) -> str:
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        raise ValueError(f"{text!r} is not a template: {error}; write {{{{ for a brace") from None
    for _, name, form, conversion in parts:
        if name is not None and (name not in PLACEHOLDERS or form or conversion):
            raise ValueError(
                f"{{{name}}} is not a placeholder; there are {{expected_tools}} and {{count}}"
            )
    return text


Template = Annotated[
    str, StringConstraints(min_length=1, max_length=2000), AfterValidator(_template)
]


class Does(StrEnum):
    """What the words of a pattern do to its tools: require one, or have a person asked before."""

    REQUIRE = "require"
    ASK_BEFORE = "ask_before"


class Treatment(StrEnum):
    """What happens to a call that nothing allows and nothing forbids."""

    ASK = "ask"
    REFUSE = "refuse"
    ALLOW = "allow"


Treatments = Treatment | dict[Name, Treatment]
"""One for all tools, or one per tool or glob: the name itself counts first, then the first glob
that fits, else ask.
"""


class Pattern(Form):
    """Words of a goal that say something about tools (C2)."""

    id: Id
    """Its name in explanations; the id of a shipped pattern changes that pattern."""
    pattern: Regex = ""
    """An expression that is searched in the goal, in upper or lower case."""
    session: Regex = ""
    """Searched in `context.active_session`."""
    does: Does = Does.REQUIRE
    """Require a call of one of the tools, or ask a person before each call of them."""
    tools: Names = ()
    """Globs; a call of any one of the required tools is enough."""
    reason: str = ""
    """One sentence for people and for the model."""
    on: bool = True
    """Whether the pattern is used."""

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if not self.pattern and not self.session:
            raise ValueError("it has no condition: give it `pattern`, `session` or both")
        if not self.tools and self.does is Does.REQUIRE:
            raise ValueError("it requires no tool: name some in `tools`")
        return self


class Messages(Form):
    """What the model reads after a violation, a person after the last; {expected_tools} and {count}
    are put in.
    """

    no_tool_used: Template = (
        "No tool was called. Words alone do nothing: this needs {expected_tools}."
    )
    """For the model."""
    escalate: Template = "No call of {expected_tools} has succeeded. A person has to decide."
    """For the person."""


class Targets(Form):
    """The names of parameters that say to whom or where, globs (C13): `names`, those that are
    shipped unless a file has its own, more of them, and others that do not.
    """

    names: Names = ()
    """The whole list of names, in place of the shipped one."""
    add: Names = ()
    """More names."""
    remove: Names = ()
    """Names that are not targets."""


class Price(Form):
    """What a model takes for a million tokens, in one currency for all models."""

    input: NonNegativeFloat
    """For a million tokens of prompts."""
    output: NonNegativeFloat
    """For a million tokens of replies."""


class PolicyFile(Form):
    """The whole file, with the patterns that are shipped; missing numbers: the settings."""

    patterns: tuple[Pattern, ...] = ()
    """Expressions in goals that say something about tools, in addition to the shipped ones."""
    blocked_tools: Names = ()
    """Names of tools that no plan and no model may call."""
    messages: Messages = Messages()
    """What the model and people read after violations."""
    repeated_effects: Treatments = Treatment.ASK
    """Calls that were made before (C14)."""
    unasked_effects: Treatments = Treatment.ASK
    """Calls that the goal does not ask for (C12)."""
    targets: Targets = Targets()
    """Names of parameters that say to whom or where."""
    approvals: tuple[ApprovalRule, ...] = ()
    """Rules about calls, the first counts (G4)."""
    notify: tuple[NotifyRule, ...] = ()
    """Who is notified of questions."""
    prices: dict[str, Price] = {}
    """Prices by the model's name; a model without a price costs nothing."""
    strikes: Limit = None
    """As `HALTPOINT_LIMITS__STRIKES`."""
    max_turns: Limit = None
    """As `HALTPOINT_LIMITS__MAX_TURNS`."""
    actions_per_turn: Limit = None
    """As `HALTPOINT_LIMITS__ACTIONS_PER_TURN`."""
    parallel: Annotated[int, Field(ge=1, le=MOST_PARALLEL)] | None = None
    """As `HALTPOINT_LIMITS__PARALLEL`."""
    steps: Limit = None
    """As `HALTPOINT_LIMITS__STEPS`."""
    actions: Limit = None
    """As `HALTPOINT_LIMITS__ACTIONS`."""
