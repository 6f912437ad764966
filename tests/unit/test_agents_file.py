"""The agents file: the page's example loads, and all faults are told at once, each with its
place.
"""

import re
from pathlib import Path

import pytest

from haltpoint.contracts.work.agents import Agents
from haltpoint.contracts.work.tasks import Budget, Mode, Style
from haltpoint.runtime.config import agents_file
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.streams.wire import encode

PAGE = Path(__file__).parents[2] / "docs/guides/agents.md"


def written(tmp_path: Path, said: str | bytes) -> Path:
    path = tmp_path / "agents.toml"
    path.write_bytes(said if isinstance(said, bytes) else said.encode())
    return path


def faults(tmp_path: Path, said: str | bytes) -> list[str]:
    with pytest.raises(HaltpointError) as caught:
        agents_file.read(written(tmp_path, said))
    assert caught.value.code == "HP-037"
    return caught.value.why.strip().removeprefix("- ").split("\n  - ")


def test_the_example_of_the_page_loads(tmp_path: Path) -> None:
    said, *_ = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    file = agents_file.read(written(tmp_path, said))
    claude = file.models["claude"]
    assert (claude.provider, claude.name, claude.base_url) == (
        "anthropic",
        "claude-haiku-4-5",
        None,
    )
    assert file.names == "support, billing"
    support, billing = file.agents
    assert (support.agents, support.style, support.mode, support.budget) == (
        ("billing",),
        Style.REACT,
        None,
        Budget(),
    )
    assert (billing.mode, billing.max_turns, billing.budget) == (
        Mode.STRICT,
        6,
        Budget(actions=10, seconds=600),
    )
    large = file.models["large"]
    assert (large.api_key_env, large.timeout, large.max_tokens) == ("LARGE_KEY", 90.0, 4096)
    assert file.models["claude"].timeout == 600.0
    assert b"KEY" in encode(file)
    assert file.named("billing") is billing
    assert file.named("nobody") is None
    assert file.named(None) is None


def test_no_file_and_an_empty_one_have_no_agents(tmp_path: Path) -> None:
    assert agents_file.read(None) == Agents()
    assert Agents().names == "none"
    assert agents_file.read(written(tmp_path, "")) == Agents()


def test_all_faults_of_the_form_are_told_at_once(tmp_path: Path) -> None:
    said = """
colour = 1
[models.small]
base_url = "127.0.0.1:1/v1"
timeouts = "3s"
timeout = "3 parsecs"
[models.bare]
name = "x"
[models.other]
name = "x"
provider = "No Such"
[[agents]]
name = "bill"
budget = {turns = 0, tunrs = 3}
skills = ["++"]
[[agents]]
name = "bill"
description = "d"
prompts = "x"
[[agents]]
description = "d"
mode = "lax"
"""
    assert sorted(faults(tmp_path, said)) == sorted(
        [
            "agent 'bill'.description: is missing",
            "agent 'bill'.budget.turns: must be at least 1",
            "agent 'bill'.budget.tunrs is not a key; did you mean turns?",
            "agent 'bill'.skills.0: must have a letter or a digit",
            "agent 'bill'.prompts is not a key; did you mean prompt?",
            "agent number 3.name: is missing",
            "agent number 3.mode: must be 'strict', 'advisory' or 'off'",
            "model 'small'.name: is missing",
            "model 'small'.base_url: must begin with http:// or https://",
            "model 'small'.timeout: must be a number",
            "model 'small'.timeouts is not a key; did you mean timeout?",
            "model 'bare': base_url or provider is missing",
            "model 'other'.provider: must be the name of a provider, such as openai",
            "colour is not a key",
        ]
    )


