"""One recorded message of each kind: what is on the wire today has to be read, and written, the
same way tomorrow.
"""

import json
from pathlib import Path

import pytest

from haltpoint.contracts.catalogue import CATALOGUE, Row
from haltpoint.runtime.streams.wire import Decoded, decode, encode

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("row", CATALOGUE, ids=lambda row: row.type)
def test_a_message_is_read_and_written_as_it_was_recorded(row: Row) -> None:
    recorded = (GOLDEN / f"{row.type}.json").read_bytes()
    decoded = decode(row.stream, {b"__data__": recorded})
    assert isinstance(decoded, Decoded), decoded
    assert type(decoded.message) is row.message
    assert json.loads(encode(decoded.message)) == json.loads(recorded)


def test_every_recording_is_of_a_message_that_exists() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {row.type for row in CATALOGUE}
