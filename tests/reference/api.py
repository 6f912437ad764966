"""docs/reference/python.md: the public Python API, out of its docstrings."""

import enum
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from pydantic import BaseModel

import haltpoint
from haltpoint.tools import hooks
from haltpoint.tools.declaration import Traits
from tests.reference.markdown import code, meanings, page, prose, table, words

INTRODUCTION: Final = """\
What a program may import. Names of `haltpoint` come without an `import` of anything else. All
that is not here may change without notice."""
MODULES: Final = ("haltpoint", "haltpoint.faststream", "haltpoint.testing.harness")
INHERITED: Final = frozenset(dir(BaseModel))
"""Methods that pydantic's models have."""


def written() -> str:
    """The page."""
    parts = [part for name in MODULES for part in module(name)]
    return page("Python API", INTRODUCTION, *parts)


def module(name: str) -> Iterator[str]:
    """What a module exports."""
    found = import_module(name)
    yield f"## {name}"
    if found is not haltpoint:
        yield prose(found.__doc__)
    for public in sorted(found.__all__, key=str.lower):
        yield from exported(f"{name}.{public}", getattr(found, public))


def exported(path: str, thing: Any) -> Iterator[str]:
    """The section of one name."""
    yield f"### {path}"
    if thing is haltpoint.hook:
        yield "Declares hooks. See [Hooks](../guides/hooks.md)."
        yield members(hooks)
    elif inspect.isclass(thing):
        yield from of_class(thing)
    elif callable(thing):
        yield f"    {path.rpartition('.')[2]}{signature(thing)}"
        yield prose(thing.__doc__)
    else:
        yield prose(type(thing).__doc__)
    if thing is haltpoint.tool:
        yield traits()


def of_class(kind: type) -> Iterator[str]:
    """A class with its fields and methods."""
    if not issubclass(kind, enum.Enum):
        yield f"    {kind.__name__}{signature(kind)}"
    yield prose(kind.__doc__)
    if issubclass(kind, enum.Enum):
        yield ", ".join(code(choice.value) for choice in kind)
        return
    said = [(code(name), words(text)) for name, text in meanings(kind).items() if text]
    if said:
        yield table(("field", "meaning"), said)
    methods = [
        (code(f"{name}{signature(member)}"), words(member.__doc__))
        for name, member in inspect.getmembers(kind, is_method)
        if not name.startswith("_") and member.__doc__ and name not in INHERITED
    ]
    if methods:
        yield table(("method", "what it does"), methods)


def is_method(member: Any) -> bool:
    """Whether it is a method or a property."""
    return inspect.isfunction(member) or isinstance(member, property)


def members(namespace: Any) -> str:
    """The public functions and classes of a module."""
    found = [
        (code(f"hook.{name}{signature(member)}"), words(member.__doc__))
        for name, member in inspect.getmembers(namespace)
        if not name.startswith("_")
        and getattr(member, "__module__", "") == namespace.__name__
        and (inspect.isclass(member) or inspect.isfunction(member))
    ]
    return table(("name", "what it does"), found)


def traits() -> str:
    """What a tool may declare."""
    rows = [(code(name), words(text)) for name, text in meanings(Traits).items()]
    return table(("trait", "meaning"), rows)


def signature(thing: Any) -> str:
    """The parameters without their types, and with the defaults."""
    if isinstance(thing, property):
        return ""
    if inspect.isclass(thing) and issubclass(thing, BaseModel):
        thing.model_rebuild()  # a model that refers to a later one has its signature only then
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [
        one.replace(annotation=inspect.Parameter.empty)
        for one in found.parameters.values()
        if one.name not in ("self", "cls")
    ]
    shown = found.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    plain = re.sub(r"<[\w.]+: ('[^']+')>", r"\1", str(shown))
    return plain.replace("mappingproxy({})", "{}")
