"""Traces: every span, attribute and name of the system, in one place.

One trace per chain, across all processes. Its tree is three deep whatever the chain's length:

    invoke_agent haltpoint                  the submission (gateway, or executor)
    └── process task.submitted … tool.completed   a decision, linked to its cause
        ├── execute_tool lookup_contacts    the tool worker
        └── chat qwen2.5                    the planner

Between a question and the decision `process human.answered` a person was thinking.

The root's name is that of the agent that its task names. A chain that another hands its task on to
has such a span of its own, below the decision that began it.

The root's context is in the chain's hash (`trace`); a message carries the context of the decision
that sent it, so context travels in the messages and in nothing else. Whether a chain is sampled is
decided once, at its submission, by the standard OTEL_TRACES_SAMPLER; a chain that is sampled out
costs nothing anywhere, and is still whole in its log. Spans leave by OTLP over HTTP when
OTEL_EXPORTER_OTLP_ENDPOINT (or its traces variant) is set; otherwise nothing starts.

Names follow the OpenTelemetry GenAI and messaging conventions as of November 2026; they still move,
hence this module. `process` says which message, where they would name the destination: that is
`events` always.
"""

import os
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import (
    Link,
    Span,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    get_current_span,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.config.this_machine import is_this_machine

if TYPE_CHECKING:
    import requests

Value = str | int | float | bool

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
AGENT: Final = "gen_ai.agent.name"
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
ACTION: Final = "haltpoint.action.id"
ATTEMPT: Final = "haltpoint.attempt"
NEXT_ACTION: Final = "haltpoint.next_action"
THOUGHT: Final = "haltpoint.thought.kind"

_SAMPLED: Final = frozenset("13579bdf")
"""Last digits of a traceparent that is sampled."""

_TRACEPARENT: Final = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_W3C: Final = TraceContextTextMapPropagator()


def valid(traceparent: str | None) -> bool:
    """Whether this is a W3C traceparent of version 00."""
    return bool(traceparent and _TRACEPARENT.fullmatch(traceparent))


def agent_span(task: Task) -> str:
    """The name of a chain's own span."""
    return f"invoke_agent {task.agent or 'haltpoint'}"


def agent_attributes(chain_id: str, task: Task) -> dict[str, Value]:
    """What a chain's own span says of it."""
    return {
        OPERATION: "invoke_agent",
        PROVIDER: "haltpoint",
        AGENT: task.agent or "haltpoint",
        CHAIN: chain_id,
        GOAL_GIVEN: bool(task.goal),
    }


class Tracing:
    """The spans of one service. Without an exporter every method is a cheap no-op that passes the
    context on.
    """

    def __init__(self, tracer: Tracer | None, provider: TracerProvider | None = None) -> None:
        self._tracer = tracer
        self._provider = provider

    def submission(
        self, chain_id: str, task: Task, parent: str | None = None
    ) -> tuple[str | None, Span | None]:
        """The traceparent of a chain, and the root span of its trace: to be finished when the task
        is accepted.

        `parent` is the caller's own traceparent, when it sent a valid one: the chain then joins
        that trace.
        """
        joined = parent if valid(parent) else None
        if self._tracer is None:
            return joined, None
        attributes = agent_attributes(chain_id, task)
        if task.conversation_id is not None:
            attributes[CONVERSATION] = task.conversation_id
        span = self._tracer.start_span(agent_span(task), _below(joined), attributes=attributes)
        return context_of(span, None), span

    def wanted(self, parent: str | None) -> bool:
        """Whether a span under `parent` is kept: spares the hot path its attributes."""
        return self._tracer is not None and parent is not None and parent[-1:] in _SAMPLED

    def start(
        self,
        name: str,
        parent: str | None,
        kind: SpanKind,
        attributes: Mapping[str, Value],
        *,
        caused_by: str | None = None,
    ) -> Span | None:
        """Start a span under `parent`, linked to the message's own context; None when this chain is
        not traced.
        """
        if self._tracer is None or not self.wanted(parent):
            return None
        links: list[Link] = []
        if caused_by and caused_by != parent:
            cause = get_current_span(_below(caused_by)).get_span_context()
            links.append(Link(cause))
        return self._tracer.start_span(name, _below(parent), kind, attributes, links)

    def close(self) -> None:
        """Send what is left, at most a few seconds long."""
        if self._provider is not None:
            self._provider.shutdown()


def finish(
    span: Span | None, error: str | None = None, attributes: Mapping[str, Value] | None = None
) -> None:
    """End a span; with `error` (a closed-set name such as an ErrorType) as failed."""
    if span is None:
        return
    span.set_attributes(attributes or {})
    if error:
        span.set_attribute(ERROR_TYPE, error)
        span.set_status(Status(StatusCode.ERROR, error))
    span.end(time.time_ns())


def context_of(span: Span | None, otherwise: str | None) -> str | None:
    """The traceparent for messages sent under this span; `otherwise` when there is none."""
    if span is None:
        return otherwise
    context = span.get_span_context()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def start_tracing(service: str) -> Tracing:
    """The tracing of this process: on when an OTLP endpoint is in the environment and
    OTEL_SDK_DISABLED is not.
    """
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or os.environ.get(
        "OTEL_EXPORTER_OTLP_ENDPOINT"
    )
    if not endpoint or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return Tracing(None)
    # The exporter takes 100 ms to import: only those pay who use it.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    name = os.environ.get("OTEL_SERVICE_NAME") or f"haltpoint-{service}"
    provider = TracerProvider(
        resource=Resource.create({"service.name": name, "service.namespace": "haltpoint"})
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(session=_session(endpoint))))
    return Tracing(provider.get_tracer("haltpoint"), provider)


def _session(endpoint: str) -> "requests.Session | None":
    """The HTTP session to a receiver on this machine, where no proxy leads; None: the exporter's
    own.
    """
    if not is_this_machine(urlsplit(endpoint).hostname or ""):
        return None
    import requests

    session = requests.Session()
    session.trust_env = False
    return session


def _below(traceparent: str | None) -> Context | None:
    """The context of a span under this one; None: a trace begins."""
    if traceparent is None:
        return None
    return _W3C.extract({"traceparent": traceparent}, Context())
