"""The policy file: what an operator says about the contract (CONTRACT C2, D, F). Read by `runtime.policy_file`.

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

from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, field_validator, model_validator

from haltpoint.contracts.doors import Form
from haltpoint.contracts.people.approval_rules import ApprovalRule
from haltpoint.contracts.work.plans import MOST_PARALLEL
from haltpoint.contracts.written import Id, Name, Regex

PLACEHOLDERS: Final = ("expected_tools", "count")


def _template(text: str) -> str:
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        raise ValueError(f"{text!r} is not a template: {error}; write {{{{ for a brace") from None
    for _, name, form, conversion in parts:
        if name is not None and (name not in PLACEHOLDERS or form or conversion):
            raise ValueError(f"{{{name}}} is not a placeholder; there are {{expected_tools}} and {{count}}")
    return text


Template = Annotated[str, StringConstraints(min_length=1, max_length=2000), AfterValidator(_template)]


class Does(StrEnum):
    """What the words of a pattern do to its tools: demand one, or have a person asked before."""

    REQUIRED = "required"
    ASK_BEFORE = "ask_before"


class Treatment(StrEnum):
    """What happens to a call that nothing allows and nothing forbids."""

    ASK = "ask"
    REFUSE = "refuse"
    ALLOW = "allow"


Treatments = Treatment | dict[Name, Treatment]
"""One for all tools, or one per tool or glob: the name itself counts first, then the first glob that fits, else ask."""


class Pattern(Form):
    """Words that name tools which a plan, or an answer, must have used (C2).

    `pattern` is searched in the user's words, `session` in the name of the session that is active; where both are
    given both must be found. `required`: one successful call of a tool that fits one of the globs in `tools` is enough.
    `ask_before`: the tools that fit, else those that the matched words speak of, else all with effects.
    """

    id: Id
    pattern: Regex = ""
    does: Does = Does.REQUIRED
    tools: tuple[Name, ...] = Field(default=(), validate_default=True)
    reason: str = Field(default="", max_length=500)
    session: Regex = ""

    @field_validator("tools")
    @classmethod
    def _what_is_required_is_named(cls, tools: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if not tools and info.data.get("does") is Does.REQUIRED:
            raise ValueError("at least one is required")
        return tools

    @model_validator(mode="after")
    def _looks_at_something(self) -> Self:
        if not self.pattern and not self.session:
            raise ValueError(f"pattern {self.id!r} looks at nothing: give it `pattern`, `session` or both")
        if self.does is not Does.REQUIRED and (self.session or not self.pattern):
            raise ValueError(f"pattern {self.id!r} looks at words only: give it `pattern`, and no `session`")
        return self


class Messages(Form):
    """What the model reads after a violation, a person after the last; {expected_tools} and {count} are put in."""

    no_tool_used: Template = (
        "You did not call any tool. For this you must call {expected_tools}. Do not describe the action: call the tool."
    )
    missing_tool: Template = "The user's words ask for {expected_tools}: neither a plan nor an answer does without it."
    escalate: Template = "The model did not use {expected_tools} in {count} tries. A person has to decide."


TARGETS: Final = (
    *("id", "*_id", "to", "to_*", "email_to", "recipient", "recipient_*", "cc", "bcc", "reply_to", "send_to"),
    *("mail_to", "receiver", "share_with", "shared_with", "payee", "beneficiary", "email", "*_email", "phone"),
    *("*_phone", "*phone_number", "mobile", "tel", "address", "*_address", "addresses", "*_addresses"),
    *(
        "uuid",
        "guid",
        "uid",
        "assignee",
        "collaborator",
        "subscriber",
        "user",
        "*_user",
        "username",
        "handle",
        "participant",
        "attendee",
    ),
    *("invitee", "guest", "member", "channel", "*_channel", "url", "*_url", "uri", "*_uri", "link", "webhook", "host"),
    *("domain", "href", "endpoint", "callback", "bucket", "repo", "repository", "repositories", "iban", "*_iban"),
    *("bic", "sort_code", "account", "*_account", "account_*", "wallet", "*_wallet", "card_number", "path", "*_path"),
    *("file", "filename", "filepath", "outfile", "folder", "directory", "directories", "dir", "destination"),
    *("destination_*", "dest", "dst", "hostname", "ip", "*_id_list", "emails_to", "forward_to", "copy_to"),
)
"""Names of parameters that say to whom or where, as globs; each also with an `s` behind it."""


class Targets(Form):
    """The names of parameters that say to whom or where, globs (C13): `names`, more of them, and others that do not."""

    names: tuple[Name, ...] = TARGETS
    add: tuple[Name, ...] = ()
    remove: tuple[Name, ...] = ()


class Price(Form):
    """What a model takes for a million tokens, in one currency for all models."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class PolicyFile(Form):
    """The whole file. A pattern with the id of a default takes its place; missing numbers: the settings."""

    patterns: tuple[Pattern, ...] = ()
    patterns_off: tuple[str, ...] = Field(default=(), description="ids of patterns that are off for all; * is all")
    blocked_tools: tuple[Name, ...] = Field(default=(), description="names that no model may call")
    messages: Messages = Messages()
    repeated_effects: Treatments = Field(default=Treatment.ASK, description="calls that were made before (C14)")
    unasked_effects: Treatments = Field(default=Treatment.ASK, description="calls that the goal does not ask for (C12)")
    targets: Targets = Targets()
    approvals: tuple[ApprovalRule, ...] = Field(default=(), description="rules about calls, the first counts (G4)")
    prices: dict[str, Price] = Field(default={}, description="by the model's name; one that is not here costs nothing")
    strikes: int | None = Field(default=None, ge=1)
    max_turns: int | None = Field(default=None, ge=1)
    actions_per_turn: int | None = Field(default=None, ge=1)
    parallel: int | None = Field(default=None, ge=1, le=MOST_PARALLEL)
    steps: int | None = Field(default=None, ge=1)
    actions: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _ids_are_distinct(self) -> Self:
        for kind, named in (("patterns", self.patterns), ("rules", self.approvals)):
            ids = [one.id for one in named]
            if twice := sorted({one for one in ids if ids.count(one) > 1}):
                raise ValueError(f"two {kind} are called {', '.join(twice)}")
        return self
