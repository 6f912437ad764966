"""docs/guides/testing.md: its example is a script, and its tables name each key."""

import re
from pathlib import Path

from haltpoint.testing.script import Rule, When

PAGE = (Path(__file__).parents[2] / "docs/guides/testing.md").read_text()


def test_each_key_of_a_rule_is_explained() -> None:
    rows = " ".join(re.findall(r"^\| (`[^|]+) \|", PAGE, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", rows)) | {"when"} == {*Rule.model_fields, *When.model_fields}
