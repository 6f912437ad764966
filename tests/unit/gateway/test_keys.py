import stat
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

import pytest
from pydantic import SecretStr

from haltpoint.contracts.people.keys import Scope
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import GatewaySettings, Settings
from haltpoint_gateway.notices.notifier import FAILED
from haltpoint_gateway.people.admin_key import admin_key, ensure_admin_key
from haltpoint_gateway.people.keys import KEYS, USED
from haltpoint_gateway.people.principal import Principal


def test_the_admin_key_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    key = ensure_admin_key(tmp_path / "state")
    assert len(key) > 40
    assert ensure_admin_key(tmp_path / "state") == key
    files = list((tmp_path / "state").iterdir())
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600]


def test_two_who_start_at_once_get_the_same_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: ensure_admin_key(tmp_path), range(16)))
    assert len(keys) == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_a_state_directory_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HaltpointError, match=r"HP-001 .*file.*HALTPOINT_STATE_DIR"):
        ensure_admin_key(tmp_path / "file")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "gateway.internal"])
def test_a_gateway_that_others_can_reach_needs_a_chosen_key_and_a_proxy(
    tmp_path: Path, host: str
) -> None:
    with pytest.raises(HaltpointError, match="HALTPOINT_GATEWAY__ADMIN_KEY"):
        admin_key(Settings(state_dir=tmp_path, gateway=GatewaySettings(host=host)))
    assert list(tmp_path.iterdir()) == []
    chosen = GatewaySettings(host=host, admin_key=SecretStr("chosen"))
    with pytest.raises(HaltpointError, match="HALTPOINT_GATEWAY__TRUSTED_PROXY"):
        admin_key(Settings(state_dir=tmp_path, gateway=chosen))
    chosen = GatewaySettings(host=host, admin_key=SecretStr("chosen"), trusted_proxy="10.0.0.1")
    assert admin_key(Settings(state_dir=tmp_path, gateway=chosen)) == "chosen"


def test_the_user_of_the_gateway_may_use_what_is_kept_of_keys_and_notices() -> None:
    listed = (files("haltpoint.runtime.service") / "users.acl").read_text()
    for key in (KEYS, USED, FAILED):
        assert f" ~{key} " in listed


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_on_loopback_a_key_is_made(tmp_path: Path, host: str) -> None:
    settings = Settings(state_dir=tmp_path, gateway=GatewaySettings(host=host))
    assert admin_key(settings) == ensure_admin_key(tmp_path)


def test_admin_includes_all_scopes_and_sees_all_tenants_others_only_theirs() -> None:
    admin = Principal("admin", None, frozenset({Scope.ADMIN}))
    reader = Principal("ann", "acme", frozenset({Scope.READ}))
    assert all(admin.may(scope) for scope in Scope)
    assert [scope for scope in Scope if reader.may(scope)] == [Scope.READ]
    assert admin.can_see("acme")
    assert admin.can_see(None)
    assert reader.can_see("acme")
    assert not reader.can_see("umbrella")
    assert not reader.can_see(None)
