"""`make release`: each thing that it refuses, and that it builds what it does not refuse."""

import io
import shutil
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.release import Release, dead_links

CHECKOUT = Path(__file__).parents[2]
NOT_COPIED = (".git", ".venv", ".*_cache", ".hypothesis", "__pycache__", "build", "dist")
CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-01-31\n\n- New.\n"
GOOD = Release(declared="1.2.0", said="1.2.0", changelog=CHANGELOG, tags=("v1.1.0",))


def test_a_version_whose_changelog_command_tags_and_files_agree_is_not_refused() -> None:
    assert list(GOOD.refusals()) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"said": "1.1.0"}, "haltpoint --version says 1.1.0"),
        ({"declared": "1.3.0", "said": "1.3.0"}, "CHANGELOG.md begins with 1.2.0"),
        ({"changelog": "## [Unreleased]\n"}, "CHANGELOG.md has no version"),
        ({"changelog": CHANGELOG.replace(" - 2026-01-31", "")}, "has no date"),
        (
            {"changelog": CHANGELOG.replace("[Unreleased]\n", "[Unreleased]\n\n- More.\n")},
            "lines under Unreleased",
        ),
        ({"tags": ("v1.1.0", "v1.2.0")}, "the tag v1.2.0 is there"),
        ({"changes": ("?? new.py",)}, "not committed: ?? new.py"),
        ({"dead_links": ("README.md: gone.md",)}, "README.md: gone.md leads to no file"),
    ],
)
def test_a_version_is_refused(changed: dict[str, str], words: str) -> None:
    (refusal,) = replace(GOOD, **changed).refusals()  # type: ignore[arg-type]
    assert words in refusal
    assert ". " in refusal  # what is wrong, and what to do


def test_links_are_followed_inside_of_the_sdist(tmp_path: Path) -> None:
    pages = {
        "x-1/README.md": "[a](docs/a.md#top) [b](gone.md) [c](https://example.org) ![d](docs)",
        "x-1/docs/a.md": "[up](../README.md) [away](../src/a.py) [here](#top)",
    }
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        for name, text in pages.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    assert list(dead_links(tmp_path / "x.tar.gz")) == [
        "README.md: gone.md",
        "docs/a.md: ../src/a.py",
    ]


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def released(folder: Path) -> "subprocess.CompletedProcess[str]":
    """What `make release` runs, in a checkout."""
    command = [sys.executable, "-m", "tests.release"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_this_version_is_built_when_its_changelog_is_closed_and_nothing_is_published(
    tmp_path: Path,
) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(CHECKOUT, checkout, ignore=shutil.ignore_patterns(*NOT_COPIED))
    git(checkout, "init", "--quiet")
    changelog = checkout / "CHANGELOG.md"
    _, coming, versions = changelog.read_text().partition("## [Unreleased]\n")
    first = versions.index("\n## [")
    changelog.write_text(f"{coming}\n- A line that is coming.\n{versions[first:]}")
    git(checkout, "add", ".")
    git(checkout, "commit", "--quiet", "--message", "All")
    refused = released(checkout)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.count("  - ") == 1, refused.stderr
    assert "lines under Unreleased" in refused.stderr
    assert not (checkout / "dist").exists()
    changelog.write_text(changelog.read_text().replace("- A line that is coming.\n", ""))
    git(checkout, "commit", "--quiet", "--all", "--message", "Closed")
    done = released(checkout)
    assert done.returncode == 0, done.stderr
    assert "Nothing is published." in done.stdout
    kinds = {file.suffix for file in (checkout / "dist").iterdir()}
    assert kinds == {".whl", ".gz"}
