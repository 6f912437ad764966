"""The spans of decisions: one for each event of a chain that is traced, and one for each agent's
chain that begins.
"""

from opentelemetry.trace import Span, SpanKind

from haltpoint.chain.model.outputs import StartChild
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

    def start(self, message: ToExecutor, chain_id: str, trace: str) -> Span | None:
        """The span of one decision; None when the chain is not traced."""
        if not self._tracing.wanted(trace):
            return None
        name = message.type.rpartition(".")[0]
        about = {telemetry.MESSAGING_MESSAGE: message.id, telemetry.CHAIN: chain_id}
        return self._tracing.start(
            f"process {name}",
            trace,
            SpanKind.CONSUMER,
            {**self._attributes, **about},
            caused_by=message.traceparent,
        )

    def agent(self, begun: StartChild, trace: str) -> Span | None:
        """The span of a chain that carries out a call of an agent; None when the chain is not
        traced.
        """
        about = telemetry.agent_attributes(begun.action.child, begun.task)
        return self._tracing.start(
            telemetry.agent_span(begun.task), trace, SpanKind.INTERNAL, about
        )
