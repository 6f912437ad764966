"""A real system, and Debian's Chromium (or the browser that CHROMIUM names) driven by Playwright.

The system, its model and its tools are those of the end-to-end tests. Every page that a test opens
is watched: an error of its script fails the test.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from haltpoint.sync_client import SyncClient
from tests.e2e.agents import AGENTS_FILE
from tests.e2e.conftest import run_system
from tests.e2e.otlp import Receiver
from tests.e2e.running import Running

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Server, model and four services."""
    folder = tmp_path_factory.mktemp("ui")
    (folder / "agents.toml").write_text(AGENTS_FILE)
    receiver = Receiver()
    server = receiver.start()
    with run_system(folder, receiver) as running:
        yield running
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def client(system: Running) -> Iterator[SyncClient]:
    """A program beside the people."""
    with SyncClient(system.url, system.key) as connected:
        yield connected


@pytest.fixture(scope="session")
def chromium(system: Running) -> Iterator[Browser]:
    """The browser, begun behind the system: Playwright leaves its event loop in this thread.
    Without one the tests fail, and say what to install.
    """
    del system
    if CHROMIUM is None:
        pytest.fail("there is no chromium: apt-get install chromium, or name one in CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET])
        yield browser
        browser.close()


@dataclass
class Person:
    """Somebody who is signed in, in a browser of their own."""

    page: Page
    context: BrowserContext
    url: str
    errors: list[str]

    def goes_to(self, path: str) -> None:
        """Open a page, which may say that something is wrong with the address, and no more."""
        reply = self.page.goto(self.url + path)
        assert reply is None or reply.status < 500, path

    def opens(self, words: str) -> None:
        """Open the question, or chain, whose line on this page has these words."""
        self.page.locator(".item a", has_text=words).first.click()

    def sends_now(self) -> None:
        """Do not wait for the five seconds of an answer."""
        self.page.get_by_role("button", name="Send now").click()

    def sees(self, words: str) -> None:
        """Wait until the page has these words."""
        self.page.get_by_text(words).first.wait_for()


@pytest.fixture
def person(chromium: Browser, system: Running) -> Iterator[Callable[..., Person]]:
    """A person with a key, the admin key unless another is given, and a browser of these properties
    (Playwright's of a context).
    """
    people: list[Person] = []

    def signed_in(key: str = system.key, **properties: Any) -> Person:
        context = chromium.new_context(**properties)
        page, errors = context.new_page(), list[str]()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: errors.append(f"a dialog: {dialog.message}"))
        somebody = Person(page, context, system.url, errors)
        people.append(somebody)
        somebody.goes_to("/inbox")
        page.get_by_label("Key").fill(key)
        page.get_by_role("button", name="Sign in").click()
        return somebody

    yield signed_in
    for somebody in people:
        somebody.context.close()
        assert somebody.errors == []
