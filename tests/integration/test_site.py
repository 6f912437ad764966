"""`make docs` builds the documentation as a site that needs no other host."""

import os
import re
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


def test_the_site_is_built_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=CHECKOUT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pages = [*tmp_path.rglob("*.html")]
    assert len(pages) > 30
    loaded = {
        source
        for page in pages
        for source in re.findall(
            r"<(?:script|img|link)[^>]+(?:src|href)=[\"']?(https?://[^\"'> ]+)", page.read_text()
        )
    }
    assert loaded == set()
