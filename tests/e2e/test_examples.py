"""The examples that run by one command, over real processes, with a model that behaves and with one that does not."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from haltpoint.examples.cms.site import Site
from tests.e2e.running import CHECKOUT
from tests.support import PATIENCE

pytestmark = pytest.mark.parametrize("model", ["well-behaved", "careless"])


def told_by(example: str, model: str, **variables: str) -> str:
    """What the example's command prints."""
    done = subprocess.run(
        [sys.executable, "-m", f"haltpoint.examples.{example}", model],
        env={**os.environ, **variables, "COLUMNS": "200"},
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert ("✗ called a tool with invalid arguments" in done.stdout) == (model == "careless")
    return done.stdout


def test_the_site_is_what_was_asked_for_and_less_is_read_by_section(model: str, tmp_path: Path) -> None:
    database = tmp_path / "site.db"
    told = told_by("cms", model, CMS_DATABASE=str(database))
    site = Site(database)
    (hero,) = site.page("opening-hours", None, whole=True).sections
    assert hero.model_dump(include={"type", "heading", "text"}) == {
        "type": "hero", "heading": "We are open", "text": "Daily from ten to five."
    }  # fmt: skip
    assert [one.type for one in site.page("visit", None, whole=False).sections] == ["text"]
    assert site.page("about-us", None, whole=False).sections[0].heading == "Fennick Point"
    assert re.search(r"STOP  deleteSection.*Wear good shoes, it is windy.*→ approve", told, re.DOTALL)
    tokens = re.search(r"Tokens: (\d+) with include_content, (\d+) with getSectionContent", told)
    assert tokens
    assert int(tokens[2]) < int(tokens[1])


def test_the_folder_has_what_was_asked_for_and_nothing_is_outside(model: str, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    told = told_by("files", model, FILES_FOLDER=str(folder))
    files = {str(one.relative_to(tmp_path)): one.read_text() for one in tmp_path.rglob("*") if one.is_file()}
    assert files == {"files/notes/today.md": "Water the cactus"}
    assert re.search(r"STOP  delete_file.*Buy a watering can.*→ approve", told, re.DOTALL)
    assert "✗ write_file: PERMISSION" in told
    assert not Path("/tmp/haltpoint-outside.md").exists()
