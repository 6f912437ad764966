"""The real system for end-to-end tests: `haltpoint up` with all its processes, once for all of
them.

The model follows both scripts of the example: to "Tell ..." it behaves well, to "Message ..." it is
careless; to "Book ..." and "Ask ..." it does as `stubborn` says, to all else as `obedient` does.
The operator has a `policy.toml`.
"""

import asyncio
import json
import os
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType

import pytest

from haltpoint.cli.gateway import ADDRESS_FILE, KEY_FILE
from haltpoint.cli.local.system import free_port
from haltpoint.client import Client
from haltpoint.examples.contacts.outbox import Outbox
from tests.e2e.agents import AGENTS, AGENTS_FILE
from tests.e2e.obedient import OBEDIENT
from tests.e2e.otlp import Receiver
from tests.e2e.routers import ROUTERS
from tests.e2e.running import CHECKOUT, HALTPOINT, Running, answers, finished, script_for
from tests.e2e.stubborn import STUBBORN
from tests.support import PATIENCE
from tests.topologies.servers import TOPOLOGIES, VALKEY
from tests.topologies.users import Users


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of the system run in one test process: a system is seven processes, and starts
    once. pytest-xdist reads the marks in this hook, too.
    """
    for item in items:
        if "system" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("system"))


@pytest.fixture(scope="session")
def receiver() -> Iterator[Receiver]:
    """What the system's processes export as traces."""
    receiver = Receiver()
    server = receiver.start()
    yield receiver
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory, receiver: Receiver) -> Iterator[Running]:
    """Server, model and four services; stopped as Ctrl-C does. HALTPOINT_PARTITIONS is honoured."""
    folder = tmp_path_factory.mktemp("system")
    (folder / "agents.toml").write_text(AGENTS_FILE)
    with ExitStack() as stack:
        variables, urls = stack.enter_context(topology(folder))
        yield stack.enter_context(run_system(folder, receiver, variables, urls))


@contextmanager
def topology(folder: Path) -> Iterator[tuple[dict[str, str], Mapping[str, str]]]:
    """The environment of the servers that TOPOLOGY names, and the address of each service that has
    its own; without it `up` starts a server.
    """
    kind = os.environ.get("TOPOLOGY")
    if not kind:
        yield {}, {}
        return
    if kind == "users":
        with Users(folder / "servers", VALKEY) as users:
            urls = dict(users.urls)
            yield {"HALTPOINT_REDIS_URL": urls.pop("operator")}, urls
            assert users.refused() == []
        return
    with TOPOLOGIES[kind](folder / "servers", VALKEY) as servers:
        yield {"HALTPOINT_REDIS_URL": servers.url}, {}


@contextmanager
def run_system(
    folder: Path,
    receiver: Receiver,
    variables: Mapping[str, str] = MappingProxyType({}),
    urls: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Running]:
    """A system with the `agents.toml` of this folder, and these variables; with `urls` each service
    is kept by an `up` of its own.
    """
    script = folder / "script.json"
    rules = (
        script_for("Tell", "contacts_good")
        + script_for("Message", "contacts_careless")
        + STUBBORN
        + OBEDIENT
        + AGENTS
        + ROUTERS
    )
    script.write_text(json.dumps({"model": "contacts", "rules": rules}))
    model_port, outbox = free_port(), Outbox(folder / "outbox.jsonl")
    state = folder / "state"
    environment = {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("COV_", "COVERAGE_"))
        },
        "HALTPOINT_STATE_DIR": str(state),
        "HALTPOINT_AGENTS_FILE": str(folder / "agents.toml"),
        "HALTPOINT_TOOLS": "haltpoint.examples.contacts.tools,tests.e2e.tools",
        "HALTPOINT_SKILLS": "shared/haltpoint/examples/contacts/skills,tests/e2e/skills",
        "HALTPOINT_POLICY_FILE": "tests/e2e/policy.toml",
        "HALTPOINT_HOOKS": "tests.e2e.hooks:far_away,tests.e2e.hooks:not_the_moon",
        "HALTPOINT_MODEL__BASE_URL": f"http://127.0.0.1:{model_port}/v1",
        "HALTPOINT_MODEL__NAME": "contacts",
        "HALTPOINT_GATEWAY__PORT": str(free_port()),
        "HALTPOINT_HEALTH_PORT": "0",
        "HALTPOINT_LEASE": "2s",
        "HALTPOINT_HEARTBEAT": "0.5s",
        "HALTPOINT_EXECUTOR_LEASE": "1s",
        "CONTACTS_OUTBOX": str(outbox.path),
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{receiver.port}",
        "OTEL_BSP_SCHEDULE_DELAY": "200",
        # No proxy leads to this machine: neither one that is away nor one of a kind for which a
        # package is missing.
        "HTTP_PROXY": "http://127.0.0.1:9",
        "ALL_PROXY": "socks5://127.0.0.1:9",
        **variables,
    }
    if "HALTPOINT_REDIS_URL" in environment:
        done = finished([*HALTPOINT, "init"], environment)
        assert done.returncode == 0, done.stderr
    log = (folder / "log").open("wb")
    # With these options each `up` keeps a process, and starts it again when it is killed.
    kept = {"tool-worker": ["--reload"]}
    ups = [(["up", name, *kept.get(name, ["--workers", "2"])], url) for name, url in urls.items()]
    model = ["script-model", str(script), "--port", str(model_port)]
    started = [
        subprocess.Popen(
            [*HALTPOINT, *words],
            env={**environment, **({"HALTPOINT_REDIS_URL": url} if url else {})},
            cwd=CHECKOUT,
            stdout=log,
            stderr=log,
        )
        for words, url in ((model, ""), *(ups or [(["up"], "")]))
    ]
    try:
        address = state / ADDRESS_FILE
        deadline = time.monotonic() + PATIENCE
        # A task that comes before the tools are announced has none.
        while (
            (folder / "log").read_text().count("ready: ") < len(urls)
            or not address.exists()
            or not asyncio.run(answers(f"http://127.0.0.1:{model_port}/v1/models"))
        ):
            ended = [process.poll() for process in started]
            assert not any(code is not None for code in ended), (folder / "log").read_text()[-4000:]
            assert time.monotonic() < deadline, (folder / "log").read_text()[-4000:]
            time.sleep(0.05)  # between two looks at processes that start
        key = (state / KEY_FILE).read_text().strip()
        yield Running(address.read_text().strip(), key, state, outbox, environment)
    finally:
        for process in reversed(started):
            process.terminate()
        codes = [process.wait(PATIENCE) for process in started]
        log.close()
    assert not any(codes), (folder / "log").read_text()[-4000:]


@pytest.fixture
async def client(system: Running) -> AsyncIterator[Client]:
    """A client of the system's gateway."""
    async with Client(system.url, system.key) as connected:
        yield connected
