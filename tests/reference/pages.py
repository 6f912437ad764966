"""The pages of the reference that are written from the code."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.reference import api, cli, evals, events, files, http, settings

FOLDER: Final = Path(__file__).parents[2] / "docs" / "reference"
PAGES: Final[dict[str, Callable[[], str]]] = {
    "cli.md": cli.written,
    "http.md": http.written,
    "python.md": api.written,
    "settings.md": settings.written,
    "policy.md": files.policy,
    "agents.md": files.agents,
    "events.md": events.written,
    "eval.md": evals.written,
}
