"""Importing what tool authors have written, and where it is wrong, in words for them."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from haltpoint.runtime.config.errors import HaltpointError, in_words
from haltpoint.runtime.config.faults import near
from haltpoint.tools import DeclarationError
from haltpoint_tool_worker.results.classify import own_place


def import_tools(name: str) -> ModuleType:
    """The module of this name, or of this file; the working directory has modules, too. Raises
    HaltpointError HP-030.
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    path, module = Path(name), name
    if path.suffix == ".py":  # `shop.py`, `./shop.py` and its whole path are `shop`
        inside = path.relative_to(here) if path.is_relative_to(here) else path
        module = ".".join(inside.with_suffix("").parts)
    try:
        return import_module(module)
    except (Exception, SystemExit) as error:
        why, fix = _reason(module, error)
        what = f"the tools module {name!r} cannot be used"
        raise HaltpointError("HP-030", what, why, fix) from error


def _reason(module: str, error: BaseException) -> tuple[str, str]:
    """Why a module cannot be used, and what to do."""
    again, place = "and start again", own_place(error) or module
    match error:
        case DeclarationError():
            return str(error), f"Change this declaration, {again}"
        case SyntaxError():
            why = f"{error.msg} ({error.filename}:{error.lineno})"
            return why, f"python -m py_compile {error.filename} tries the file alone"
        case ModuleNotFoundError() if f"{module}.".startswith(f"{error.name}."):
            files = [file.stem for file in Path.cwd().glob("*.py")]
            advice = "Start in the folder of the module, or name one that is importable from here"
            return (
                f"neither {Path.cwd()} nor an installed package has it",
                f"{advice}{near(module, files, otherwise=', as --tools shop')}",
            )
        case ModuleNotFoundError():
            return (
                f"{place} imports {error.name}, which is not installed",
                f"Install it for {sys.executable}, or take the import out",
            )
        case SystemExit():
            return (
                f"{place} ends the process: exit({error.code!r})",
                'Put what is for a program alone under if __name__ == "__main__", ' + again,
            )
        case _:
            why = f"{in_words(error)} ({place})"
            if "event loop" in why:
                return why, f"A worker's loop runs already: await that in a lifespan, {again}"
            return why, f"A worker imports it to start; try that alone: python -c 'import {module}'"
