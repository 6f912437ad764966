"""Traces: where spans begin and end, in one place; their names are in `conventions`.

One trace per chain, across all processes. Its tree is three deep whatever the chain's length:

    invoke_agent haltpoint                  the chain, from its submission to its end
    ├── send task.submitted                 its submission (gateway, or executor)
    └── process task.submitted … tool.completed   a decision, linked to its cause
        ├── execute_tool lookup_contacts    the tool worker
        └── chat qwen2.5                    the planner

Between a question and the decision `process human.answered` a person was thinking.

The chain's own span has the name of its agent; one with a literal plan is a workflow. It gets its
ids when the chain begins (`OwnSpan` in what the task was handed), and is written by the executor
that commits the chain's end, so it is as long as the chain. A chain that another one begins has
such a span, too, below the decision that began it.

Its context is in the chain's hash (`trace`); a message carries the context of the decision that
sent it, so context travels in the messages and in nothing else. Whether a chain is sampled is
decided once, at its submission, by the standard OTEL_TRACES_SAMPLER; a chain that is sampled out
costs nothing anywhere, and is still whole in its log. Spans leave by OTLP over HTTP when
OTEL_EXPORTER_OTLP_ENDPOINT (or its traces variant) is set; otherwise nothing starts.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler
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

from haltpoint.contracts.base import value
from haltpoint.contracts.work.tasks import OwnSpan, Task
from haltpoint.runtime.config.addresses import is_this_machine
from haltpoint.runtime.observability import conventions
from haltpoint.runtime.observability.conventions import Operation

Value = str | int | float | bool

_SCOPE: Final = "haltpoint"
_MS: Final = 1_000_000
"""Nanoseconds."""

_SAMPLED: Final = frozenset("13579bdf")
"""Last digits of a traceparent that is sampled."""

_TRACEPARENT: Final = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
"""That of W3C, version 00."""
_W3C: Final = TraceContextTextMapPropagator()


def title_of(task: Task, skill: str = "") -> str:
    """The name of a chain's own span; of a skill's chain with the skill's name."""
    if task.agent is None and task.plan is not None:
        return f"{Operation.INVOKE_WORKFLOW} {skill or 'plan'}"
    return f"{Operation.INVOKE_AGENT} {task.agent or 'haltpoint'}"


def about_chain(chain_id: str, title: str, task: Task) -> dict[str, Value]:
    """The attributes of a chain's own span."""
    operation, _, name = title.partition(" ")
    attributes: dict[str, Value] = {
        conventions.OPERATION: operation,
        conventions.PROVIDER: "haltpoint",
        conventions.AGENT: name,
        conventions.CHAIN: chain_id,
        conventions.GOAL_GIVEN: bool(task.goal),
    }
    if operation == Operation.INVOKE_WORKFLOW:
        attributes[conventions.WORKFLOW] = name
    if task.conversation_id is not None:
        attributes[conventions.CONVERSATION] = task.conversation_id
    return attributes


@value
class Submission:
    """The beginning of a chain's trace."""

    trace: str | None
    """The chain's traceparent."""
    own: OwnSpan | None = None
    """Its own span; None: it is not traced."""
    sent: Span | None = None
    """The span of its submission, to be finished when the task is accepted."""


@dataclass
class _Given(IdGenerator):
    """Gives each new span the ids that are put here before."""

    trace: int = 0
    span: int = 0

    def generate_trace_id(self) -> int:
        """The trace of a span that has none above."""
        return self.trace

    def generate_span_id(self) -> int:
        """The span's own id."""
        return self.span


class Tracing:
    """The spans of one service. Without a processor every method is a cheap no-op that passes the
    context on.
    """

    def __init__(
        self,
        processor: SpanProcessor | None = None,
        resource: Resource | None = None,
        sampler: Sampler | None = None,
    ) -> None:
        """`processor` takes the spans. `sampler`: default is that of the environment."""
        self._tracer: Tracer | None = None
        if processor is None:
            return
        self._provider = TracerProvider(sampler, resource)
        self._given = _Given()
        # What is written here was sampled when its chain began.
        chains = TracerProvider(
            ALWAYS_ON, resource, id_generator=self._given, shutdown_on_exit=False
        )
        for provider in (self._provider, chains):
            provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer(_SCOPE)
        self._chains = chains.get_tracer(_SCOPE)

    def submission(self, chain_id: str, task: Task, parent: str | None = None) -> Submission:
        """Begin the trace of a chain.

        `parent` is the caller's own traceparent, when it sent a valid one: the chain then joins
        that trace.
        """
        joined = parent if parent and _TRACEPARENT.fullmatch(parent) else None
        if self._tracer is None:
            return Submission(joined)
        title = title_of(task)
        # Not ended here: `write` does that, with the same ids.
        own = self._tracer.start_span(
            title, _below(joined), attributes=about_chain(chain_id, title, task)
        )
        trace = context_of(own, None)
        about = {conventions.CHAIN: chain_id, **conventions.SENDING}
        sent = self.start("send task.submitted", trace, SpanKind.PRODUCER, about)
        return Submission(trace, OwnSpan(title=title, parent=joined or ""), sent)

    def begin_below(self, title: str, parent: str | None) -> str | None:
        """The traceparent of the own span of a chain that a decision begins; None: not traced."""
        return context_of(self.start(title, parent, SpanKind.INTERNAL, {}), None)

    def write(
        self,
        own: OwnSpan,
        traceparent: str,
        times: tuple[int, int],
        attributes: Mapping[str, Value],
        error: str | None,
    ) -> None:
        """Write the own span of a chain that has ended. `times`: its begin and end in ms."""
        if self._tracer is None:
            return
        began, ended = times
        self._given.trace, self._given.span = (
            int(part, 16) for part in traceparent.split("-")[1:3]
        )
        span = self._chains.start_span(
            own.title, _below(own.parent or None), attributes=attributes, start_time=began * _MS
        )
        finish(span, error, ended=max(began, ended) * _MS)

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
        if self._tracer is not None:
            self._provider.shutdown()


def finish(
    span: Span | None,
    error: str | None = None,
    attributes: Mapping[str, Value] | None = None,
    ended: int | None = None,
) -> None:
    """End a span, at `ended` (ns, default: now); with `error` (a closed-set name such as an
    ErrorType) as failed.
    """
    if span is None:
        return
    span.set_attributes(attributes or {})
    if error:
        span.set_attribute(conventions.ERROR_TYPE, error)
        span.set_status(Status(StatusCode.ERROR, error))
    span.end(ended)


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
        return Tracing()
    # They take 100 ms to import: only those pay who use them. No proxy leads to this machine.
    import requests
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    session = requests.Session()
    session.trust_env = not is_this_machine(urlsplit(endpoint).hostname or "")
    exporter = OTLPSpanExporter(session=session)
    name = os.environ.get("OTEL_SERVICE_NAME") or f"haltpoint-{service}"
    resource = Resource.create({"service.name": name, "service.namespace": "haltpoint"})
    return Tracing(BatchSpanProcessor(exporter), resource)


def _below(traceparent: str | None) -> Context | None:
    """The context of a span under this one; None: a trace begins."""
    if traceparent is None:
        return None
    return _W3C.extract({"traceparent": traceparent}, Context())
