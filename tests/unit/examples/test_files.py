"""The tools of the files example: no path leaves the folder, and a text is replaced as a whole or
not at all.
"""

from pathlib import Path

import pytest

from examples.files import tools
from haltpoint import ToolError
from haltpoint.contracts.results import ErrorType


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    (tmp_path / "secret.md").write_text("secret")
    monkeypatch.setattr(tools, "FOLDER", folder)
    return folder


@pytest.mark.parametrize(
    "path",
    [
        "../secret.md",
        "notes/../../secret.md",
        "{outside}/secret.md",
        "link.md",
        "way/secret.md",
        ".",
        "",
        "/",
    ],
)
def test_no_path_leaves_the_folder(folder: Path, path: str) -> None:
    (folder / "link.md").symlink_to(folder.parent / "secret.md")
    (folder / "way").symlink_to(folder.parent)
    path = path.format(outside=folder.parent)
    for leave in (
        lambda: tools.read_file(path),
        lambda: tools.write_file(path, "mine"),
        lambda: tools.edit_file(path, "secret", "mine"),
        lambda: tools.describe_file(path),
        lambda: tools.delete_file(path),
    ):
        with pytest.raises(ToolError, match="not in the folder") as caught:
            leave()
        assert caught.value.error_type is ErrorType.PERMISSION
    assert (folder.parent / "secret.md").read_text() == "secret"


def test_a_path_that_can_be_none_is_refused_before_anything_happens(folder: Path) -> None:
    for path in ("a\0b", "x" * 300):
        with pytest.raises(tools.UNCHANGED):
            tools.write_file(path, "mine")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(("text", "times"), [("a", 0), ("b b", 2)])
def test_an_edit_has_to_be_clear(folder: Path, text: str, times: int) -> None:
    tools.write_file("a.md", text)
    with pytest.raises(ToolError, match=f"these words {times} times"):
        tools.edit_file("a.md", "b", "c")
    assert (folder / "a.md").read_text() == text
