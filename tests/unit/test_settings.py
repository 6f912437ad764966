"""Settings: one order of origins, no silent name, errors that say what is allowed."""

from pathlib import Path

import pytest

from haltpoint.runtime.config import settings_sources
from haltpoint.runtime.config.faults import in_words
from haltpoint.runtime.config.settings import Settings, SettingsError


@pytest.fixture(autouse=True)
def empty_world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A directory without files and an environment without our names."""
    import os

    for name in os.environ:
        if name.startswith(("HALTPOINT_", "OPENAI_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_origin_beats_the_next(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "haltpoint.toml").write_text("slots = 1\n[limits]\nmax_turns = 7\n")
    assert settings_sources.load().slots == 1
    (tmp_path / ".env").write_text("HALTPOINT_SLOTS=2\nUNRELATED=x\nHALTPOINT_LIMITS__STEPS=9\n")
    assert settings_sources.load().slots == 2
    monkeypatch.setenv("HALTPOINT_SLOTS", "3")
    assert settings_sources.load().slots == 3
    assert settings_sources.load(slots=4).slots == 4
    assert settings_sources.load(slots=None).slots == 3, "a flag that was not given says nothing"
    assert settings_sources.load().limits.max_turns == 7, "sections are merged, not replaced"
    assert settings_sources.load().limits.steps == 9


def test_what_a_test_gives_beats_its_policy_file_and_nothing_else_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HALTPOINT_LIMITS__STEPS", "9")
    (tmp_path / "policy.toml").write_text("strikes = 1\nmax_turns = 2\n")
    given = settings_sources.load_given(policy_file="policy.toml", limits={"max_turns": 7})
    assert (given.limits.strikes, given.limits.max_turns) == (1, 7)
    assert given.limits.steps == Settings().limits.steps
    with pytest.raises(SettingsError, match=r"limits\.strike \(from the test\)"):
        settings_sources.load_given(limits={"strike": 1})


def test_text_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALTPOINT_TOOLS", "my_tools, shop.tools")
    monkeypatch.setenv("HALTPOINT_LEASE", "2s")
    monkeypatch.setenv("HALTPOINT_HEARTBEAT", "500ms")
    monkeypatch.setenv("HALTPOINT_LIMITS__RETENTION", "2d")
    monkeypatch.setenv("HALTPOINT_STATE_DIR", "~/here")
    monkeypatch.setenv("HALTPOINT_SLOTS", "")
    loaded = settings_sources.load()
    assert loaded.tools == ("my_tools", "shop.tools")
    assert (loaded.lease, loaded.heartbeat, loaded.limits.retention) == (2.0, 0.5, 172_800.0)
    assert loaded.state_dir == Path.home() / "here"
    assert loaded.slots == 16, "an empty variable is no value"


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("HALTPOINT_PARTITONS", "HALTPOINT_PARTITIONS"),
        ("HALTPOINT_GATEWAY_PORT", "HALTPOINT_GATEWAY__PORT"),
        ("HALTPOINT_MODEL__BASEURL", "HALTPOINT_MODEL__BASE_URL"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, nearest: str
) -> None:
    (tmp_path / ".env").write_text(f"{name}=1\n")
    with pytest.raises(SettingsError, match=rf"{name} \(from \.env\) .* did you mean {nearest}\?"):
        settings_sources.load()
    monkeypatch.setenv(name, "1")
    with pytest.raises(
        SettingsError, match=rf"{name} \(from the environment\) .* did you mean {nearest}\?"
    ):
        settings_sources.load()


def test_every_bad_value_is_told_with_name_origin_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HALTPOINT_PROFILE", "prod")
    monkeypatch.setenv("HALTPOINT_GATEWAY__PORT", "99999")
    monkeypatch.setenv("HALTPOINT_LIMITS__RETENTION", "21000d")  # begins before 1970
    monkeypatch.setenv("HALTPOINT_REDIS_URL", "http://me:hunter2@db")
    monkeypatch.setenv("HALTPOINT_GATEWAY__CORS_ORIGINS", "shop.example")
    monkeypatch.setenv("HALTPOINT_GATEWAY__PUBLIC_URL", "shop.example")
    monkeypatch.setenv("HALTPOINT_GATEWAY__USER_HEADER", "X-User")
    with pytest.raises(SettingsError) as error:
        settings_sources.load(slots=0)
    text = str(error.value)
    assert len(text.splitlines()) == 8
    origins = "gateway.cors_origins = shop.example (from environment; HALTPOINT_GATEWAY__CORS_OR"
    assert origins in text
    assert "PUBLIC_URL): must begin with http:// or https://" in text
    assert "USER_HEADER): is believed only from a trusted proxy: set HALTPOINT_GATEWAY__T" in text
    assert (
        "profile = prod (from environment; HALTPOINT_PROFILE): must be 'dev', 'standard' "
        "or 'strict'"
    ) in text
    assert "slots = 0 (from flag; HALTPOINT_SLOTS)" in text
    assert "must be at most 65535" in text
    assert "limits.retention = 21000d" in text
    assert "unix://" in text
    assert "hunter2" not in text


@pytest.mark.parametrize("number", ["1e999", "inf", "nan", "9" * 400, "9" * 5000])
@pytest.mark.parametrize("name", ["lease", "limits.facts_age", "limits.retention", "slots"])
def test_a_number_is_one_that_servers_timers_and_dates_can_take(name: str, number: str) -> None:
    section, _, key = name.rpartition(".")
    given = {section: {key: number}} if section else {key: number}
    with pytest.raises(SettingsError, match=name):
        settings_sources.load_given(**given)


def test_a_heartbeat_must_fit_into_its_lease() -> None:
    with pytest.raises(
        SettingsError, match=r"heartbeat \(3 s\) must be at most half of lease \(2 s\)"
    ):
        settings_sources.load(lease="2s")


def test_broken_files_and_values_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HALTPOINT_GATEWAY", "{")
    with pytest.raises(SettingsError, match="gateway"):
        settings_sources.load()
    monkeypatch.delenv("HALTPOINT_GATEWAY")
    for content in (b"slots =", b"\xff\xfe"):
        (tmp_path / "haltpoint.toml").write_bytes(content)
        with pytest.raises(SettingsError, match=r"haltpoint\.toml cannot be read"):
            settings_sources.load()


def test_explain_tells_the_origin_and_keeps_secrets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("HALTPOINT_REDIS_URL", "redis://me:hunter2@db:6379/0")
    (tmp_path / "haltpoint.toml").write_text("[gateway]\nadmin_key = 'sk-secret'\n")
    found, faults = settings_sources.explain(slots=2)
    assert not faults
    told = {each.name: each for each in found}
    assert (told["slots"].value, told["slots"].origin, told["slots"].variable) == (
        "2",
        "flag",
        "HALTPOINT_SLOTS",
    )
    assert told["redis_url"].value == "redis://me:***@db:6379/0"
    assert told["model.api_key"].origin == "standard name"
    assert told["gateway.admin_key"].origin == "haltpoint.toml"
    assert told["partitions"].origin == "default"
    assert "sk-secret" not in repr(told)
    assert "hunter2" not in repr(told)


def test_the_constructor_takes_only_what_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALTPOINT_SLOTS", "3")
    assert Settings(partitions=1).slots == 16


def test_each_folder_has_a_state_directory_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HALTPOINT_STATE_DIR", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    found = []
    for name in ("a/shop", "b/shop", "a/shop"):
        (folder := tmp_path / name).mkdir(parents=True, exist_ok=True)
        monkeypatch.chdir(folder)
        found.append(Settings().state_dir)
    assert found[0] == found[2] != found[1]
    assert found[0].parent == tmp_path / "states" / "haltpoint"
    assert found[0].name.startswith("shop-")


def test_words_of_pydantic_that_are_in_no_table_begin_like_ours() -> None:
    fault = {"type": "uuid_parsing", "msg": "Input should be a valid UUID, invalid length"}
    assert in_words(fault) == "must be a valid UUID, invalid length"


def test_a_section_of_the_file_that_is_none_has_the_nearest_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "haltpoint.toml").write_text('[modell]\nname = "x"\n')
    with pytest.raises(SettingsError, match=r"is not a setting; did you mean model\?"):
        settings_sources.load()
