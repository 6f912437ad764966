"""`haltpoint policy show` and `policy check` (C2)."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from haltpoint.cli.main import app
from haltpoint.runtime.config.policy_file import SHIPPED, read

WRONG = """
strike = 3

unasked_effects = 5
repeated_effects = { "send*" = "never" }

[[patterns]]
pattern = "x"
tools = ["x"]

[[patterns]]
id = "deploy"
pattern = "(deploy"
tools = ["deploy_*"]

[[patterns]]
id = "file-write"
tool = ["write"]
"""


def typed(*words: str) -> Any:
    return CliRunner().invoke(app, ["policy", *words])


def test_c2_what_is_shipped_is_printed_as_a_policy_file(tmp_path: Path) -> None:
    shown = typed("show")
    assert (shown.exit_code, shown.stdout) == (0, SHIPPED.read_text())
    file = tmp_path / "policy.toml"
    file.write_text(shown.stdout)
    assert read(file) == read(None)
    assert json.loads(typed("show", "--json").stdout) == {"policy": shown.stdout}


@pytest.mark.parametrize(
    ("said", "on"),
    [
        ("", "ask-first, ask-first-german"),
        ('[[patterns]]\nid = "skill-run"\non = true\n', "skill-run, ask-first, ask-first-german"),
    ],
)
def test_c2_a_file_that_is_right_says_which_patterns_are_on(
    tmp_path: Path, said: str, on: str
) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(said)
    found = typed("check", str(file))
    assert found.exit_code == 0
    assert f"is valid; patterns that are on: {on}" in found.stderr
    assert json.loads(typed("check", str(file), "--json").stdout) == {"patterns": on.split(", ")}


def test_c2_all_that_is_wrong_with_a_file_is_named_at_once(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(WRONG)
    found = typed("check", str(file))
    assert found.exit_code == 2
    words = " ".join(found.stderr.split())
    assert words.startswith("HP-004")
    assert "strike is not a key; did you mean strikes?" in words
    assert "pattern 'deploy'.pattern: '(deploy' is not a regular expression" in words
    assert "pattern 'file-write'.tool is not a key; did you mean tools?" in words
    assert "pattern number 1.id: is missing" in words
    one_of_them = "must be 'ask', 'refuse' or 'allow'"
    assert [line for line in found.stderr.splitlines() if "_effects" in line] == [
        f"  - repeated_effects.send*: {one_of_them}",
        f"  - unasked_effects: {one_of_them}",
    ]


def test_the_address_of_a_notice_is_checked_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('[[notify]]\nname = "n"\nurl = "slakc://a/b/c"\n')
    done = typed("check", str(file))
    assert done.exit_code == 1
    assert "HP-006 the notices of 'n' go nowhere" in done.stderr
