"""The demo of a user who has no checkout: the wheel in an empty environment. It installs from the
package index.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.wheel import build


def test_the_demo_runs_from_the_wheel_in_an_empty_environment(tmp_path: Path) -> None:
    wheel, environment, elsewhere = (
        build("wheel", tmp_path / "dist"),
        tmp_path / "venv",
        tmp_path / "elsewhere",
    )
    elsewhere.mkdir()
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run([environment / "bin" / "pip", "install", "--quiet", wheel], check=True)
    done = subprocess.run(
        [environment / "bin" / "haltpoint", "demo"],
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        cwd=elsewhere,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^wrong recipients +0$", done.stdout, re.MULTILINE)
    assert list(elsewhere.iterdir()) == []
