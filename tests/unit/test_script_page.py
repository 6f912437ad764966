"""docs/guides/testing.md: its example is a script, and its tables name each key."""

import re
from pathlib import Path

from haltpoint.testing.script import Rule, Script, When

PAGE = (Path(__file__).parents[2] / "docs/guides/testing.md").read_text()


def test_the_example_is_a_script(tmp_path: Path) -> None:
    [example] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "script.json"
    file.write_text(example)
    assert len(Script.read(file).rules) == 5


def test_each_key_of_a_rule_is_explained() -> None:
    rows = " ".join(re.findall(r"^\| (`[^|]+) \|", PAGE, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", rows)) | {"when"} == {*Rule.model_fields, *When.model_fields}
