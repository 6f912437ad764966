"""What pages show in Python stands for itself: each block is the file that its first line names,
and runs as it is.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from haltpoint_tool_worker.registry import load

CHECKOUT = Path(__file__).parents[2]
PAGES = (
    "docs/guides/tools.md",
    "docs/guides/hooks.md",
    "docs/guides/faststream.md",
    "docs/guides/agents.md",
)


def files_of(page: str, folder: Path) -> list[str]:
    """The modules of a page, written into the folder."""
    blocks = re.findall(
        r"^```python\n# (\w+)\.py\n(.*?)^```$",
        (CHECKOUT / page).read_text(),
        re.MULTILINE | re.DOTALL,
    )
    for name, code in blocks:
        (folder / f"{name}.py").write_text(code)
    return [name for name, _ in blocks]


def test_every_block_says_which_file_it_is() -> None:
    for page in (*CHECKOUT.glob("docs/**/*.md"), *CHECKOUT.glob("services/*/README.md")):
        text = page.read_text()
        assert text.count("```python") == len(re.findall(r"```python\n# \w+\.py\n", text)), page
        assert "```python" not in text or str(page.relative_to(CHECKOUT)) in PAGES


def test_the_contract_is_short_and_says_where_its_rules_end() -> None:
    page = (CHECKOUT / "docs/contract.md").read_text()
    assert len(re.findall(r"\S*\w\S*", page)) <= 3500  # words: the bars of tables are none
    assert max(map(len, page.splitlines())) <= 130
    ends = page.count("**Limit:**") + page.count("**Not promised**")
    assert ends > 6  # what its rules do not cover is said where they are


@pytest.mark.parametrize("page", PAGES)
def test_the_tests_that_a_page_shows_pass(page: str, tmp_path: Path) -> None:
    shown = files_of(page, tmp_path)
    (tmp_path / "test_imports.py").write_text(
        f"import {', '.join(shown)}\n\ndef test_imports(): ...\n"
    )
    run = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-c",
        "/dev/null",
        ".",
    ]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_hooks_that_the_page_shows_are_loaded_as_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files_of("docs/guides/hooks.md", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    told = re.search(r"HALTPOINT_HOOKS=(\S+)", (CHECKOUT / "docs/guides/hooks.md").read_text())
    assert told is not None
    registry = load(["haltpoint.examples.contacts.tools"], hooks=told[1].split(","))
    found = registry.hooks["send_message"]
    assert [one.name for one in (*found.pre, *found.post)] == told[1].split(",")
