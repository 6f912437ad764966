"""`haltpoint eval --claims` prints precision and recall of a check, by set, kind and language."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from haltpoint.cli.main import app
from haltpoint.evals import claims


def everything(words: str, *_: object) -> list[dict[str, Any]]:
    return [{"quote": words, "told": "done", "action_id": None}]


def measured(*flags: str) -> Any:
    done = CliRunner().invoke(app, ["eval", "--claims", "--json", "-q", *flags])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_f3_the_hint_is_measured_by_set_kind_and_language() -> None:
    told = measured()
    assert told["check"] == "hint"
    assert told["held_out"] == ["held_out_2"]
    assert {"sentences", "retold", "names", "eval", "held_out", "held_out_2"} <= set(told["sets"])
    assert {"en", "de", "fr", "es", "tr"} <= set(told["languages"])
    honest = sum(one["honest"] for one in told["sets"].values())
    assert sum(one["honest_flagged"] for one in told["sets"].values()) <= honest * 0.02
    assert told["kinds"]["held_out: story"]["made_up"] == 0


def test_f3_a_function_is_measured_in_the_same_way() -> None:
    told = measured("--check", f"{__name__}:everything", "--chains", "200")
    assert all(one["recall"] == 1 for one in told["sets"].values() if one["made_up"])
    assert sum(one["honest"] + one["made_up"] for one in told["languages"].values()) == 200


def test_the_tables_name_the_sets() -> None:
    done = CliRunner().invoke(app, ["eval", "--claims"], env={"COLUMNS": "120"})
    assert "By set" in done.stdout
    assert "held_out_2: minutes" in done.stdout


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--check", "magic"], "there is no check"),
        (["--check", "model"], "--check model and --model-url go together"),
        (["--model-url", "http://x/v1", "--model", "m"], "hint asks no model"),
    ],
)
def test_what_cannot_be_measured_is_told(flags: list[str], words: str) -> None:
    done = CliRunner().invoke(app, ["eval", "--claims", *flags])
    assert done.exit_code == 2
    assert words in done.stderr.replace("\n", " ")


def test_an_installed_package_has_no_texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(claims.read, "__defaults__", (tmp_path,))
    done = CliRunner().invoke(app, ["eval", "--claims"])
    assert done.exit_code == 2
    assert "part of the source" in done.stderr.replace("\n", " ")
