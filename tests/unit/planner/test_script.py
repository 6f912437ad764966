"""Scripts: which rule answers, what templates become, and what is said about a faulty script."""

from pathlib import Path
from typing import Any

import pytest

from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.testing.conversation import Conversation
from haltpoint.testing.script import Following, Script, fill


def following(*rules: dict[str, Any]) -> Following:
    return Following(Script.model_validate({"rules": rules}))


def rule_for(talk: Conversation, *rules: dict[str, Any]) -> int | None:
    """The number of the rule that answers."""
    numbered = [rule | {"say": {"content": number}} for number, rule in enumerate(rules)]
    rule = following(*numbered).next(talk)
    return None if rule is None or rule.say is None else rule.say.content


SAY = {"say": {"content": "x"}}
FOUND = ("lookup", {"success": True, "data": {"id": "u1", "rows": [{"n": 7}]}, "error": None})


def test_the_first_rule_that_fits_answers() -> None:
    talk = Conversation(thought="act", step="s2", turn=1, attempt=2, goal="Tell John hi")
    rules: list[dict[str, Any]] = [
        {"when": {"thought": "plan"}, **SAY},
        {"when": {"step": "s1"}, **SAY},
        {"when": {"attempt": 1}, **SAY},
        {"when": {"goal": "^Ask"}, **SAY},
        {
            "when": {
                "thought": ["act", "reason"],
                "step": "s2",
                "turn": 1,
                "attempt": 2,
                "goal": "John",
            },
            **SAY,
        },
        SAY,
    ]
    assert rule_for(talk, *rules) == 4


def test_rules_by_what_has_answered() -> None:
    talk = Conversation(results=(FOUND,))
    assert (
        rule_for(
            talk, {"when": {"without": ["lookup"]}, **SAY}, {"when": {"results": ["lookup"]}, **SAY}
        )
        == 1
    )
    assert rule_for(talk, {"when": {"result": {"success": "true"}}, **SAY}) == 0
    assert rule_for(talk, {"when": {"result": {"error.error_type": ".+"}}, **SAY}) is None


def test_templates_take_values_from_the_conversation() -> None:
    arguments = {
        "to": "{{results.lookup.data.id}}",
        "n": "{{result.data.rows.0.n}}",
        "text": "{{goal.name}}: {{ goal.words }}!",
        "either": "{{result.data.nothing|goal.name}}",
    }
    call = {"name": "send", "arguments": arguments}
    when = {"goal": r"^Tell (?P<name>\w+) (?P<words>.+)"}
    talk = Conversation(goal="Tell John hi there", results=(FOUND,))
    rule = following({"when": when, "say": {"calls": [call]}}).next(talk)
    assert rule is not None
    assert [called.arguments for called in rule.calls] == [
        {"to": "u1", "n": 7, "text": "John: hi there!", "either": "John"}
    ]


def test_a_template_that_refers_to_nothing_is_told() -> None:
    with pytest.raises(KeyError, match=r"result\.data\.id"):
        fill("{{result.data.id}}", {"result": {}})


@pytest.mark.parametrize("name", ["contacts_good", "contacts_careless"])
def test_ready_made_scripts_are_there(name: str) -> None:
    assert Script.read(Path(name)).rules


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "is not JSON"),
        ('{"rules": [{}]}', "either say or fault"),
        ('{"rules": [{"say": {}, "colour": 1}]}', "colour"),
        ('{"rules": [{"when": {"goal": "("}, "say": {}}]}', "when.goal"),
    ],
)
def test_a_faulty_script_is_told_with_its_place(tmp_path: Path, content: str, why: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(content)
    with pytest.raises(HaltpointError, match="HP-041") as told:
        Script.read(path)
    assert why in str(told.value)


def test_a_missing_script_is_told_with_the_ready_made_ones(tmp_path: Path) -> None:
    with pytest.raises(HaltpointError, match="contacts_good") as told:
        Script.read(tmp_path / "nothing.json")
    assert told.value.why == "No such file or directory"
