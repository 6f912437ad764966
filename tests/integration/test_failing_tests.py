"""One failing test never ends the run, whatever its report holds."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import PATIENCE
from tests.support.reports import plain

CHECKOUT = Path(__file__).parents[2]
HALF = r"\ud800"
FAILING = f"""
import enum
import pytest

class Name(enum.StrEnum):
    A = "a"

class Silent:
    def __repr__(self):
        raise RuntimeError("no words")
    def __str__(self):
        raise RuntimeError("no words")

class SilentError(Exception):
    def __str__(self):
        raise RuntimeError("no words")

def test_compares():
    assert "a\\n{HALF}" == "b\\n"

def test_says():
    assert False, "half a pair: {HALF}"

def test_raises():
    raise ValueError("{HALF}") from KeyError(Name.A)

def test_raises_many():
    raise ExceptionGroup("{HALF}", [ValueError("{HALF}")])

def test_raises_in_silence():
    raise SilentError

def test_records(record_property):
    record_property("object", Silent())
    record_property("name", Name.A)
    record_property("numbers", {{1: (Silent(), "{HALF}")}})
    assert False

def test_leaves():
    raise SystemExit("{HALF}")

@pytest.fixture
def broken():
    raise ValueError("{HALF}")

def test_is_not_set_up(broken):
    pass

@pytest.mark.parametrize("text", ["{HALF}", Name.A])
def test_is_named_by_it(text):
    assert not text, text

def test_is_skipped():
    pytest.skip("{HALF}")

@pytest.mark.xfail(reason="{HALF}")
def test_is_expected_to_fail():
    assert False

def test_comes_after_all_of_them():
    pass
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """A run of failing tests in a process of its own, as `make test` has them."""
    (file := tmp_path_factory.mktemp("failing") / "test_failing.py").write_text(FAILING)
    options = ["-c", "pyproject.toml", "-p", "tests.conftest", "-n", "1", "-p", "no:cacheprovider"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(file)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_every_test_behind_a_failing_one_is_run(run: subprocess.CompletedProcess[str]) -> None:
    assert "INTERNALERROR" not in run.stdout + run.stderr
    assert run.returncode == pytest.ExitCode.TESTS_FAILED
    assert "9 failed, 1 passed, 1 skipped, 1 xfailed, 1 error" in run.stdout


def test_what_cannot_be_sent_is_shown_as_python_writes_it(
    run: subprocess.CompletedProcess[str],
) -> None:
    assert r"half a pair: \ud800" in run.stdout


def test_a_report_is_plain_values() -> None:
    class Name(str):
        __slots__ = ()

    text = plain({Name("a"): [Name("b"), (1, None, b"c", 2.5, True)], "d": ValueError("\ud800")})
    assert text == {"a": ["b", (1, None, b"c", 2.5, True)], "d": r"ValueError('\ud800')"}
    assert [type(name) for name in text] == [str, str]
    assert type(text["a"][0]) is str
