"""The document keeps its word: 3.1, valid, and the gateway answers as it says whatever is sent."""

import asyncio
import os
import re
import sys
from pathlib import Path

from openapi_spec_validator import validate

from tests.integration.gateway.conftest import ADMIN, System

EXAMPLES = os.environ.get("API_EXAMPLES", "")
"""Of each route; without it a few, and none of those that are made from the document alone."""


async def test_the_document_is_valid_openapi_3_1(system: System) -> None:
    document = (await system.http.get("/openapi.json")).json()
    assert document["openapi"].startswith("3.1")
    validate(document)


async def test_every_error_is_documented_as_a_problem(system: System) -> None:
    document = (await system.http.get("/openapi.json")).json()
    for path, item in document["paths"].items():
        for operation in item.values():
            for status, response in operation["responses"].items():
                if status.startswith(("4", "5")):
                    assert list(response["content"]) == ["application/problem+json"], (path, status)


async def test_the_gateway_answers_as_documented_whatever_is_sent(
    system: System, url: str, tmp_path: Path
) -> None:
    await system.asked()
    # Made once, beside load in more time than schemathesis waits.
    await system.http.get("/openapi.json")
    phases = "examples,coverage,fuzzing" if EXAMPLES else "examples,fuzzing"
    amount = ("--max-examples", EXAMPLES or "3", "--phases", phases)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json"),
        *("--header", f"Authorization: Bearer {ADMIN}", *amount),
        *(
            "--no-color",
            "--generation-database",
            "none",
            "--no-shrink",
        ),
        # A plan may have the right form and yet name a tool that nobody serves.
        *("--exclude-checks", "positive_data_acceptance"),
        *("--exclude-path", "/v1/events"),  # it never ends
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    text = output.decode()
    assert process.returncode == 0, text
    cases = re.search(r"(\d+) generated, \1 passed", text)
    assert cases is not None
    assert not EXAMPLES or int(cases[1]) >= 2000
