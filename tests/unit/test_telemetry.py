"""Traces: one root per chain, children under it, a wait written afterwards; a chain sampled out
makes none.
"""

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased, Sampler
from opentelemetry.trace import SpanKind

from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.observability import telemetry
from haltpoint.runtime.observability.telemetry import Tracing

# The example of the W3C recommendation.
CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def tracing(sampler: Sampler = ALWAYS_ON) -> tuple[Tracing, InMemorySpanExporter]:
    provider = TracerProvider(sampler=ParentBased(sampler))
    spans = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    return Tracing(provider.get_tracer("test"), provider), spans


def one(spans: InMemorySpanExporter, name: str) -> ReadableSpan:
    (found,) = [span for span in spans.get_finished_spans() if span.name == name]
    return found


def submitted(traced: Tracing, parent: str | None = None) -> str:
    root, span = traced.submission("c1", Task(goal="x"), parent)
    telemetry.finish(span)
    assert root is not None
    return root


def test_a_decision_is_a_child_of_the_submission_and_linked_to_its_cause() -> None:
    traced, spans = tracing()
    root = submitted(traced)
    action = traced.start(
        "execute_tool lookup", root, SpanKind.INTERNAL, {telemetry.TOOL_NAME: "lookup"}
    )
    cause = telemetry.context_of(action, None)
    telemetry.finish(action)
    telemetry.finish(
        traced.start("process tool.completed", root, SpanKind.CONSUMER, {}, caused_by=cause)
    )

    began, decided, acted = (
        one(spans, "invoke_agent haltpoint"),
        one(spans, "process tool.completed"),
        one(spans, "execute_tool lookup"),
    )
    assert decided.parent is not None
    assert began.context is not None
    assert acted.context is not None
    assert decided.parent.span_id == began.context.span_id
    assert [link.context.span_id for link in decided.links] == [acted.context.span_id]


def test_the_chain_joins_the_trace_of_its_caller() -> None:
    traced, spans = tracing()
    root = submitted(traced, CALLER)
    assert root.startswith("00-0af7651916cd43dd8448eb211c80319c-")
    began = one(spans, "invoke_agent haltpoint")
    assert began.parent is not None
    assert f"{began.parent.span_id:016x}" == "b7ad6b7169203331"
