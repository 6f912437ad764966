"""A receiver of real OTLP over HTTP: what the four processes export, as spans to be looked at."""

import threading
from collections import defaultdict
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from haltpoint.contracts.base import JsonObject


@dataclass(frozen=True)
class Received:
    """One span. Ids in hex, times in nanoseconds; `status` 1 is OK and 2 an error."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    links: tuple[str, ...]
    started: int
    ended: int
    status: int
    attributes: JsonObject


@dataclass
class Receiver:
    """Spans by trace, as they come in."""

    traces: dict[str, list[Received]] = field(default_factory=lambda: defaultdict(list))
    port: int = 0

    def of_chain(self, chain_id: str) -> list[Received]:
        """All spans of the trace in which the chain was submitted."""
        for spans in list(self.traces.values()):
            if any(
                span.parent_id == "" and span.attributes.get("haltpoint.chain.id") == chain_id
                for span in spans
            ):
                return list(spans)
        return []

    def start(self) -> ThreadingHTTPServer:
        """Listen on a free port of this machine."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.take(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Nothing to tell."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = server.server_port
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def take(self, request: ExportTraceServiceRequest) -> None:
        """Add the spans of one export."""
        for resource in request.resource_spans:
            named = {item.key: _value(item.value) for item in resource.resource.attributes}
            for scope in resource.scope_spans:
                for span in scope.spans:
                    self.traces[span.trace_id.hex()].append(
                        Received(
                            service=str(named["service.name"]),
                            name=span.name,
                            trace_id=span.trace_id.hex(),
                            span_id=span.span_id.hex(),
                            parent_id=span.parent_span_id.hex(),
                            links=tuple(link.span_id.hex() for link in span.links),
                            started=span.start_time_unix_nano,
                            ended=span.end_time_unix_nano,
                            status=span.status.code,
                            attributes={item.key: _value(item.value) for item in span.attributes},
                        )
                    )


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    return None if kind is None else getattr(value, kind)
