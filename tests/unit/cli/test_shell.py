"""How commands end, and in which words, without a system."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.text import Text
from typer.testing import CliRunner

from haltpoint.cli.commands import deployment
from haltpoint.cli.errors import CliError, Exit
from haltpoint.cli.main import app
from haltpoint.cli.shell import Shell, run, verb
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.service.preflight import Check
from tests.support.listener import Listener


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HALTPOINT_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    # Another system of this machine may well be listening at the address that is assumed.
    monkeypatch.setenv("HALTPOINT_GATEWAY__PORT", "1")


def test_what_is_said_at_a_terminal_breaks_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    shell = Shell()
    shell.tell("Tasks are routed by supervisor", "dim")
    shell.show({}, [Text("Message to Sarah Smith")])
    said = Text.from_ansi(terminal.getvalue())
    lines = [line.rstrip() for line in said.plain.splitlines()]
    assert lines == ["Tasks are routed by", "supervisor", "Message to Sarah", "Smith"]


def test_the_doctor_looks_at_what_needs_no_server_before_it_says_that_there_is_none() -> None:
    done = CliRunner().invoke(app, ["doctor"])
    looks = [line.split("\t")[1] for line in done.stdout.splitlines()]
    assert looks == ["model", "tools", "port", "services", "disk"]
    ticks = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    assert ticks == ["·", "·", "✓", "·", "✓"]  # none beside what is not there
    assert "HP-010 no Redis server is configured" in done.stderr


def test_looks_that_say_nothing_are_told_when_they_fail(capsys: pytest.CaptureFixture[str]) -> None:
    well = Check("functions", "HP-014", ok=True, what="all there")
    wrong = Check(
        "policy", "HP-004", ok=False, what="policy.toml", why="no such tool", fix="Fix it"
    )
    assert deployment._show(Shell(), [well, wrong]) == Exit.FAILED
    assert capsys.readouterr().out == "✗\tpolicy\tpolicy.toml: no such tool (HP-004). Fix it.\n"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("run", 2, "HP-040"),
        ("audit export --since 0001-01-01", 2, "this time cannot be used"),
        ("run x --watch --detach", 2, "HP-040"),
        ("run --plan /nonexistent", 2, "cannot be read: No such file or directory"),
        ("run x --mode loose", 2, "understood: --mode: 'loose' is not one of"),
        ("run x --style graph", 2, "--style"),
        ("run x --context {", 2, "takes JSON: '{': it is not JSON: see line 1, column 2"),
        ("run x --context @/nonexistent", 2, "HP-041"),
        ("run x --budget 5", 2, "--budget turns=20,actions=10"),
        ("run x --budget turns=3,turns=4", 2, "turns is given twice"),
        ("tool call x a=1 a=2 --url http://127.0.0.1:1 --key k", 2, "a is given twice"),
        ("run x --deadline soon", 2, "HP-040 --deadline takes a length of time or a time"),
        ("run x --deadline 2020-01-01", 2, "HP-040 --deadline must be later than now"),
        ("run x --max-turns 0", 2, "--max-turns: must be at least 1"),
        ("run x --url http://127.0.0.1:1 --key k", 4, "HP-050"),
        ("chain list", 4, "HP-050"),
        ("chain list --key bäd", 2, "HP-040 --key takes a key of the gateway"),
        ("chain list --key=", 2, "is the variable set?"),
        ("chain list --url=", 2, "HP-040 --url takes the gateway's address"),
        ("chain list --url localhost:8700", 2, "HP-040 --url takes the gateway's address"),
        (
            "chain list --url http://127.0.0.1:87000 --key k",
            4,
            "HP-050 no gateway answers at http://127.0.0.1:87000: Port out of range",
        ),
        (
            "chain list --url http://ann:hush@127.0.0.1:1 --key k",
            4,
            "HP-050 no gateway answers at http://ann:***@127.0.0.1:1: ",
        ),
        ("chain list --url ann:hush@127.0.0.1", 2, "***@127.0.0.1' is not one"),
        ("chain list --config /nonexistent", 2, "HP-001"),
        ("chain nonsense", 2, "HP-040 haltpoint chain was not understood: No such command"),
        ("chain list --limit 0", 2, "--limit"),
        ("answer x", 2, "Missing argument 'ANSWER'"),
        ("tool call echo words", 2, "HP-040"),
        ("dlq requeue", 2, "HP-040"),
        ("doctor", 4, "HP-010"),
        (
            "doctor --redis-url redis://127.0.0.1:1?password=hush",
            4,
            "HP-010 no server answers at redis://127.0.0.1:1: ",
        ),
        ("doctor --redis-url ftp://x", 2, "HP-001"),
        ("init --redis-url redis+sentinel://x", 2, "HP-001 the address cannot be used"),
        ("up", 2, "HP-030"),
        ("up planner tool-worker", 2, "HP-030"),
        ("up planner --queue q", 2, "HP-040"),
        ("up --workers 0", 2, "--workers"),
        ("up nothing", 2, "nothing"),
        ("script-model /nonexistent", 2, "HP-041"),
    ],
)
def test_errors_are_for_people(words: str, code: int, says: str) -> None:
    done = CliRunner().invoke(app, words.split())
    assert done.exit_code == code, done.output
    assert says in done.stderr
    assert "Traceback" not in done.output
    assert done.stdout == "" or words.startswith("doctor")


def test_an_error_is_a_document_with_json() -> None:
    done = CliRunner().invoke(app, ["run", "--json"])
    error = json.loads(done.stderr)["error"]
    assert error["code"] == "HP-040"
    assert set(error) == {"code", "what", "why", "fix"}


def refuse() -> int:
    raise CliError("HP-053", "no", "why", "fix", exit_code=Exit.WAITING)


def fault() -> int:
    raise ZeroDivisionError("by zero")


def settings() -> int:
    raise HaltpointError("HP-001", "no", "why", "fix")


def interrupt() -> int:
    raise KeyboardInterrupt


def end_of_input() -> int:
    raise EOFError


def leave() -> int:
    raise typer.Exit(7)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (refuse, 3),
        (settings, 2),
        (interrupt, 130),
        (end_of_input, 130),
        (leave, 7),
        (lambda: None, 0),
        (lambda: 3, 3),
    ],
)
def test_each_end_has_its_exit_code(
    body: Any, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(Shell(), body) == code
    assert capsys.readouterr().out == ""


def test_a_fault_is_told_without_a_traceback_which_is_kept_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert run(Shell(json=True), fault) == 1
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["code"] == "HP-002"
    (kept,) = tmp_path.glob("haltpoint-fault-*")
    assert str(kept) in error["fix"]
    assert "ZeroDivisionError: by zero" in kept.read_text()


def test_every_verb_takes_the_common_options() -> None:
    own = typer.Typer()
    seen: list[tuple[Shell, str]] = []

    @verb(own, "one", gateway=True)
    def one(shell: Shell, word: str) -> int:
        """One."""
        seen.append((shell, word))
        return 3

    words = [
        "w",
        "--json",
        "--quiet",
        "--redis-url",
        "redis://r",
        "--config",
        "c",
        "--url",
        "u",
        "--key",
        "k",
    ]
    assert CliRunner().invoke(own, words).exit_code == 3
    assert seen == [(Shell(True, True, "redis://r", Path("c"), "u", "k"), "w")]


def test_a_port_in_use_is_told_with_what_chooses_another() -> None:
    with Listener() as other:
        words = ["script-model", "contacts_good", "--port", other.url.rpartition(":")[2]]
        done = CliRunner().invoke(app, words)
    assert done.exit_code == Exit.FAILED
    assert "HP-003" in done.stderr
    assert "of a scripted model --port" in done.stderr


def test_commands_take_the_address_and_the_key_of_a_gateway_from_the_environment() -> None:
    where = {"HALTPOINT_URL": "http://127.0.0.1:1", "HALTPOINT_KEY": "k"}
    done = CliRunner().invoke(app, ["chain", "list"], env=where)
    assert "HP-050 no gateway answers at http://127.0.0.1:1" in done.stderr
    done = CliRunner().invoke(app, ["config", "show"], env=where)
    assert done.exit_code == 0
