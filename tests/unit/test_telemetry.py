"""Traces: one span for a whole chain, others under it; a chain sampled out makes none."""

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased, Sampler
from opentelemetry.semconv._incubating.attributes import (
    error_attributes,
    gen_ai_attributes,
    messaging_attributes,
)
from opentelemetry.trace import SpanKind

from haltpoint.contracts.work.tasks import Task
from haltpoint.runtime.observability import conventions, telemetry
from haltpoint.runtime.observability.telemetry import Tracing
from tests.support.builders import literal_task

# The example of the W3C recommendation.
CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def tracing(sampler: Sampler = ALWAYS_ON) -> tuple[Tracing, InMemorySpanExporter]:
    spans = InMemorySpanExporter()
    return Tracing(SimpleSpanProcessor(spans), sampler=ParentBased(sampler)), spans


def one(spans: InMemorySpanExporter, name: str) -> ReadableSpan:
    (found,) = [span for span in spans.get_finished_spans() if span.name == name]
    return found


def submitted(traced: Tracing, parent: str | None = None, error: str | None = None) -> str:
    """The traceparent of a chain that lived from the 1st to the 4th second of 1970."""
    begun = traced.submission("c1", Task(goal="x"), parent)
    telemetry.finish(begun.sent)
    assert begun.trace is not None
    assert begun.own is not None
    traced.write(begun.own, begun.trace, (1000, 4000), {}, error)
    return begun.trace


def test_a_decision_is_a_child_of_the_submission_and_linked_to_its_cause() -> None:
    traced, spans = tracing()
    root = submitted(traced)
    action = traced.start(
        "execute_tool lookup", root, SpanKind.INTERNAL, {conventions.TOOL_NAME: "lookup"}
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
    assert began.context is not None
    assert root.split("-")[2] == f"{began.context.span_id:016x}"


def test_the_sampler_of_those_who_see_the_end_changes_nothing() -> None:
    """A chain is sampled once: where it ends another part of all traces may be kept."""
    begins, _ = tracing()
    ends, spans = tracing(ALWAYS_OFF)
    begun = begins.submission("c1", Task(goal="x"))
    assert begun.own is not None
    ends.write(begun.own, str(begun.trace), (1, 2), {}, None)
    assert one(spans, "invoke_agent haltpoint").context is not None


def test_a_chain_that_fails_says_so_with_its_code() -> None:
    traced, spans = tracing()
    submitted(traced, error="HP-201")
    failed = one(spans, "invoke_agent haltpoint")
    assert failed.attributes is not None
    assert failed.attributes["error.type"] == "HP-201"
    assert not failed.status.is_ok


@pytest.mark.parametrize(
    ("task", "skill", "title"),
    [
        (Task(goal="x"), "", "invoke_agent haltpoint"),
        (Task(goal="x", agent="billing"), "", "invoke_agent billing"),
        (literal_task(), "", "invoke_workflow plan"),
        (literal_task(), "write-a-note", "invoke_workflow write-a-note"),
    ],
)
def test_a_chain_is_an_agent_or_a_workflow_by_the_conventions(
    task: Task, skill: str, title: str
) -> None:
    assert telemetry.title_of(task, skill) == title
    about = telemetry.about_chain("c1", title, task)
    operation, name = title.split()
    assert about["gen_ai.operation.name"] == operation
    assert about["gen_ai.agent.name"] == name
    assert about.get("gen_ai.workflow.name") == (name if operation == "invoke_workflow" else None)


def test_the_names_are_those_of_the_conventions() -> None:
    """As the package of OpenTelemetry for Python has them; what is ours says so."""
    known = {
        text
        for module in (gen_ai_attributes, messaging_attributes, error_attributes)
        for name, text in vars(module).items()
        if name.isupper()
    }
    names = {
        text for name, text in vars(conventions).items() if name.isupper() and isinstance(text, str)
    }
    assert {name for name in names - known if not name.startswith("haltpoint.")} == set()
    operations = {value.value for value in gen_ai_attributes.GenAiOperationNameValues}
    assert {operation.value for operation in conventions.Operation} <= operations
