"""The file of phrases: a deployment's words in the place of the runtime's own (F1)."""

from pathlib import Path

import pytest

from haltpoint.contracts.people.phrases import Phrases
from haltpoint.runtime.config import phrases_file
from haltpoint.runtime.config.errors import HaltpointError


def written(folder: Path, text: str) -> Path:
    path = folder / "phrases.toml"
    path.write_text(text)
    return path


def test_f1_without_a_file_the_words_are_english() -> None:
    assert phrases_file.read(None) == Phrases()


def test_f1_a_file_replaces_the_words_that_it_has(tmp_path: Path) -> None:
    found = phrases_file.read(written(tmp_path, 'denied = "Nicht erlaubt"'))
    assert (found.denied, found.happened) == ("Nicht erlaubt", Phrases().happened)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("denied =", "it is not TOML"),
        ('deny = "no"', "deny is not a key; did you mean denied?"),
        ('denied = ""', "denied: "),
        ("no = 7", "no: "),
    ],
)
def test_f1_a_file_that_cannot_be_used_is_refused_with_what_is_wrong(
    tmp_path: Path, text: str, why: str
) -> None:
    with pytest.raises(HaltpointError, match="HP-039") as refused:
        phrases_file.read(written(tmp_path, text))
    assert why in str(refused.value)
    assert "the phrases are no_words, said_nothing" in str(refused.value)
