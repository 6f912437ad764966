"""Read the file of phrases (HALTPOINT_PHRASES_FILE): other words in the place of the runtime's
own.
"""

from pathlib import Path
from typing import Final

from haltpoint.contracts.people.phrases import Phrases
from haltpoint.runtime.config.toml_file import TomlFile

_FILE: Final = TomlFile(
    "HP-039",
    "the file of phrases",
    f"Correct the file; the phrases are {', '.join(Phrases.model_fields)}",
)


def read(path: Path | None) -> Phrases:
    """The table with the file's words; without one the English ones. Raises HaltpointError
    HP-039.
    """
    if path is None:
        return Phrases()
    return _FILE.checked(path, _FILE.read(path), Phrases)
