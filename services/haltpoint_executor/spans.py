"""The spans that an executor writes: one for each event of a chain that is traced, and one for the
chain when it has ended.
"""

from opentelemetry.trace import Span, SpanKind

from haltpoint.chain.model.outputs import Decision, StartChild
from haltpoint.chain.model.state import Chain
from haltpoint.contracts.catalogue import GROUP, Stream
from haltpoint.contracts.events import ToExecutor
from haltpoint.runtime.observability import conventions, telemetry


class EventSpans:
    """The spans of one partition's events."""

    def __init__(self, tracing: telemetry.Tracing, partition: int) -> None:
        self._tracing = tracing
        self._begun: list[Span] = []
        self._attributes: dict[str, telemetry.Value] = {
            conventions.MESSAGING_SYSTEM: "redis",
            conventions.MESSAGING_OPERATION: "process",
            conventions.MESSAGING_OPERATION_TYPE: "process",
            conventions.MESSAGING_DESTINATION: Stream.EVENTS.value,
            conventions.MESSAGING_PARTITION: str(partition),
            conventions.MESSAGING_GROUP: GROUP[Stream.EVENTS].value,
        }

    def start(self, message: ToExecutor, chain_id: str, trace: str | None) -> Span | None:
        """The span of one decision, until `finish`; None when the chain is not traced."""
        if not self._tracing.wanted(trace):
            return None
        name = message.type.rpartition(".")[0]
        about = {conventions.MESSAGING_MESSAGE: message.id, conventions.CHAIN: chain_id}
        span = self._tracing.start(
            f"process {name}",
            trace,
            SpanKind.CONSUMER,
            {**self._attributes, **about},
            caused_by=message.traceparent,
        )
        if span is not None:
            self._begun.append(span)
        return span

    def finish(self) -> None:
        """What was decided is written."""
        for span in self._begun:
            telemetry.finish(span)
        self._begun.clear()

    def children(self, decision: Decision, trace: str | None) -> dict[str, str]:
        """The contexts of the chains that a decision begins, by their ids. Of a chain that is not
        traced there are none.
        """
        begun: dict[str, str] = {}
        for output in decision.outputs:
            if isinstance(output, StartChild):
                title = telemetry.title_of(output.task, output.action.tool)
                context = self._tracing.begin_below(title, trace)
                if context is not None:
                    begun[output.action.child] = context
        return begun

    def ended(self, chain: Chain, trace: str | None) -> None:
        """Write the span of a chain whose end is committed."""
        own = chain.task.handed.span
        if own is None or trace is None or not self._tracing.wanted(trace):
            return
        about = telemetry.about_chain(chain.id, own.title, chain.task)
        about[conventions.CHAIN_STATUS] = chain.status.value
        fault = chain.end.error
        times = chain.created_at, chain.updated_at
        code = None if fault is None else fault.code
        self._tracing.write(own, trace, times, about, code)
