"""A key is a password: it goes to the gateway that it was made for, whoever else listens where."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from haltpoint.cli.errors import Exit
from haltpoint.cli.gateway import ADDRESS_FILE, KEY_FILE
from haltpoint.cli.main import app
from haltpoint.runtime.config.key_origin import RECORD, recall, remember
from tests.support.listener import Listener

KEY = "hp_of_this_machine"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state directory of this machine, with its key; the current folder is another one."""
    (folder := tmp_path / "folder").mkdir()
    monkeypatch.chdir(folder)
    (state := tmp_path / "state").mkdir()
    (state / KEY_FILE).write_text(f"{KEY}\n")
    monkeypatch.setenv("HALTPOINT_STATE_DIR", str(state))
    return state


@pytest.fixture
def own() -> Iterator[Listener]:
    with Listener() as listener:
        yield listener


@pytest.fixture
def stranger() -> Iterator[Listener]:
    with Listener() as listener:
        yield listener


def ask(*words: str) -> Result:
    return CliRunner().invoke(app, ["inbox", *words])


def refused_for(result: Result, other: Listener) -> bool:
    return (
        result.exit_code == Exit.FAILED
        and f"HP-051 there is no key for the gateway at {other.url}" in result.stderr
        and "--key KEY" in result.stderr
    )


def test_the_key_goes_where_it_was_made_for(state: Path, own: Listener, stranger: Listener) -> None:
    remember(state, KEY, own.url)
    assert refused_for(ask("--url", stranger.url), stranger)
    for words in (
        [f"--url={own.url}"],
        [f"--url={own.url}/"],
        [f"--url={stranger.url}", "--key=given"],
    ):
        ask(*words)
    assert own.keys == [f"Bearer {KEY}"] * 2
    assert stranger.keys == ["Bearer given"]


@pytest.mark.parametrize("remembered", [True, False])
@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize("file", ["haltpoint.toml", ".env"])
def test_a_stranger_that_a_file_of_the_folder_names_gets_no_key(
    state: Path,
    own: Listener,
    stranger: Listener,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    chosen: bool,
    remembered: bool,
) -> None:
    """Whether the key was chosen or made, and whether its gateway has ever been up on this
    machine.
    """
    if chosen:
        monkeypatch.setenv("HALTPOINT_GATEWAY__ADMIN_KEY", KEY)
    if remembered:
        remember(state, KEY, own.url)
    text = {
        "haltpoint.toml": f'[gateway]\nhost = "127.0.0.1"\nport = {stranger.port}\n',
        ".env": f"HALTPOINT_GATEWAY__PORT={stranger.port}\n",
    }
    Path(file).write_text(text[file])
    assert refused_for(ask(), stranger)
    assert not stranger.lines


def brought(address: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory that the current folder names and has, with a gateway's address."""
    monkeypatch.delenv("HALTPOINT_STATE_DIR")
    (brought := Path("state")).mkdir()
    (brought / ADDRESS_FILE).write_text(address)
    remember(brought, "another", address)
    Path(".env").write_text("HALTPOINT_STATE_DIR=state\n")
    return brought


def test_a_state_directory_that_the_folder_names_takes_no_key_of_the_environment(
    state: Path, stranger: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALTPOINT_GATEWAY__ADMIN_KEY", KEY)
    brought(stranger.url, monkeypatch)
    assert refused_for(ask(), stranger)
    assert not stranger.lines


def test_a_link_to_the_key_in_a_state_directory_of_the_folder_is_no_way_to_it(
    state: Path, own: Listener, stranger: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(state, KEY, own.url)
    (brought(stranger.url, monkeypatch) / KEY_FILE).symlink_to(state / KEY_FILE)
    assert refused_for(ask(), stranger)
    assert not stranger.lines


def test_a_key_of_the_folder_goes_where_the_folder_says(state: Path, own: Listener) -> None:
    Path("haltpoint.toml").write_text(
        f'[gateway]\nport = {own.port}\nadmin_key = "of-the-folder"\n'
    )
    ask()
    assert own.keys == ["Bearer of-the-folder"]


def test_a_file_that_was_named_is_believed(state: Path, own: Listener) -> None:
    (named := state.parent / "mine.toml").write_text(f"[gateway]\nport = {own.port}\n")
    ask("--config", str(named))
    assert own.keys == [f"Bearer {KEY}"]


def test_a_key_of_the_environment_goes_where_the_environment_says(
    state: Path, own: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALTPOINT_GATEWAY__ADMIN_KEY", "chosen")
    monkeypatch.setenv("HALTPOINT_GATEWAY__PORT", str(own.port))
    ask()
    assert own.keys == ["Bearer chosen"]


def test_a_gateway_that_was_started_in_a_folder_is_asked_there(state: Path, own: Listener) -> None:
    """`up` has listened there, so it is the gateway of this key although only a file of the folder
    names its port.
    """
    remember(state, KEY, own.url)
    Path("haltpoint.toml").write_text(f"[gateway]\nport = {own.port}\n")
    ask()
    assert own.keys == [f"Bearer {KEY}"]


def test_a_record_is_of_one_key_and_only_for_this_user(tmp_path: Path) -> None:
    remember(tmp_path / "state", KEY, "http://127.0.0.1:8700")
    assert recall(tmp_path / "state", KEY) == "http://127.0.0.1:8700"
    assert recall(tmp_path / "state", "another") is None
    assert recall(tmp_path, KEY) is None
    record = tmp_path / "state" / RECORD
    assert record.stat().st_mode & 0o77 == 0
    assert KEY not in record.read_text()
    record.write_text("[]")
    assert recall(tmp_path / "state", KEY) is None


def test_a_socks_proxy_of_the_shell_stops_no_command(
    state: Path, own: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(state, KEY, own.url)
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    assert "HP-002" not in ask("--url", own.url).stderr
    assert own.keys == [f"Bearer {KEY}"]
