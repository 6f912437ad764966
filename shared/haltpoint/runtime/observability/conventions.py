"""The names of spans and of their attributes: those of OpenTelemetry, and ours, which begin with
`haltpoint.`.

Agents, workflows, tools and models have the names of open-telemetry/semantic-conventions-genai at
e8fc5751506258db1459d1bde47994e01dee922e, all of which are in development. Its release 0.1.0 has
`gen_ai.agent.name` in the place of `gen_ai.workflow.name`: a workflow has both here.

Messages have those of open-telemetry/semantic-conventions 1.44. `process` says which message, where
they would name the destination: that is `events` always.
"""

from enum import StrEnum
from typing import Final


class Operation(StrEnum):
    """What a span is about, and how its name begins."""

    INVOKE_AGENT = "invoke_agent"
    """A chain: of an agent, or of the one without a name."""
    INVOKE_WORKFLOW = "invoke_workflow"
    """A chain whose plan is literal: a task's own, or a skill's."""
    EXECUTE_TOOL = "execute_tool"
    """A call."""
    CHAT = "chat"
    """A question to a model."""


OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
AGENT: Final = "gen_ai.agent.name"
WORKFLOW: Final = "gen_ai.workflow.name"
CONVERSATION: Final = "gen_ai.conversation.id"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_CALL: Final = "gen_ai.tool.call.id"
MODEL: Final = "gen_ai.request.model"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
ERROR_TYPE: Final = "error.type"
MESSAGING_SYSTEM: Final = "messaging.system"
MESSAGING_OPERATION: Final = "messaging.operation.name"
MESSAGING_OPERATION_TYPE: Final = "messaging.operation.type"
MESSAGING_DESTINATION: Final = "messaging.destination.name"
MESSAGING_PARTITION: Final = "messaging.destination.partition.id"
MESSAGING_GROUP: Final = "messaging.consumer.group.name"
MESSAGING_MESSAGE: Final = "messaging.message.id"
CHAIN: Final = "haltpoint.chain.id"
CHAIN_STATUS: Final = "haltpoint.chain.status"
GOAL_GIVEN: Final = "haltpoint.goal.given"
STEP: Final = "haltpoint.step.id"
ATTEMPT: Final = "haltpoint.attempt"
NEXT_ACTION: Final = "haltpoint.next_action"
THOUGHT: Final = "haltpoint.thought.kind"

SENDING: Final = {
    MESSAGING_SYSTEM: "redis",
    MESSAGING_OPERATION: "send",
    MESSAGING_OPERATION_TYPE: "send",
    MESSAGING_DESTINATION: "events",
}
"""Of a message that begins a chain."""
