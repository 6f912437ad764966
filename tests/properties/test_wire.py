"""Whatever lies on a stream, reading it gives a value and never an exception."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from haltpoint.contracts.catalogue import CATALOGUE, Stream
from haltpoint.runtime.streams.wire import Decoded, Rejected, decode, encode

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)
TYPES = st.sampled_from([row.type for row in CATALOGUE] + ["task.submitted.v2", "nothing"]) | JSON
ALMOST = st.fixed_dictionaries(
    {"type": TYPES},
    optional={
        name: JSON | st.text(min_size=1, max_size=8)
        for name in ("id", "source", "subject", "time", "traceparent", "specversion", "data")
    },
)
STREAMS = st.sampled_from(Stream)


@given(
    STREAMS,
    st.binary(max_size=200) | ALMOST.map(json.dumps).map(str.encode),
    st.binary(max_size=50),
)
@example(
    Stream.EVENTS,
    b'{"id":"1","source":"s","type":"task.submitted.v1","data":{"budget":{"turns":'
    + b"9" * 5000
    + b"}}}",
    b"",
)
@example(
    Stream.EVENTS,
    b'{"id":"1","source":"s","type":"task.submitted.v1","data":{"context":{"n":'
    + b"9" * 5000
    + b"}}}",
    b"",
)
@example(Stream.EVENTS, b'{"type":' + b"9" * 5000 + b"}", b"")
def test_decode_is_total(stream: Stream, data: bytes, body: bytes) -> None:
    decoded = decode(stream, {b"__data__": data, b"__body__": body})
    if isinstance(decoded, Decoded):
        again = decode(stream, {b"__data__": encode(decoded.message), b"__body__": body})
        assert again == decoded
    else:
        assert isinstance(decoded, Rejected)
