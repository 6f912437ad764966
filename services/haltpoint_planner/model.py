"""The port to a model: what the planner needs of any provider. `chat_completions` is the one that comes with it."""

from typing import Protocol

from haltpoint.contracts.events import ThoughtRequest
from haltpoint_planner.parsing.replies import Reply
from haltpoint_planner.prompting.prompts import Prompt


class Model(Protocol):
    """Whoever answers a prompt."""

    async def ask(self, name: str, prompt: Prompt, request: ThoughtRequest) -> Reply:
        """The reply of the model that is called `name`, before `request.deadline`.

        `Reply.usage` holds the tokens and the model's name. Raises HaltpointError HP-301 to HP-307 when there is none.
        """
        ...
