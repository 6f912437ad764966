"""The pages lead somewhere: each link and each path that they name is there."""

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

from haltpoint.runtime.config.key_origin import KEY_VARIABLE, URL_VARIABLE
from haltpoint.runtime.config.settings import Settings

CHECKOUT = Path(__file__).parents[2]
ROOTS = ("shared", "services", "tests", "docs", "examples", "deploy", ".ci", ".github")
PAGES = [
    *CHECKOUT.glob("*.md"),
    *CHECKOUT.glob("docs/**/*.md"),
    *CHECKOUT.glob("services/*/README.md"),
    *CHECKOUT.glob("examples/*/README.md"),
    *CHECKOUT.glob("shared/haltpoint/examples/*/README.md"),
]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one).lower().replace(" ", "-") for one in headings}


def paths(text: str) -> list[str]:
    """The files and folders in code spans. A bare file name behind a path is in the folder of that
    path.
    """
    found: list[str] = []
    for line in text.splitlines():
        folder = ""
        for span in re.findall(r"`([^`\s]+)`", line):
            if span.split("/")[0] in ROOTS and "*" not in span:
                found.append(span)
                folder = str(Path(span).parent) if Path(span).suffix else ""
            elif folder and re.fullmatch(r"\w+\.(py|lua)", span):
                found.append(f"{folder}/{span}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text()):
        name, _, heading = target.partition("#")
        file = page.parent / name if name else page
        assert file.exists(), target
        assert not heading or heading in anchors(file), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_paths_that_a_page_names_are_there(page: Path) -> None:
    if page.name != "CHANGELOG.md":
        assert [name for name in paths(page.read_text()) if not (CHECKOUT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_settings_that_a_page_names_are_settings(page: Path) -> None:
    if page.name == "CHANGELOG.md":
        return
    named = set(re.findall(r"\bHALTPOINT_[A-Z_]+[A-Z]\b", page.read_text()))
    for variable in named - {KEY_VARIABLE, URL_VARIABLE}:
        name = variable.removeprefix("HALTPOINT_")
        fields = Settings.model_fields
        for part in name.lower().split("__"):
            assert part in fields, name
            fields = getattr(fields[part].annotation, "model_fields", {})


LOADED: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_of_yaml_toml_and_json_can_be_read(page: Path) -> None:
    fenced = r"^( *)```(json|toml|yaml)\n(?!--8<--)(.*?)^\1```$"
    for _, kind, block in re.findall(fenced, page.read_text(), re.MULTILINE | re.DOTALL):
        LOADED[kind](dedent(block))


def test_the_tests_that_hold_the_guarantees_are_there() -> None:
    page = (CHECKOUT / "docs/explanation/promises.md").read_text()
    named = re.findall(r"`((?:unit|integration|properties|chaos|proofs)/[\w/]+\.py)`", page)
    assert len(named) > 15
    assert [name for name in named if not (CHECKOUT / "tests" / name).exists()] == []


def test_the_changelog_has_a_section_for_this_version() -> None:
    """Keep a Changelog: what is coming first, then versions with dates."""
    page = (CHECKOUT / "CHANGELOG.md").read_text()
    version = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["version"]
    sections = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert sections[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", one) for one in sections[1:])
    assert f"[{version}]" in sections[1]
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", page, re.MULTILINE)) <= kinds


def test_the_workflow_runs_what_continuous_integration_runs_on_each_python_and_server() -> None:
    workflow = yaml.safe_load((CHECKOUT / ".github/workflows/ci.yml").read_text())
    job = workflow["jobs"]["check"]
    assert ".ci/run" in [step.get("run") for step in job["steps"]]
    matrix = job["strategy"]["matrix"]
    classifiers = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["classifiers"]
    supported = [
        one.rpartition(" ")[2] for one in classifiers if re.search(r"Python :: 3\.\d+$", one)
    ]
    assert matrix["python"] == supported
    assert [*matrix["server"], *(one["server"] for one in matrix["include"])] == [
        "valkey",
        "redis:7.0",
        "redis:8",
    ]
