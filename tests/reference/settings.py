"""docs/reference/settings.md: every setting, out of the classes that read them."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from haltpoint.runtime.config.settings import PREFIX, Settings
from tests.reference.markdown import code, meanings, page, table, words

INTRODUCTION: Final = """\
A value comes from the first of these that has it: an option of the command, the environment,
`.env`, `haltpoint.toml`, the policy file (limits alone), the default. In `haltpoint.toml` a
section is a table: `HALTPOINT_MODEL__NAME` is `name` below `[model]`. `haltpoint config show
--origin` lists all values with their origins.

Times are seconds, or a number with `ms`, `s`, `m`, `h` or `d`. Lists are separated by commas in
the environment."""
KINDS: Final = {
    "Seconds": "time",
    "Count": "number from 1",
    "int": "number",
    "bool": "true or false",
    "SecretStr": "secret",
    "Path": "path",
    "_File": "path",
    "_Names": "list",
    "_Address": "text",
    "_Origins": "list",
    "str": "text",
    "tuple": "list",
    "float": "time",
}
"""Types as they are written, as people say them."""
DAY: Final = 86400


def written() -> str:
    """The page."""
    sections = [
        (name, field.annotation)
        for name, field in Settings.model_fields.items()
        if is_section(field)
    ]
    parts = ["## Services", rows(Settings, "")]
    for name, kind in sections:
        assert isinstance(kind, type)
        parts += [f"## {name.capitalize()}", rows(kind, f"{name}__")]
    return page("Settings", INTRODUCTION, *parts)


def is_section(field: FieldInfo) -> bool:
    """Whether it has settings of its own below it."""
    return isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)


def rows(kind: type, prefix: str) -> str:
    """The table of one section."""
    return table(("setting", "value (default)", "meaning"), lines(kind, prefix))


def lines(kind: type, prefix: str) -> Iterator[tuple[str, str, str]]:
    """One line for each setting of a section."""
    said, types = meanings(kind), annotations(kind)
    for name, field in kind.model_fields.items():  # type: ignore[attr-defined]
        if not is_section(field):
            variable = f"{PREFIX}{prefix}{name}".upper()
            value = in_words(types[name])
            default = default_of(field, value)
            shown = f"{value} ({code(default)})" if default else value
            yield code(variable), shown, words(said[name])


def annotations(kind: type) -> dict[str, ast.expr]:
    """The types of the fields as they are written."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    fields = [node for node in tree.body if isinstance(node, ast.AnnAssign)]
    return {ast.unparse(node.target): node.annotation for node in fields}


def in_words(annotation: ast.expr) -> str:
    """A type as people say it."""
    match annotation:
        case ast.BinOp(left=left):
            return in_words(left)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=ast.Tuple(elts=values)):
            return ", ".join(f"`{ast.literal_eval(value)}`" for value in values)
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[first, *_])):
            return in_words(first)
        case ast.Subscript(value=ast.Name(id=name)) | ast.Name(id=name):
            return KINDS[name]
    raise AssertionError(ast.unparse(annotation))


def default_of(field: FieldInfo, kind: str) -> str:
    """The default as it is written."""
    value = field.default
    if field.default_factory is not None:
        return "~/.local/state/haltpoint/..."
    if value in (None, (), PydanticUndefined) or isinstance(value, Path):
        return ""
    if kind == "time":
        return time_of(float(value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def time_of(seconds: float) -> str:
    """A time with the largest unit that fits."""
    for unit, length in (("d", DAY), ("h", 3600), ("min", 60)):
        if seconds and seconds % length == 0 and (unit != "d" or seconds > DAY):
            return f"{seconds / length:g}{unit.removesuffix('in')}"
    return f"{seconds:g}s"
