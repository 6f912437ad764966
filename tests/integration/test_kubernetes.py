"""deploy/kubernetes: what kustomize makes of it has the form that Kubernetes asks for, and names
settings, commands and routes that are there.

`data/kubernetes-1.34.json` has Kubernetes' own schemas for these kinds, of kubernetes-validate.
"""

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from jsonschema import Draft202012Validator

from haltpoint.cli.commands.up import Service
from haltpoint.contracts.base import JsonObject
from haltpoint.runtime.config.settings_sources import load
from haltpoint_gateway.api import deployment, health
from tests.e2e.running import CHECKOUT
from tests.support.compose import COMPOSE

Manifest = JsonObject

OVERLAYS: Final = ("one-server", "cluster")
DEPLOY: Final = CHECKOUT / "deploy/kubernetes"
SCHEMAS: Final = json.loads((CHECKOUT / "tests/data/kubernetes-1.34.json").read_text())
ADDRESS: Final = "HALTPOINT_REDIS_URL"
KUSTOMIZE: Final = ["kubectl", "kustomize"] if shutil.which("kubectl") else ["kustomize", "build"]

pytestmark = pytest.mark.skipif(
    shutil.which(KUSTOMIZE[0]) is None, reason="there is neither kubectl nor kustomize"
)


@cache
def manifests(overlay: str) -> tuple[Manifest, ...]:
    """What `kubectl apply -k` would send."""
    done = subprocess.run(
        [*KUSTOMIZE, str(DEPLOY / "overlays" / overlay)],
        capture_output=True,
        text=True,
        check=True,
    )
    return tuple(yaml.safe_load_all(done.stdout))


def of_kind(overlay: str, kind: str) -> dict[str, Manifest]:
    return {each["metadata"]["name"]: each for each in manifests(overlay) if each["kind"] == kind}


