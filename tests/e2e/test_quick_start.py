"""How soon a command starts: by what it imports, which load beside the test cannot change."""

import subprocess
import sys

import pytest

from tests.e2e.running import CHECKOUT, Running

SERVICES = {
    "faststream",
    "fastapi",
    "uvicorn",
    "uvloop",
    "structlog",
    "stamina",
    "prometheus_client",
}
"""What only services need; half a second of imports."""

CHAIN = {"jsonschema", "haltpoint.chain.model.schemas"}
CLIENT = {"pydantic", "httpx", "asyncio", "haltpoint.contracts"}


@pytest.mark.parametrize(
    ("words", "spared"),
    [
        (("--help",), {*SERVICES, *CHAIN, *CLIENT, "redis"}),
        (("inbox",), {*SERVICES, *CHAIN, "redis", "click"}),
        (("run", "Tell John hello", "--detach"), {*SERVICES, *CHAIN, "redis"}),
    ],
)
def test_a_command_imports_what_it_needs_and_no_more(
    system: Running, words: tuple[str, ...], spared: set[str]
) -> None:
    done = system.process(*words, PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == 0, done.stderr
    imported = {
        line.rpartition("|")[2].strip()
        for line in done.stderr.splitlines()
        if "import time:" in line
    }
    assert "haltpoint.cli.main" in imported
    assert spared & imported == set()


def test_the_keeper_imports_no_service() -> None:
    code = "import sys, haltpoint.cli.local.system; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    assert {*SERVICES, *CHAIN, "httpx"} & {*done.stdout.split()} == set()