def test_all_names_that_are_not_there_are_told_at_once(tmp_path: Path) -> None:
    said = """
[[agents]]
name = "bill"
description = "d"
model = "big"
agents = ["billing", "bill"]
[[agents]]
name = "Bill"
description = "d"
[[agents]]
name = "askHuman"
description = "d"
[[agents]]
name = "route"
description = "d"
"""
    assert faults(tmp_path, said) == [
        "2 agents are called 'bill', whatever its case",
        "agent 'bill'.model: there is no section [models.big]",
        "agent 'bill'.agents: there is no agent 'billing'; did you mean bill?",
        "agent 'bill'.agents: it cannot hand a task on to itself",
        "agent 'askHuman': the name is built in",
        "agent 'route': the name is built in",
    ]


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("agents = 1", "agents: must be a list"),
        ("agents = [1]", "agent number 1: must be a table"),
        (
            '[[agents]]\nname = "a"\ndescription = "d"\ntools = "x"',
            "agent 'a'.tools: must be a list, such as [\"x\"]",
        ),
        (
            '[[agents]]\nname = "a"\ndescription = "d"\nverbose = "x"',
            "agent 'a'.verbose: must be true or false",
        ),
        ("[supervisor]\nthreshold = 1.5", "supervisor.threshold: must be at most 1"),
        ('[supervisor]\nfunction = "a"', "supervisor.function: must be module:function"),
        (
            '[supervisor]\nstrategy = "luck"',
            "supervisor.strategy: must be 'llm', 'rule', 'skill', 'round_robin', ",
        ),
        (
            '[models."a b"]\nname = "x"\nprovider = "test"\n',
            "model 'a b': must be 1 to 64 letters, digits, _ or -",
        ),
        ('models = "x"', "models: must be a table"),
        ("[[agents", "it is not TOML: "),
        (b"\xff", "it is not TOML: "),
    ],
)
def test_each_fault_is_told_with_its_place(tmp_path: Path, said: str | bytes, fault: str) -> None:
    assert faults(tmp_path, said)[0].startswith(fault)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(HaltpointError, match=r"none\.toml cannot be used: No such file"):
        agents_file.read(tmp_path / "none.toml")


RULE = '[[supervisor.rules]]\nid = "r"\nmatch = "x"\nagent = "a"\n'
NONE = (
    "is not a regular expression that runs in linear time (without lookaround and back-references)"
)
AGENT = '[[agents]]\nname = "a"\ndescription = "d"\n'


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (f'strategy = "rule"\n{RULE}{RULE}', [".rules: 2 rules have the id 'r'"]),
        (
            'agents = ["b"]\nmodel = "m"',
            [
                ".model: there is no section [models.m]",
                ".agents: there is no agent 'b'; there are a",
            ],
        ),
        ('strategy = "skill"\nfallback = "x"', [".fallback: there is no agent 'x'; there are a"]),
        (
            'strategy = "skill"\ntools = ["t"]\nprompt = "p"\nthreshold = 0.5\n' + RULE,
            [
                f".{name}: strategy skill does not use it"
                for name in ("rules", "tools", "prompt", "threshold")
            ],
        ),
        (f'strategy = "rule"\nagents = ["a"]\n{RULE}', [".agents: strategy rule does not use it"]),
        ('strategy = "load"\nfallback = "a"', [".fallback: strategy load does not use it"]),
        (
            f'strategy = "rule"\n{RULE}'.replace('"x"', '"x(?!y)"').replace('"a"', '"b"'),
            [
                ".rule 'r'.agent: there is no agent 'b'; there are a",
                f".rule 'r'.match: 'x(?!y)' {NONE}: invalid perl operator: (?!",
            ],
        ),
        (
            f'strategy = "rule"\n{RULE}'.replace('"x"', '""'),
            [".rule 'r': it has no condition: give it `match`, `context` or both"],
        ),
        ('strategy = "rule"', [": strategy rule needs at least one [[supervisor.rules]]"]),
        ('strategy = "function"', [": strategy function needs `function`"]),
        ('function = "a:b"', [".function: strategy llm does not use it"]),
    ],
)
def test_a_supervisor_that_does_not_mean_what_it_says_is_told(
    tmp_path: Path, said: str, found: list[str]
) -> None:
    assert faults(tmp_path, f"[supervisor]\n{said}\n{AGENT}") == [
        f"supervisor{fault}" for fault in found
    ]


def test_a_supervisor_without_agents_is_told(tmp_path: Path) -> None:
    assert faults(tmp_path, "[supervisor]") == [
        "supervisor: there are no agents that it could choose from"
    ]
