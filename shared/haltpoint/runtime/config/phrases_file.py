"""Read the file of phrases (HALTPOINT_PHRASES_FILE, TOML): other words in the place of the runtime's own."""

import tomllib
from pathlib import Path

from pydantic import ValidationError

from haltpoint.contracts.people.phrases import Phrases
from haltpoint.runtime.config.errors import HaltpointError
from haltpoint.runtime.config.faults import in_words


def read(path: Path | None) -> Phrases:
    """The table with the file's words; without one the English ones. Raises HaltpointError HP-039 with all faults."""
    if path is None:
        return Phrases()
    try:
        return Phrases.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, fault['loc']))}: {in_words(fault)}" for fault in error.errors())
        raise _unusable(path, "; ".join(faults)) from None
    except ValueError as error:  # no TOML, or no UTF-8
        raise _unusable(path, f"it is not TOML: {error}") from error


def _unusable(path: Path, why: str) -> HaltpointError:
    fix = f"Correct the file; the phrases are {', '.join(Phrases.model_fields)}"
    return HaltpointError("HP-039", f"the file of phrases {path} cannot be used", why, fix)
