"""What `make eval` prints beside the figures of the suite: the contract's time of a turn, and the
time that is saved by three reads of 200 ms side by side (as a share of the time in sequence).
"""

import tempfile
from pathlib import Path

from tests.bench.__main__ import measure_side_by_side
from tests.bench.contract import contract_ms


def main() -> None:
    print(f"contract time per turn, p99 in ms {contract_ms()['contract_p99_ms']:>27}")
    with tempfile.TemporaryDirectory() as folder:
        saved = 1 - measure_side_by_side(Path(folder))["three_reads_share"]
    print(f"time saved by three reads side by side {saved:>22.0%}")


if __name__ == "__main__":
    main()
