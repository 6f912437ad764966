"""Commands whose output goes nowhere: a reader that has gone, and a disk that is full."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LONG = ["policy", "show"]


def started(tmp_path: Path, words: list[str], stdout: int, stderr: int) -> "subprocess.Popen[str]":
    environment = {**os.environ, "HALTPOINT_STATE_DIR": str(tmp_path)}
    return subprocess.Popen(
        [sys.executable, "-m", "haltpoint", *words],
        env=environment,
        stdout=stdout,
        stderr=stderr,
        text=True,
    )


def test_a_reader_that_has_gone_ends_a_command_quietly(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = started(tmp_path, LONG, writer, subprocess.PIPE)
    os.close(writer)
    _, words = process.communicate(timeout=60)
    assert words == ""


@pytest.mark.parametrize("typed", [LONG, ["schema", "--help"]])
def test_a_full_disk_is_told_in_one_line_and_is_no_bug(tmp_path: Path, typed: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        process = started(tmp_path, typed, full.fileno(), subprocess.PIPE)
        _, words = process.communicate(timeout=60)
    assert process.returncode == 1
    assert words.startswith("HP-041 the output cannot be written: ")
    assert "bug" not in words
    assert "Traceback" not in words


@pytest.mark.parametrize("words", [LONG, ["no-such-verb"]])
def test_with_stderr_full_as_well_it_still_ends(tmp_path: Path, words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        process = started(tmp_path, words, full.fileno(), full.fileno())
        assert process.wait(timeout=60) in (1, 2, 120)
