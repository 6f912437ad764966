"""Tables of Markdown, and what classes say of their fields."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable
from typing import Final

GENERATED: Final = "<!-- Written by `make reference` from the code: change it there. -->"
OUR_IDS: Final = re.compile(r" ?\((?:CONTRACT )?(?:[A-J]\d*|R\d+|s\d)(?:(?:, | to )[A-J]\d+)*\)")
"""Ids of the contract's rules, for readers of the code."""


def page(title: str, introduction: str, *parts: str) -> str:
    """A whole page."""
    return "\n\n".join((GENERATED, f"# {title}", introduction, *parts)) + "\n"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table, or nothing when it has no rows."""
    lines = [f"| {' | '.join(cells)} |" for cells in rows]
    rule = f"|{' --- |' * len(head)}"
    return "\n".join((f"| {' | '.join(head)} |", rule, *lines)) if lines else ""


def words(text: str | None) -> str:
    """A docstring as one cell of a table."""
    flat = " ".join(OUR_IDS.sub("", text or "").split())
    return escaped(flat.replace("|", "\\|"))


def prose(text: str | None) -> str:
    """A docstring as paragraphs."""
    return escaped(OUR_IDS.sub("", inspect.cleandoc(text or "")))


def escaped(text: str) -> str:
    """Text in which no sign begins an element; code is shown as it is."""
    parts = text.split("`")
    parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]
    return "`".join(parts)


def code(text: object) -> str:
    """A value or a name, in a cell too."""
    shown = str(text).replace("|", "\\|")
    return f"`{shown}`" if shown else ""


def meanings(kind: type) -> dict[str, str]:
    """Each field of a class and of those it inherits from, with the docstring below it."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("haltpoint"):
            found |= _documented(base)
    return found


def _documented(kind: type) -> dict[str, str]:
    """The fields in the body of one class."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    name = ""
    for node in tree.body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                found[name] = ""
            case ast.Expr(value=ast.Constant(value=str(text))) if name:
                found[name] = text
                name = ""
            case _:
                name = ""
    return found
