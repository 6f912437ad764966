"""A thing of the operator's own code by its dotted path, `module:name`: hooks, escalation handlers."""

from importlib import import_module


def load(path: str) -> object:
    """What the path names. Raises ValueError for what is no such path, and whatever the import raises."""
    name, colon, place = path.partition(":")
    if not (name and colon and place):
        raise ValueError("it is not a dotted path")
    found: object = import_module(name)
    for part in place.split("."):
        found = getattr(found, part)
    return found
