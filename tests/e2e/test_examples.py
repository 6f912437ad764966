"""An example that runs by one command, over real processes, with a model that does not behave; all
are in tests/stories.
"""

import os
import re
import sys
from pathlib import Path

from tests.e2e.running import finished


def told_by(example: str, model: str = "careless", **variables: str) -> str:
    """What the example's command prints."""
    words = [sys.executable, "-m", f"examples.{example}", model]
    done = finished(words, {**os.environ, **variables, "COLUMNS": "200"})
    assert done.returncode == 0, done.stderr
    assert ("(strike 1)" in done.stdout) == (model == "careless")
    return done.stdout


def test_the_folder_has_what_was_asked_for_and_nothing_is_outside(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    told = told_by("files", FILES_FOLDER=str(folder))
    files = {
        str(one.relative_to(tmp_path)): one.read_text()
        for one in tmp_path.rglob("*")
        if one.is_file()
    }
    assert files == {"files/notes/today.md": "Water the cactus"}
    assert re.search(r"STOP  delete_file.*Buy a watering can.*→ approve", told, re.DOTALL)
    assert "✗ write_file: PERMISSION" in told
    assert not Path("/tmp/haltpoint-outside.md").exists()
