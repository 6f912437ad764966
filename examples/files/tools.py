"""Four tools for the files of one folder.

    haltpoint up --tools examples.files.tools

FILES_FOLDER names the folder (default: files). A path outside of it, also by a link, is refused.
"""

import os
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from haltpoint import NotTarget, ToolError, tool

UNCHANGED = (OSError, ValueError)
"""Raised before anything has changed: texts are replaced in one step."""

FOLDER = Path(os.environ.get("FILES_FOLDER", "files")).resolve()

Inside = Annotated[str, NotTarget, Field(description="a path in the folder, as notes/today.md")]
Text = Annotated[str, Field(max_length=20_000)]


class File(BaseModel):
    """A file after what was done with it."""

    path: str
    characters: int


class WholeFile(File):
    """A file with its text."""

    text: str


@tool(read_only=True)
def read_file(path: Inside) -> WholeFile:
    """Read a file."""
    text = _file(path).read_text(encoding="utf-8")
    return WholeFile(path=path, characters=len(text), text=text)


@tool(idempotent=True, says="Wrote {path} ({characters} characters)")
def write_file(path: Inside, text: Text) -> File:
    """Write a file; one that is there is replaced as a whole."""
    file = _inside(path)
    if file.is_dir():
        raise ToolError.validation(f"{path!r} is a folder.", invalid_fields=["path"])
    file.parent.mkdir(parents=True, exist_ok=True)
    _replace(file, text)
    return File(path=path, characters=len(text))


@tool(says="Edited {path}", no_effect=UNCHANGED)
def edit_file(path: Inside, old: Annotated[Text, Field(min_length=1)], new: Text) -> File:
    """Put new words in the place of old ones, which have to be in the file exactly once."""
    file = _file(path)
    text = file.read_text(encoding="utf-8")
    if text.count(old) != 1:
        words = f"{path!r} has these words {text.count(old)} times, not once."
        raise ToolError.validation(words, suggestion="Read the file and copy more of it.")
    edited = text.replace(old, new)
    _replace(file, edited)
    return File(path=path, characters=len(edited))


def describe_file(path: str) -> str:
    """What deleting a file takes away."""
    text = _file(path).read_text(encoding="utf-8")
    return f"Deletes {path!r} with its {len(text)} characters:\n{text[:200]}"


@tool(destructive=True, preview=describe_file, says="Deleted {path}", no_effect=UNCHANGED)
def delete_file(path: Inside) -> WholeFile:
    """Delete a file. Gives it as it was, so that it can be written again."""
    file = _file(path)
    text = file.read_text(encoding="utf-8")
    file.unlink()
    return WholeFile(path=path, characters=len(text), text=text)


def _inside(path: str) -> Path:
    """The file that a path leads to, through all links. Raises ToolError when it is not in the
    folder.
    """
    file = (FOLDER / path).resolve()
    if FOLDER not in file.parents:
        raise ToolError.permission(
            f"{path!r} is not in the folder.", suggestion="Name a path below it."
        )
    return file


def _file(path: str) -> Path:
    """The same for a file that is there."""
    file = _inside(path)
    if not file.is_file():
        raise ToolError.not_found(f"There is no file {path!r}.")
    return file


def _replace(file: Path, text: str) -> None:
    new = file.with_name(f".{file.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(file)
