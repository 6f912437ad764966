"""The spans of decisions: one for each event of a chain that is traced, and one for each agent's
chain that begins.
"""

from opentelemetry.trace import Span, SpanKind

from haltpoint.chain.model.outputs import Decision, StartChild
from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.contracts.events import ToExecutor
from haltpoint.runtime.observability import telemetry


class EventSpans:
    """The spans of one partition's events."""

    def __init__(self, tracing: telemetry.Tracing, partition: int) -> None:
        self._tracing = tracing
        self._attributes: dict[str, telemetry.Value] = {
            telemetry.MESSAGING_SYSTEM: "redis",
            telemetry.MESSAGING_OPERATION: "process",
            telemetry.MESSAGING_OPERATION_TYPE: "process",
            telemetry.MESSAGING_DESTINATION: Stream.EVENTS.value,
            telemetry.MESSAGING_PARTITION: str(partition),
            telemetry.MESSAGING_GROUP: GROUP[Stream.EVENTS].value,
        }

    def start(
        self, message: ToExecutor, chain_id: str, trace: str | None, spans: list[Span]
    ) -> Span | None:
        """The span of one decision; None when the chain is not traced. It is added to `spans`."""
        if not self._tracing.wanted(trace):
            return None
        name = message.type.rpartition(".")[0]
        about = {telemetry.MESSAGING_MESSAGE: message.id, telemetry.CHAIN: chain_id}
        span = self._tracing.start(
            f"process {name}",
            trace,
            SpanKind.CONSUMER,
            {**self._attributes, **about},
            caused_by=message.traceparent,
        )
        if span is not None:
            spans.append(span)
        return span

    def agents(self, decision: Decision, trace: str | None, spans: list[Span]) -> dict[str, str]:
        """The contexts of the chains of agents that a decision begins, by their ids: each has a
        span, which is added to `spans`. Of a chain that is not traced there are none.
        """
        begun: dict[str, str] = {}
        for output in decision.outputs:
            if isinstance(output, StartChild) and output.task.agent is not None:
                name = output.action.child
                title = telemetry.agent_span(output.task)
                about = telemetry.agent_attributes(name, output.task)
                span = self._tracing.start(title, trace, SpanKind.INTERNAL, about)
                if span is not None:
                    spans.append(span)
                    begun[name] = str(telemetry.context_of(span, trace))
        return begun
