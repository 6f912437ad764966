"""The demo, the pages and the tests of a user who has no checkout: a distribution in an empty
environment. It installs from the package index.
"""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import httpx
import pytest

from haltpoint.cli.gateway import KEY_FILE
from haltpoint.cli.local.system import free_port
from tests.e2e.running import CHECKOUT, answers
from tests.support import PATIENCE, wait_until
from tests.support.wheel import build


@pytest.fixture(scope="session", params=["wheel", "sdist"])
def haltpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of a distribution in an environment that has nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    built = build(request.param, folder / "dist")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    subprocess.run([folder / "venv" / "bin" / "pip", "install", "--quiet", built], check=True)
    return folder / "venv" / "bin" / "haltpoint"


ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def test_the_demo_runs_in_an_empty_environment(haltpoint: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [haltpoint, "demo"],
        env=ENVIRONMENT,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^0 wrong recipients,", done.stdout, re.MULTILINE)
    assert list(tmp_path.iterdir()) == []


async def test_the_pages_are_there_with_their_words_and_files(
    haltpoint: Path, tmp_path: Path
) -> None:
    port = free_port()
    environment = {
        **ENVIRONMENT,
        "HALTPOINT_STATE_DIR": str(tmp_path / "state"),
        "HALTPOINT_GATEWAY__PORT": str(port),
        "HALTPOINT_TOOLS": "haltpoint.examples.contacts.tools",
        "HALTPOINT_MODEL__BASE_URL": "http://127.0.0.1:9/v1",
        "HALTPOINT_MODEL__NAME": "none",
    }
    system = await asyncio.create_subprocess_exec(haltpoint, "up", env=environment, cwd=tmp_path)
    try:
        url = f"http://127.0.0.1:{port}"
        await wait_until(partial(answers, f"{url}/login"))
        async with httpx.AsyncClient(base_url=url, trust_env=False) as browser:
            key = (tmp_path / "state" / KEY_FILE).read_text().strip()
            fields = {"key": key, "next": "/tools"}
            headers = {"Origin": url}
            await browser.post("/login", data=fields, headers=headers)
            page = await browser.get("/tools")
            assert "lookup_contacts" in page.text
            for address in re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text):
                assert (await browser.get(address)).is_success, address
    finally:
        system.terminate()
        await asyncio.wait_for(system.wait(), PATIENCE)


def test_a_project_of_a_user_runs_its_tests(haltpoint: Path, tmp_path: Path) -> None:
    project = tmp_path / "payments"
    shutil.copytree(CHECKOUT / "examples/payments", project)
    pip = haltpoint.with_name("pip")
    subprocess.run([pip, "install", "--quiet", "pytest", "pytest-xdist"], check=True)
    done = subprocess.run(
        [haltpoint.with_name("pytest"), "-n", "4", "-o", "faulthandler_timeout=120"],
        env=ENVIRONMENT,
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "5 passed" in done.stdout, done.stdout + done.stderr
