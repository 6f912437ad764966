"""What docker-compose.yml says; tests/stories starts its services as processes."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
import yaml

from haltpoint.contracts.base import JsonObject
from haltpoint.runtime.streams.topology import PREFIX
from tests.e2e.running import CHECKOUT
from tests.support.compose import COMPOSE, SERVICES, environment, interpolated

OURS: Final = ("planner", "executor", "tool-worker", "gateway")
OBSERVERS: Final = {"jaeger", "prometheus"}
KEY: Final = "a-key-chosen-by-the-operator"
CHOSEN: Final = {"HALTPOINT_GATEWAY__ADMIN_KEY": KEY, "COMPOSE_PROFILES": "obs"}


def test_all_services_and_the_job_come_from_one_image_and_none_is_root_or_writes_to_it() -> None:
    for name in (*OURS, "init"):
        service = SERVICES[name]
        assert service["image"] == SERVICES["init"]["image"]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
    assert all("container_name" not in service for service in SERVICES.values())
    last = (CHECKOUT / "deploy/Dockerfile").read_text().rpartition("FROM ")[2]
    assert int(re.findall(r"^USER (\d+)$", last, re.MULTILINE)[-1]) > 0


def test_each_service_has_a_health_check_and_waits_for_what_it_needs() -> None:
    for name, service in SERVICES.items():
        check = service["healthcheck"]
        assert check == {"disable": True} if name == "init" else "test" in check, name
    for name in OURS:
        assert SERVICES[name]["depends_on"] == {
            "init": {"condition": "service_completed_successfully"}
        }
    assert SERVICES["init"]["depends_on"] == {"valkey": {"condition": "service_healthy"}}


def test_only_the_profile_brings_observers_and_sends_traces_to_one_of_them() -> None:
    assert {name for name, each in SERVICES.items() if each.get("profiles") == ["obs"]} == OBSERVERS
    quiet = environment("executor", {})
    assert quiet["OTEL_EXPORTER_OTLP_ENDPOINT"] == ""
    assert environment("executor", CHOSEN)["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://jaeger:4318"
    assert interpolated(SERVICES["jaeger"]["image"], {}).startswith("jaegertracing/jaeger:2.")


def test_the_operator_chooses_the_admin_key_which_only_the_gateway_gets() -> None:
    with pytest.raises(LookupError, match="openssl rand"):
        environment("gateway", {})
    seen = [name for name in OURS if KEY in environment(name, CHOSEN).values()]
    assert seen == ["gateway"]


@pytest.mark.parametrize(
    ("variable", "service"),
    [
        ("HALTPOINT_REDIS_URL", "executor"),
        ("HALTPOINT_TOOLS", "tool-worker"),
        ("HALTPOINT_MODEL__BASE_URL", "planner"),
        ("HALTPOINT_MODEL__NAME", "planner"),
        ("HALTPOINT_MODEL__API_KEY", "planner"),
        ("HALTPOINT_GATEWAY__TRUSTED_PROXY", "gateway"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "gateway"),
    ],
)
def test_what_an_operator_exports_counts(variable: str, service: str) -> None:
    assert environment(service, {**CHOSEN, variable: "mine"})[variable] == "mine"


def test_ports_are_open_to_this_machine_alone() -> None:
    ports = [port for each in SERVICES.values() for port in each.get("ports", ())]
    assert len(ports) == 3
    assert all(interpolated(port, {}).startswith("127.0.0.1:") for port in ports)


def test_each_service_has_a_user_of_its_own_where_that_is_chosen(tmp_path: Path) -> None:
    users = yaml.safe_load((CHECKOUT / "deploy/acl/compose.yml").read_text())["services"]
    filled = subprocess.run(
        ["sh", "deploy/acl/fill", "deploy/acl/users.acl"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    passwords = dict(line.split("=") for line in filled.stderr.splitlines())
    for name in (*OURS, "init"):
        (url,) = users[name]["environment"].values()
        login = urlsplit(interpolated(url, passwords))
        assert login.username == ("operator" if name == "init" else name)
        assert f"user {login.username} on >{login.password} " in filled.stdout
        assert f"+fcall|{PREFIX}claim " in filled.stdout
        with pytest.raises(LookupError, match="fill"):
            interpolated(url, {})
    (mount,) = users["valkey"]["volumes"]
    assert mount.split(":")[1] == users["valkey"]["command"][-1]
    assert mount.split(":")[0].removeprefix("./") in (CHECKOUT / ".gitignore").read_text()


def test_the_files_that_the_compose_file_mounts_are_there() -> None:
    mounts = [volume for each in SERVICES.values() for volume in each.get("volumes", ())]
    files = [volume.split(":")[0] for volume in mounts if volume.startswith("./")]
    assert len(files) == 3
    assert all((CHECKOUT / file).is_file() for file in files)
    named = {volume.split(":")[0] for volume in mounts if not volume.startswith("./")}
    assert named == set(COMPOSE["volumes"])


def test_the_image_installs_dependencies_before_it_sees_the_code() -> None:
    text = (CHECKOUT / "deploy/Dockerfile").read_text()
    installed = text.index("--requirement wanted.txt")
    sources = re.findall(r"^COPY (?!--)(.+) \S+$", text, re.MULTILINE)
    before = re.findall(r"^COPY (?!--)(.+) \S+$", text[:installed], re.MULTILINE)
    assert before == ["requirements.lock pyproject.toml deploy/dependencies.py"]
    ignored = (CHECKOUT / ".dockerignore").read_text().splitlines()
    for source in " ".join(sources).split():
        assert f"!{source}" in ignored
        assert (CHECKOUT / source).exists()


def test_the_dependencies_of_the_image_are_those_of_the_project() -> None:
    printed = subprocess.run(
        [sys.executable, "deploy/dependencies.py", "notices"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = printed.stdout.splitlines()
    wanted: JsonObject = {line.split(">=")[0]: line for line in lines}
    assert {"redis[hiredis]", "apprise", "standardwebhooks"} <= set(wanted)
    assert "pydantic-ai-slim" not in printed.stdout
