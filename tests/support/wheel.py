"""The distributions that `pip` and `uvx` get, built from this checkout."""

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


def build(target: str, folder: Path) -> Path:
    """The file of one target, `wheel` or `sdist`."""
    command = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "--target",
        target,
        "--directory",
        str(folder),
    ]
    subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True)
    (built,) = folder.iterdir()
    return built