def containers(overlay: str) -> list[tuple[Manifest, Manifest]]:
    """All containers of pods, each with its pod."""
    pods = [
        each["spec"]["template"]["spec"] for each in manifests(overlay) if "Set" in each["kind"]
    ]
    pods += [each["spec"]["template"]["spec"] for each in of_kind(overlay, "Deployment").values()]
    return [
        (pod, container)
        for pod in pods
        if "containers" in pod
        for container in (*pod["containers"], *pod.get("initContainers", ()))
    ]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_all_resources_have_the_form_that_kubernetes_asks_for(overlay: str) -> None:
    for each in manifests(overlay):
        name = f"{each['apiVersion']} {each['kind']}"
        if each["apiVersion"].startswith("keda.sh/"):
            continue  # its schema is in the cluster
        schema = {"definitions": SCHEMAS["definitions"], **SCHEMAS["kinds"][name]}
        faults = list(Draft202012Validator(schema).iter_errors(each))
        assert faults == [], (name, each["metadata"]["name"])
        assert each["kind"] == "Namespace" or each["metadata"]["namespace"] == "haltpoint"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_no_container_has_rights_or_writes_to_its_image(overlay: str) -> None:
    for pod, container in containers(overlay):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        assert pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
        assert pod["automountServiceAccountToken"] is False
        own = container["securityContext"]
        assert own["readOnlyRootFilesystem"] is True
        assert own["allowPrivilegeEscalation"] is False
        assert own["capabilities"] == {"drop": ["ALL"]}
        assert {"cpu", "memory"} <= set(container["resources"]["requests"])
        assert "memory" in container["resources"]["limits"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_services_are_those_of_the_compose_file_and_their_settings_are_settings(
    overlay: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = of_kind(overlay, "Deployment")
    assert set(services) == {service.value for service in Service}
    (settings,) = [
        each["data"]
        for name, each in of_kind(overlay, "ConfigMap").items()
        if name.startswith("haltpoint-")
    ]
    for name, text in {**settings, ADDRESS: "rediss://redis:6379/0"}.items():
        monkeypatch.setenv(name, text)
    loaded = load()
    for name, service in services.items():
        (container,) = service["spec"]["template"]["spec"]["containers"]
        assert container["args"] == COMPOSE["services"][name]["command"]
        (port,) = container["ports"]
        gateway = name == Service.GATEWAY
        assert port["containerPort"] == (loaded.gateway.port if gateway else loaded.health_port)
    host = loaded.gateway.host, loaded.health_host
    assert host == ("0.0.0.0", "0.0.0.0")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_each_probe_asks_a_route_and_each_service_has_a_budget_of_disruptions(
    overlay: str,
) -> None:
    routes = {route.path for route in health.router.routes if hasattr(route, "path")}
    budgets = of_kind(overlay, "PodDisruptionBudget")
    for name, service in of_kind(overlay, "Deployment").items():
        template = service["spec"]["template"]
        (container,) = template["spec"]["containers"]
        for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
            asked = container[kind]["httpGet"]
            assert asked["path"] in routes
            assert asked["port"] in {port["name"] for port in container["ports"]}
        assert template["metadata"]["annotations"]["prometheus.io/path"] in routes
        wanted = budgets[name]["spec"]["selector"]["matchLabels"]
        assert wanted.items() <= template["metadata"]["labels"].items()
        replicas = service["spec"].get("replicas", 2)
        assert replicas > budgets[name]["spec"]["maxUnavailable"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_each_secret_has_its_line_in_the_docs_and_no_other_service_sees_the_admin_key(
    overlay: str,
) -> None:
    page = (CHECKOUT / "docs/operations/kubernetes.md").read_text()
    seen: dict[str, set[str]] = {}
    for name, each in (of_kind(overlay, "Deployment") | of_kind(overlay, "StatefulSet")).items():
        for secret in _secrets(each):
            seen.setdefault(secret, set()).add(name)
            assert f"`{secret}`" in page
    assert seen["haltpoint-gateway"] == {"gateway"}
    assert seen["haltpoint-model"] == {"planner"}
    assert seen["haltpoint-tools"] == {"tool-worker"}


def _secrets(value: Any) -> set[str]:
    """The names of all Secrets that are read somewhere inside."""
    if isinstance(value, list):
        return set().union(*map(_secrets, value))
    if not isinstance(value, dict):
        return set()
    own = {value[key]["name"] for key in ("secretRef", "secretKeyRef") if key in value}
    return own.union(*map(_secrets, value.values()))


def test_the_autoscaler_asks_the_gateway_for_a_queue_and_keda_alone_sets_the_workers() -> None:
    (scaled,) = of_kind("cluster", "ScaledObject").values()
    worker = of_kind("cluster", "Deployment")[scaled["spec"]["scaleTargetRef"]["name"]]
    assert "replicas" not in worker["spec"]
    assert scaled["spec"]["minReplicaCount"] >= 1
    (trigger,) = scaled["spec"]["triggers"]
    (service,) = of_kind("cluster", "Service").values()
    about = service["metadata"]
    host = f"http://{about['name']}.{about['namespace']}.svc.cluster.local"
    route = f"{host}:{service['spec']['ports'][0]['port']}/v1/scaling/default"
    assert trigger["metadata"]["url"] == route
    assert "/v1/scaling/{queue}" in {
        route.path for route in deployment.router.routes if hasattr(route, "path")
    }
    assert trigger["metadata"]["valueLocation"] == "backlog"
    (auth,) = of_kind("cluster", "TriggerAuthentication").values()
    assert trigger["authenticationRef"]["name"] == auth["metadata"]["name"]
    assert [ref["parameter"] for ref in auth["spec"]["secretTargetRef"]] == ["token"]


def test_the_server_has_the_same_settings_everywhere() -> None:
    kept = DEPLOY / "overlays/one-server/valkey.conf"
    assert kept.read_text() == Path(CHECKOUT / "deploy/valkey.conf").read_text()
