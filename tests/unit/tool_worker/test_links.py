"""Links out of a declared folder (C13), over real files."""

from pathlib import Path
from typing import Any

import pytest

from haltpoint.contracts.tools import ToolSpec
from haltpoint_tool_worker.running.links import reasons_for_links


@pytest.mark.parametrize(
    ("value", "asked"),
    [
        ("a.txt", False),
        ("out/new.txt", False),
        ("link/a.txt", True),
        ("new/deep/a.txt", False),
        ("../elsewhere/a.txt", False),
        ("bad\0name", False),
        (7, False),
    ],
)
def test_c13_a_link_that_leads_out_of_the_folder_is_asked_about(tmp_path: Path, value: Any, asked: bool) -> None:
    """What is outside by its words alone the core has judged before."""
    folder = tmp_path / "files"
    (folder / "out").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    spec = ToolSpec(name="keep", targets={"path": str(folder), "to": ""})
    found = reasons_for_links(spec, {"path": value, "to": "link/a.txt"})
    assert (found != ()) == asked
    assert all(str(tmp_path / "elsewhere") in one.words and one.parameter == "path" for one in found)
