"""The policy file: the page's example loads, and each fault is told with its name."""

from pathlib import Path
from shutil import copy

import pytest

from haltpoint.chain.model.limits import treatment
from haltpoint.contracts.policy import PolicyFile, Targets, Treatment
from haltpoint.runtime.config import policy_file, settings_sources
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.settings import LimitSettings, SettingsError
from haltpoint_executor.world import policy_of

EXAMPLE = Path(__file__).parents[2] / "docs/guides/examples/policy.toml"
"""What the page shows."""


@pytest.fixture
def example(tmp_path: Path) -> Path:
    return Path(copy(EXAMPLE, tmp_path))


def refused(tmp_path: Path, said: str | bytes) -> str:
    path = tmp_path / "policy.toml"
    path.write_bytes(said if isinstance(said, bytes) else said.encode())
    with pytest.raises(HaltpointError) as caught:
        policy_file.read(path)
    assert caught.value.code == "HP-004"
    return caught.value.why


def test_the_example_of_the_page_loads(example: Path) -> None:
    file = policy_file.read(example)
    shipped = [pattern.id for pattern in policy_file.read(None).patterns]
    named = [pattern.id for pattern in file.patterns]
    assert sorted(named) == sorted([*shipped, "deploy", "open-plan", "freeze"])
    assert set(named[:3]) - set(shipped), "the file's own come first"
    assert file.unasked_effects == {"delete_*": Treatment.REFUSE, "note_*": Treatment.ALLOW}
    assert (file.targets.add, file.targets.remove) == (("wallet*", "room"), ("user",))
    assert (
        file.messages.escalate
        == "The model did not use {expected_tools}, {count} times. Please decide."
    )
    assert [rule.id for rule in file.approvals] == [
        "regulars",
        "refunds",
        "too-much",
        "strangers-words",
    ]
    assert policy_of(LimitSettings(), file).sourced == ("send_*",)


def test_without_a_file_the_defaults_count() -> None:
    file = policy_file.read(None)
    assert file.model_copy(update={"patterns": (), "targets": Targets()}) == PolicyFile()
    assert "recipient" in file.targets.names
    on = [pattern.id for pattern in file.patterns if pattern.on]
    assert on == ["ask-first", "ask-first-german"]


def test_c2_an_entry_with_the_id_of_a_shipped_pattern_changes_what_it_names_alone(
    tmp_path: Path,
) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('[[patterns]]\nid = "file-write"\non = true\ntools = ["scribble"]\n')
    shipped, own = (
        next(pattern for pattern in policy_file.read(where).patterns if pattern.id == "file-write")
        for where in (None, path)
    )
    assert own == shipped.model_copy(update={"on": True, "tools": ("scribble",)})


