"""What is published: the wheel has what a user runs, the sdist what a developer needs, the index
page works alone.
"""

import re
import tarfile
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path

import pytest

from tests.support.wheel import build


@pytest.fixture
def wheel(tmp_path: Path) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(build("wheel", tmp_path)) as opened:
        yield opened


def test_the_wheel_has_one_example_with_its_files_and_nothing_of_the_checkout(
    wheel: zipfile.ZipFile,
) -> None:
    names = wheel.namelist()
    contacts = {"tools.py", "contacts.csv", "friends.vcf", "skills/tell-somebody/plan.json"}
    examples = {
        name.removeprefix("haltpoint/examples/")
        for name in names
        if name.startswith("haltpoint/examples/")
    }
    assert {f"contacts/{name}" for name in contacts} <= examples
    assert {name for name in examples if not name.startswith("contacts/")} == {"__init__.py"}
    assert all(name.startswith("haltpoint") for name in names)


def test_links_and_pictures_of_the_index_page_are_absolute(wheel: zipfile.ZipFile) -> None:
    (name,) = (one for one in wheel.namelist() if one.endswith("/METADATA"))
    page = message_from_bytes(wheel.read(name))
    targets = re.findall(r"\]\(([^)]+)\)", str(page.get_payload()))
    assert len(targets) > 10
    assert [target for target in targets if not target.startswith("https://")] == []
    assert all(
        url.partition(", ")[2].startswith("https://") for url in page.get_all("Project-URL", [])
    )


def test_the_sdist_has_the_sources_their_tests_and_the_pages_and_no_more(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path)) as opened:
        inside = {name.partition("/")[2] for name in opened.getnames()}
    assert {
        "README.md",
        "CHANGELOG.md",
        "docs/contract.md",
        "tests/unit/test_distributions.py",
    } <= inside
    assert {name.partition("/")[0] for name in inside if "/" in name} == {
        "deploy", "docs", "evals", "examples", "services", "shared", "tests",
    }  # fmt: skip
