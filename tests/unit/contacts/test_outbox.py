"""The outbox: one message per key, on disk, whoever writes."""

import subprocess
import sys
from pathlib import Path

from haltpoint.examples.contacts.outbox import Message, Outbox

LATE = Message("k1", "user_abc123", "John Doe", "john.doe@example.com", "I'm running late ✓")

SENDERS = """
import sys
from pathlib import Path
from haltpoint.examples.contacts.outbox import Message, Outbox
outbox = Outbox(Path(sys.argv[1]))
for n in range(40):
    outbox.send(Message(f"k{n}", "u", "n", "a", sys.argv[2]))
"""


def test_a_second_message_under_the_same_key_is_not_sent(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox.jsonl")
    first, _ = outbox.send(LATE)
    again, fresh = outbox.send(
        Message("k1", "user_def456", "John Smith", "jsmith@example.com", "else")
    )
    assert (again, fresh) == (first, False)
    assert outbox.read() == [first]


def test_nothing_was_sent_yet(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox.jsonl")
    assert outbox.read() == []
    assert outbox.find("k1") is None


def test_half_a_line_of_a_writer_that_died_is_no_message(tmp_path: Path) -> None:
    path = tmp_path / "outbox.jsonl"
    path.write_text('{"key": "k1", "to": "user_a')
    outbox = Outbox(path)
    assert outbox.read() == []
    sent, fresh = outbox.send(LATE)
    assert fresh
    assert outbox.read() == [sent]


def test_two_processes_share_it(tmp_path: Path) -> None:
    path = tmp_path / "outbox.jsonl"
    senders = [subprocess.Popen([sys.executable, "-c", SENDERS, str(path), name]) for name in "ab"]
    assert [sender.wait(30) for sender in senders] == [0, 0]
    assert sorted(message.key for message in Outbox(path).read()) == sorted(
        f"k{n}" for n in range(40)
    )
