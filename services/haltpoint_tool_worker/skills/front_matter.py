"""The YAML between the two `---` lines of a SKILL.md, read by PyYAML's safe loader.

The size of the file is limited by its reader. A value that JSON cannot hold is refused: two
programs would read two skills.
"""

import json
import re
from typing import Any, Final

import yaml

FENCE: Final = "---"


class SkillError(ValueError):
    """Why a skill cannot be used, in words."""


def split(text: str) -> tuple[dict[str, Any], str]:
    """The front matter of a whole file, and the text behind it. Raises SkillError."""
    before, *parts = re.split(r"(?m)^---[^\S\n]*$", text.removeprefix("\ufeff"), maxsplit=2)
    if before or not parts:
        raise SkillError(f"line 1: a SKILL.md begins with a line of three dashes ({FENCE})")
    if len(parts) < 2:
        raise SkillError(
            f"line 1: the front matter has no end: a second line of three dashes ({FENCE})"
        )
    return _fields(parts[0].removeprefix("\n")), parts[1].strip()


def _fields(text: str) -> dict[str, Any]:
    try:
        fields = yaml.safe_load(text)
        fields = json.loads(json.dumps(fields, allow_nan=False))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 2
        raise SkillError(f"line {line}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise SkillError(f"the front matter is not YAML: {error}") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise SkillError(f"a value needs quotes, since JSON cannot hold it: {error}") from None
    if not isinstance(fields, dict):
        raise SkillError("line 2: the front matter must have the form `key: value`")
    return fields