@pytest.mark.parametrize(
    ("said", "rules"),
    [
        ("repeated_effects = 'refuse'", [Treatment.REFUSE] * 3),
        (
            "[repeated_effects]\n'log_*' = 'allow'\npay = 'refuse'",
            [Treatment.ALLOW, Treatment.REFUSE, Treatment.ASK],
        ),
        (
            "[repeated_effects]\n'*' = 'refuse'\npay = 'allow'",
            [Treatment.REFUSE, Treatment.ALLOW, Treatment.REFUSE],
        ),
    ],
)
def test_c14_repeated_effects_are_one_word_or_a_table_of_globs(
    tmp_path: Path, said: str, rules: list[Treatment]
) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(said)
    policy = policy_of(LimitSettings(), policy_file.read(path))
    assert [
        treatment(policy.repeated_effects, tool) for tool in ("log_line", "pay", "send")
    ] == rules


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("strike = 3", "strike is not a key; did you mean strikes?"),
        ("[messages]\nescalat = 'x'", "messages.escalat is not a key; did you mean escalate?"),
        (
            "[[patterns]]\nid='a'\npatern='x'\ntools=['t']",
            "pattern 'a'.patern is not a key; did you mean pattern?",
        ),
        (
            "[[patterns]]\nid='a'\npattern='(x'\ntools=['t']",
            "pattern 'a'.pattern: '(x' is not a regular expression that runs in linear time",
        ),
        (
            "[[patterns]]\nid='a'\nsession='(x)y\\1'\ntools=['t']",
            r"pattern 'a'.session: '(x)y\1' is not a regular expression that runs in linear time",
        ),
        (
            "[[approvals]]\nid='a'\ntools=['t']\nwhen={b={regex='(?<!x)y'}}",
            "rule 'a'.when.b.regex: '(?<!x)y' is not a regular expression that runs in linear time",
        ),
        (
            "[[patterns]]\nid='a'\npattern='x'\ntools=[]",
            "pattern 'a': it requires no tool: name some in `tools`",
        ),
        (
            "[[patterns]]\nid='a'\npattern='x'\ndoes='forbidden'",
            "pattern 'a'.does: must be 'require' or 'ask_before'",
        ),
        ("unasked_effects = 'forbid'", "unasked_effects: must be 'ask', 'refuse' or 'allow'"),
        ("[mode]\n'send_*' = 'off'", "mode is not a key"),
        (
            "[[patterns]]\nid='a'\ntools=['t']",
            "pattern 'a': it has no condition: give it `pattern`,",
        ),
        ("[[patterns]]\nid='a'\npattern='x'\ntools=['t']\n" * 2, "2 patterns are called 'a'"),
        ("[messages]\nescalate = '{who} decides'", "messages.escalate: {who} is not a placeholder"),
        ("[messages]\nescalate = '{count'", "messages.escalate: '{count' is not a template"),
        ("[[approvals]]\nid='a'\ntool=['t']", "rule 'a'.tool is not a key; did you mean tools?"),
        ("[[approvals]]\nid='a'\ntools=['t']\nwhen={x={at_leas=1}}", "did you mean at_least?"),
        (
            "[[approvals]]\nid='a'\ntools=['t']\nwhen={x={in_=[1]}}",
            "when.x.in_ is not a key; did you mean in?",
        ),
        (
            "[[approvals]]\nid='a'\ntools=['t']\nwhen={x={}}",
            "rule 'a'.when.x: it has no condition; there are equals, in, ",
        ),
        (
            "[[approvals]]\nid='a'\ntools=['t']\nwhen={'x[.y'={equals=1}}",
            "'x[.y' is not a place in the arguments",
        ),
        (
            "[[approvals]]\nid='a'\ntools=['t']\nwhen={x={equals=2026-01-01}}",
            "rule 'a'.when.x.equals",
        ),
        (
            "[[approvals]]\nid='a'\ntools=['t']\nwhen={x={at_least=nan}}",
            "x.at_least: must be a number",
        ),
        ("[[approvals]]\nid='a'\ntools=['t']\nwhen={x={equals=[1]}}", "x.equals: must be a text"),
        (
            "[[approvals]]\nid='a'\ntools=['t']\nwhen={x={source=['web']}}",
            "rule 'a'.when.x.source.0: must be",
        ),
        ("[[approvals]]\nid='a'\ntools=[]", "rule 'a'.tools"),
        ("[[approvals]]\nid='a'\ntools='t'", "rule 'a'.tools: must be a list, such as [\"t\"]"),
        (
            "[[approvals]]\nid='a'\ntools=['t']\nexpires='soon'",
            "rule 'a'.expires: 'soon' is not a length of time; write 30s, ",
        ),
        (
            "[[approvals]]\nid='a'\ntools=['t']\ndo='refuse'\nexpires='1h'",
            "only a rule that asks has expires",
        ),
        ("[[approvals]]\nid='a'\ntools=[1]\n" * 2, "2 rules are called 'a'"),
        (
            "strikes=0\n" + "[[notify]]\nname='a'\nurl='json://h'\nafter='x'\n" * 2,
            "2 notify rules are called 'a'",
        ),
        ("[[approvals]]\ntools=['t']", "rule number 1.id: is missing"),
        ("[targets]\nad = ['x']", "targets.ad is not a key; did you mean add?"),
        ("strikes = 0", "strikes: must be at least 1"),
        (
            "patterns_off = ['file-write']",
            "patterns_off: it was removed; give the pattern `on = false` under its id",
        ),
        ("[repeated_effects]\npay = 'never'", "must be 'ask', 'refuse' or 'allow'"),
        ("strikes = ", "it is not TOML"),
        (b"\xff", "it is not TOML"),
    ],
)
def test_each_fault_is_told(tmp_path: Path, said: str | bytes, why: str) -> None:
    assert why in refused(tmp_path, said)


def test_a_file_that_cannot_be_used_is_told_under_its_own_code(
    example: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HALTPOINT_POLICY_FILE", str(example))
    example.write_text("strike = 3")
    with pytest.raises(HaltpointError, match=r"HP-004 .* did you mean strikes"):
        settings_sources.load()
    assert "did you mean strikes" in settings_sources.explain()[1]
    monkeypatch.setenv("HALTPOINT_SLOT", "3")
    with pytest.raises(SettingsError, match="HALTPOINT_SLOT"):
        settings_sources.load()


def test_c13_the_shipped_names_of_targets_stay_unless_a_file_has_its_own(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('[targets]\nadd = ["room"]\n')
    added = policy_file.read(path).targets
    assert (added.names, added.add) == (policy_file.read(None).targets.names, ("room",))
    path.write_text('[targets]\nnames = ["room"]\n')
    assert policy_file.read(path).targets.names == ("room",)
