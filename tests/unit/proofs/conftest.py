from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.proofs.history import check
from tests.proofs.records import Record, Recorder
from tests.proofs.rules import Rule


@pytest.fixture
def judge(tmp_path: Path) -> Iterator[Callable[..., set[Rule]]]:
    """Give it histories, one list of records per actor, written in that order; get the rules that
    were broken.
    """
    recorders: list[Recorder] = []

    def write_and_check(*actors: list[Record]) -> set[Rule]:
        for number, records in enumerate(actors):
            recorders.append(recorder := Recorder(tmp_path, f"actor{number}"))
            for record in records:
                recorder.write(record)
        return {violation.rule for violation in check(tmp_path.glob("*.jsonl"))}

    yield write_and_check
    for recorder in recorders:
        recorder.close()
