"""The YAML between the two `---` lines of a SKILL.md, read by PyYAML's safe loader.

The size of the file is limited by its reader. A value that JSON cannot hold is refused: two
programs would read two skills.
"""

import json
from typing import Any, Final

import yaml

FENCE: Final = "---"


class FrontMatterError(ValueError):
    """What is wrong, with the number of its line."""


def split(text: str) -> tuple[dict[str, Any], str]:
    """The front matter of a whole file, and the text behind it. Raises FrontMatterError."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != FENCE:
        raise FrontMatterError(f"line 1: a SKILL.md begins with a line of three dashes ({FENCE})")
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == FENCE:
            text = "\n".join(lines[number + 1 :])
            return _fields("\n".join(lines[1:number])), text.strip()
    raise FrontMatterError(
        f"line 1: the front matter has no end: a second line of three dashes ({FENCE})"
    )


def _fields(text: str) -> dict[str, Any]:
    try:
        fields = yaml.safe_load(text)
        fields = json.loads(json.dumps(fields, allow_nan=False))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 2
        raise FrontMatterError(f"line {line}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise FrontMatterError(f"the front matter is not YAML: {error}") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise FrontMatterError(
            f"a value needs quotes, since JSON cannot hold it: {error}"
        ) from None
    if not isinstance(fields, dict):
        raise FrontMatterError("line 2: the front matter must have the form `key: value`")
    return fields
