"""Who hears of questions, and where: `[[notify]]` of the policy file.

[[notify]]
name = "desk"
to = ["group:finance"]
kinds = ["confirmation"]
tools = ["refund_*"]
after = "30s"
url = "slack://TokenA/TokenB/TokenC/#approvals"
"""

from fnmatch import fnmatchcase
from typing import Annotated, Final, Self

from pydantic import BeforeValidator, Field, model_validator

from haltpoint.contracts.base import Strings
from haltpoint.contracts.doors import Form, View
from haltpoint.contracts.people.answerers import folded
from haltpoint.contracts.people.approval_rules import Addressees
from haltpoint.contracts.people.humans import RequestKind
from haltpoint.contracts.written import Id, Name, Names, in_seconds

ADDRESS: Final = r"^https?://"


class NotifyRule(Form):
    """Questions to these people, of these kinds, about these tools, are announced there."""

    name: Id
    """Its name in logs and for `haltpoint notify test`."""
    to: Addressees = ()
    """People, and groups as `group:finance`, to whom a rule puts the question; without it all
    questions.
    """
    kinds: tuple[RequestKind, ...] = ()
    """Kinds of questions; empty: all."""
    tools: Names = ()
    """Globs over the tools that the questions are about; empty: all."""
    after: Annotated[float, BeforeValidator(in_seconds), Field(ge=0)] = 0.0
    """Seconds that a question has to be open before it is announced."""
    also_closed: bool = False
    """Announce the end of a question, too."""
    arguments: bool = False
    """Show the arguments of the call, with stars in place of secrets."""
    url: Name | None = Field(default=None, max_length=2000)
    """An address of Apprise: Slack, Teams, e-mail, ntfy and a hundred others."""
    webhook: str | None = Field(default=None, pattern=ADDRESS, max_length=2000)
    """An address that gets JSON, signed as standardwebhooks.com describes."""
    secret_env: Name | None = None
    """The environment variable with the secret that signs, `whsec_...`."""

    @model_validator(mode="after")
    def _goes_somewhere(self) -> Self:
        if (self.url is None) == (self.webhook is None):
            raise ValueError("give either `url` or `webhook`")
        if (self.webhook is None) != (self.secret_env is None):
            raise ValueError("`webhook` and `secret_env` belong together")
        return self

    def fits(self, kind: RequestKind, tool: str, to: Strings) -> bool:
        """Whether it announces a question of this kind, about this tool, to these people."""
        is_kind = not self.kinds or kind in self.kinds
        is_tool = not self.tools or any(fnmatchcase(tool, glob) for glob in self.tools)
        is_theirs = not self.to or not folded(self.to).isdisjoint(folded(to))
        return is_kind and is_tool and is_theirs


class Notice(View):
    """That a question was opened, or closed, for one rule: on its way, or given up."""

    id: str
    """The same for each delivery: `<rule>/<request>/opened`, or `closed`."""
    rule: str
    request_id: str
    tries: int = 0
    fault: str = ""
    """Why the last try failed."""
    given_up: bool = False

    @classmethod
    def begun(cls, notice_id: str) -> Self:
        """A notice that no one has tried to deliver."""
        rule, request_id, _ = notice_id.split("/")
        return cls(id=notice_id, rule=rule, request_id=request_id)

    @property
    def is_of_an_end(self) -> bool:
        """Whether the question was closed."""
        return self.id.endswith("/closed")
