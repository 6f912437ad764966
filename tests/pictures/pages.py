"""Draw docs/pictures/page-*.png: the pages as they are, over a real system with Debian's Chromium.

.venv/bin/python -m tests.pictures.pages
"""

import tempfile
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Page, sync_playwright

from haltpoint.sync_client import SyncClient
from tests.e2e.agents import AGENTS_FILE
from tests.e2e.conftest import run_system
from tests.e2e.otlp import Receiver
from tests.e2e.running import CHECKOUT, Running
from tests.ui.conftest import CHROMIUM, QUIET

DOCS: Final = CHECKOUT / "docs" / "pictures"
WIDE: Final[dict[str, Any]] = {"viewport": {"width": 1000, "height": 700}}
DARK: Final[dict[str, Any]] = {**WIDE, "color_scheme": "dark"}
PHONE: Final[dict[str, Any]] = {"viewport": {"width": 360, "height": 720}, "color_scheme": "dark"}


def signed_in(browser: Browser, system: Running, **looks: Any) -> Page:
    """A page of a browser that looks so."""
    page = browser.new_context(**looks).new_page()
    page.goto(f"{system.url}/login")
    page.get_by_label("Key").fill(system.key)
    page.get_by_role("button", name="Sign in").click()
    return page


def draw(system: Running, client: SyncClient, browser: Browser) -> None:
    """All pictures."""
    done = client.run("Tell Jane I'm running late")
    done.result()
    asked = client.run("Message John I'm running late").expects_request()
    call = {"tool": "delete_page", "arguments": {"page": "home", "keep_days": 30}}
    plan = {"steps": [{"id": "clean", "actions": [call]}]}
    delete = client.run("Clean up the site", plan=plan).expects_request()
    for number in range(3):
        refund = {"tool": "refund", "arguments": {"to": f"acc-{number}", "amount": 120 + number}}
        steps = [{"id": "pay", "actions": [refund]}]
        client.run(f"Refund order {number}", plan={"steps": steps}).expects_request()
    for looks, name, path in (
        (WIDE, "inbox", "/inbox"),
        (WIDE, "question", f"/inbox/{delete.id}"),
        (WIDE, "chain", f"/chains/{done.id}"),
        (DARK, "figures", "/stats?days=1"),
        (PHONE, "phone", f"/inbox/{asked.id}"),
    ):
        page = signed_in(browser, system, **looks)
        page.goto(system.url + path)
        page.screenshot(path=DOCS / f"page-{name}.png", full_page=looks is not PHONE)


def main() -> None:
    """Start everything, draw, and stop it."""
    receiver = Receiver()
    server = receiver.start()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "agents.toml").write_text(AGENTS_FILE)
        with (
            run_system(folder, receiver) as system,
            SyncClient(system.url, system.key) as client,
            sync_playwright() as playwright,
        ):
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET])
            draw(system, client, browser)
            browser.close()
    server.shutdown()
    server.server_close()


if __name__ == "__main__":
    main()
