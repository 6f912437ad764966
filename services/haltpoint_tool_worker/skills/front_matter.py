"""The YAML between the two `---` lines of a SKILL.md, read by PyYAML's safe loader.

The size of the file is limited by its reader. A value that JSON cannot hold is refused: two
programs would read two skills.
"""

import json
import re
from typing import Any, Final

import yaml

from haltpoint.contracts.base import JsonObject
from haltpoint.contracts.strict_json import read_strictly, repeated

FENCE: Final = "---"


class _Loader(yaml.SafeLoader):
    """PyYAML takes the last value of a key that is there twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        name = repeated([(name.value, inner) for name, inner in node.value])
        if name is not None:
            words = f"it has the key {name!r} twice"
            raise yaml.MarkedYAMLError(problem=words, problem_mark=node.start_mark)
        return super().construct_mapping(node, deep)


class SkillError(ValueError):
    """Why a skill cannot be used, in words."""


def split(text: str) -> tuple[JsonObject, str]:
    """The front matter of a whole file, and the text behind it. Raises SkillError."""
    before, *parts = re.split(r"(?m)^---[^\S\n]*$", text.removeprefix("\ufeff"), maxsplit=2)
    if before or not parts:
        raise SkillError(f"line 1: a SKILL.md begins with a line of three dashes ({FENCE})")
    if len(parts) < 2:
        raise SkillError(
            f"line 1: the front matter has no end: a second line of three dashes ({FENCE})"
        )
    return _fields(parts[0].removeprefix("\n")), parts[1].strip()


def _fields(text: str) -> JsonObject:
    try:
        fields = _Loader(text).get_single_data()
        fields = read_strictly(json.dumps(fields))
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
